package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentd-host/agentd/core/coretest"
	"github.com/agentd-host/agentd/plugins/mcp/internal/wire"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// serverInMemory connects a server of the SDK without a process, for tests of time.
func serverInMemory(t *testing.T, cfg ServerConfig, define func(*mcp.Server)) *server {
	t.Helper()
	up := mcp.NewServer(&mcp.Implementation{Name: "up", Version: "1"}, nil)
	define(up)
	near, far := mcp.NewInMemoryTransports()
	ss, err := up.Connect(t.Context(), far, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := newServer(&hub{c: coretest.Host(t).Root(), ctx: t.Context()}, "u", cfg, slog.New(slog.DiscardHandler))
	x := s.newSession()
	client := mcp.NewClient(implementation, x.clientOptions())
	client.AddReceivingMiddleware(x.receive)
	if x.cs, err = client.Connect(t.Context(), wire.Transport(near), &mcp.ClientSessionOptions{ProtocolVersion: legacyVersion}); err != nil {
		t.Fatal(err)
	}
	go x.watch()
	s.current = x
	t.Cleanup(func() {
		_ = ss.Close()
		x.close()
	})
	return s
}

// A thinker takes its time to answer.
type thinker struct{ thinks time.Duration }

func (p *thinker) key() any { return p }
func (p *thinker) elicit(ctx context.Context, _ *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	select {
	case <-time.After(p.thinks):
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ann"}}, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
func (p *thinker) sample(context.Context, *mcp.CreateMessageWithToolsParams) (*mcp.CreateMessageWithToolsResult, error) {
	time.Sleep(p.thinks)
	return &mcp.CreateMessageWithToolsResult{Role: "assistant", Content: []mcp.Content{&mcp.TextContent{Text: "Ann"}}}, nil
}
func (p *thinker) roots(context.Context) (*mcp.ListRootsResult, error) { return nil, nil }

func answerText(text string) (*mcp.CallToolResult, any, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
}

func TestRule11_SilenceDoesNotCountWhileTheServerIsOwedAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serverInMemory(t, ServerConfig{CallTimeout: time.Minute}, func(up *mcp.Server) {
			mcp.AddTool(up, &mcp.Tool{Name: "elicit"}, func(ctx context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
				time.Sleep(50 * time.Second)
				res, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: "Your name?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}}}`)})
				if err != nil {
					return nil, nil, err
				}
				time.Sleep(50 * time.Second)
				return answerText(res.Content["name"].(string))
			})
			mcp.AddTool(up, &mcp.Tool{Name: "sample"}, func(ctx context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
				res, err := r.Session.CreateMessage(ctx, &mcp.CreateMessageParams{MaxTokens: 1})
				if err != nil {
					return nil, nil, err
				}
				return answerText(res.Content.(*mcp.TextContent).Text)
			})
			mcp.AddTool(up, &mcp.Tool{Name: "hang"}, func(ctx context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
				if _, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: "?", RequestedSchema: json.RawMessage(`{"type":"object"}`)}); err != nil {
					return nil, nil, err
				}
				<-ctx.Done()
				return nil, nil, ctx.Err()
			})
		})
		for _, tool := range []string{"elicit", "sample"} {
			raw, err := s.callTool(t.Context(), exchange{params: &mcp.CallToolParams{Name: tool}, caller: &thinker{5 * time.Minute}}, false)
			if err != nil || !strings.Contains(string(raw), `"Ann"`) {
				t.Errorf("%s = %s, %v", tool, raw, err)
			}
		}
		_, err := s.callTool(t.Context(), exchange{params: &mcp.CallToolParams{Name: "hang"}, caller: &thinker{5 * time.Minute}}, false)
		var end *callEnd
		if !errors.As(err, &end) {
			t.Errorf("silence after the answer: %v", err)
		}
	})
}

func TestRule2_WaitingForItsTurnIsNoSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serverInMemory(t, ServerConfig{CallTimeout: time.Minute, Concurrency: 1}, func(up *mcp.Server) {
			mcp.AddTool(up, &mcp.Tool{Name: "work"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
				time.Sleep(50 * time.Second)
				return answerText("done")
			})
		})
		var group sync.WaitGroup
		for range 5 {
			group.Go(func() {
				if _, err := s.callTool(t.Context(), exchange{params: &mcp.CallToolParams{Name: "work"}}, false); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
	})
}
