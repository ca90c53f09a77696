package mcp

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

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
	s := newServer(&hub{ctx: t.Context()}, "u", cfg, slog.New(slog.DiscardHandler))
	x := s.newSession()
	client := mcp.NewClient(implementation, x.clientOptions())
	client.AddReceivingMiddleware(x.receive)
	if x.cs, err = client.Connect(t.Context(), near, &mcp.ClientSessionOptions{ProtocolVersion: legacyVersion}); err != nil {
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

func answerText(text string) (*mcp.CallToolResult, any, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
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
