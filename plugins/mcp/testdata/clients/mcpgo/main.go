// Mcpgo is a client of agentd's merged view built with mcp-go, in both eras:
//
//	mcpgo URL AGENT_YML FOLDER
//
// It edits AGENT_YML, and lets tools write into FOLDER. Each check is one line.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// A speaker is a client of one era. off is a tool that it may switch off.
type speaker struct {
	era, off              string
	url, agentYml, folder string
}

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: mcpgo URL AGENT_YML FOLDER")
		os.Exit(2)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	failed := false
	for _, s := range []speaker{{era: "legacy", off: "mcp__everything__get-sum"}, {era: "modern", off: "mcp__everything__get-env"}} {
		s.url, s.agentYml, s.folder = os.Args[1], os.Args[2], os.Args[3]
		for _, c := range []struct {
			what string
			run  func(context.Context) error
		}{
			{"lists the merged view, broken schemas and all", s.lists},
			{"calls a tool, with progress", s.calls},
			{"is told once of an edit of the policy", s.isTold},
			{"an accepted question runs the tool", s.accepts},
			{"a declined question refuses it", s.declines},
			{"without elicitation it is refused with what to change", s.isMute},
		} {
			if err := c.run(ctx); err != nil {
				failed = true
				fmt.Printf("FAIL  mcp-go, %s: %s: %v\n", s.era, c.what, err)
				continue
			}
			fmt.Printf("ok    mcp-go, %s: %s\n", s.era, c.what)
		}
	}
	if failed {
		os.Exit(1)
	}
}

// connect gives a client whose notifications go to notify, and whose questions
// to ask if there is one.
func (s speaker) connect(ctx context.Context, notify func(mcp.JSONRPCNotification), ask client.ElicitationHandler) (*client.Client, error) {
	var options []client.ClientOption
	var listening []transport.StreamableHTTPCOption
	if s.era == "legacy" {
		options = append(options, client.WithProtocolVersion("2025-11-25"))
		listening = append(listening, transport.WithContinuousListening())
	}
	if ask != nil {
		options = append(options, client.WithElicitationHandler(ask))
	}
	t, err := transport.NewStreamableHTTP(s.url, listening...)
	if err != nil {
		return nil, err
	}
	c := client.NewClient(t, options...)
	if notify != nil {
		c.OnNotification(notify)
	}
	if err := c.Start(ctx); err != nil {
		return nil, err
	}
	info := mcp.InitializeRequest{Params: mcp.InitializeParams{ClientInfo: mcp.Implementation{Name: "mcp-go", Version: "1"}}}
	if _, err := c.Initialize(ctx, info); err != nil {
		return nil, err
	}
	if modern := mcp.IsModernProtocol(c.ProtocolVersion()); modern != (s.era == "modern") {
		return nil, fmt.Errorf("it speaks %s", c.ProtocolVersion())
	}
	return c, nil
}

func names(ctx context.Context, c *client.Client) ([]string, error) {
	list, err := c.ListTools(ctx, mcp.ListToolsRequest{})
	if err != nil {
		return nil, err
	}
	var out []string
	for _, t := range list.Tools {
		out = append(out, t.Name)
	}
	return out, nil
}

func call(ctx context.Context, c *client.Client, tool string, args map[string]any) (*mcp.CallToolResult, string, error) {
	req := mcp.CallToolRequest{Params: mcp.CallToolParams{Name: tool, Arguments: args, Meta: &mcp.Meta{ProgressToken: "mine"}}}
	res, err := c.CallTool(ctx, req)
	if err != nil {
		return nil, "", err
	}
	var text []string
	for _, block := range res.Content {
		if t, ok := block.(mcp.TextContent); ok {
			text = append(text, t.Text)
		}
	}
	return res, strings.Join(text, "\n"), nil
}

func (s speaker) lists(ctx context.Context) error {
	c, err := s.connect(ctx, nil, nil)
	if err != nil {
		return err
	}
	defer c.Close()
	list, err := names(ctx, c)
	if err != nil {
		return err
	}
	if got := strings.Count(strings.Join(list, " "), "mcp__gitlab__"); got != 9 {
		return fmt.Errorf("got %d tools of gitlab, want 9: %s", got, list)
	}
	return nil
}

func (s speaker) calls(ctx context.Context) error {
	var mu sync.Mutex
	progress := 0
	c, err := s.connect(ctx, func(n mcp.JSONRPCNotification) {
		if n.Method == "notifications/progress" && n.Params.AdditionalFields["progressToken"] == "mine" {
			mu.Lock()
			defer mu.Unlock()
			progress++
		}
	}, nil)
	if err != nil {
		return err
	}
	defer c.Close()
	_, text, err := call(ctx, c, "mcp__everything__echo", map[string]any{"message": "hello"})
	if err != nil || !strings.Contains(text, "hello") {
		return fmt.Errorf("got %q, %w, want the echo", text, err)
	}
	if _, _, err := call(ctx, c, "mcp__everything__trigger-long-running-operation", map[string]any{"duration": 0.4, "steps": 4}); err != nil {
		return err
	}
	return eventually(func() bool { mu.Lock(); defer mu.Unlock(); return progress == 4 }, "four notifications of progress")
}

func (s speaker) isTold(ctx context.Context) error {
	var mu sync.Mutex
	changes := 0
	c, err := s.connect(ctx, func(n mcp.JSONRPCNotification) {
		if n.Method == "notifications/tools/list_changed" {
			mu.Lock()
			defer mu.Unlock()
			changes++
		}
	}, nil)
	if err != nil {
		return err
	}
	defer c.Close()
	if s.era == "modern" {
		listening, stop := context.WithCancel(ctx)
		defer stop()
		go c.Listen(listening, mcp.SubscriptionFilter{ToolsListChanged: true}) //nolint:errcheck // the check would miss it
	}
	time.Sleep(300 * time.Millisecond) // the library does not say when it listens
	data, err := os.ReadFile(s.agentYml)
	if err != nil {
		return err
	}
	edited := strings.Replace(string(data), s.off+": auto", s.off+": off", 1)
	if err := os.WriteFile(s.agentYml, []byte(edited), 0o600); err != nil {
		return err
	}
	told := func() int { mu.Lock(); defer mu.Unlock(); return changes }
	if err := eventually(func() bool { return told() > 0 }, "list_changed"); err != nil {
		return err
	}
	time.Sleep(700 * time.Millisecond)
	list, err := names(ctx, c)
	if err != nil {
		return err
	}
	if strings.Contains(strings.Join(list, " ")+" ", s.off+" ") || told() != 1 {
		return fmt.Errorf("got %d list_changed and the list %s, want one and %s gone", told(), list, s.off)
	}
	return nil
}

// answer is a person who always says the same.
type answer struct {
	action    mcp.ElicitationResponseAction
	questions []string
}

func (a *answer) Elicit(_ context.Context, q mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	a.questions = append(a.questions, q.Params.Message)
	res := &mcp.ElicitationResult{ElicitationResponse: mcp.ElicitationResponse{Action: a.action}}
	if a.action == mcp.ElicitationResponseActionAccept {
		res.Content = map[string]any{"answer": "once"}
	}
	return res, nil
}

// write calls the tool that policy asks about, and tells whether it ran.
func (s speaker) write(ctx context.Context, name string, ask client.ElicitationHandler) (ran bool, text string, err error) {
	c, err := s.connect(ctx, nil, ask)
	if err != nil {
		return false, "", err
	}
	defer c.Close()
	path := filepath.Join(s.folder, "mcp-go-"+s.era+"-"+name)
	res, text, err := call(ctx, c, "mcp__filesystem__write_file", map[string]any{"path": path, "content": "x"})
	if err != nil {
		return false, "", err
	}
	_, missing := os.Stat(path)
	return missing == nil && !res.IsError, text, nil
}

func (s speaker) accepts(ctx context.Context) error {
	a := &answer{action: mcp.ElicitationResponseActionAccept}
	ran, text, err := s.write(ctx, "accepted", a)
	if err != nil || !ran || len(a.questions) != 1 || !strings.Contains(a.questions[0], "mcp__filesystem__write_file") {
		return fmt.Errorf("got %q, %w, asked %q, want one question and the file", text, err, a.questions)
	}
	return nil
}

func (s speaker) declines(ctx context.Context) error {
	ran, text, err := s.write(ctx, "declined", &answer{action: mcp.ElicitationResponseActionDecline})
	if err != nil || ran || !strings.Contains(text, "refused") {
		return fmt.Errorf("got %q, %w, ran %v, want a refusal", text, err, ran)
	}
	return nil
}

func (s speaker) isMute(ctx context.Context) error {
	ran, text, err := s.write(ctx, "mute", nil)
	if err != nil || ran || !strings.Contains(text, "tools.policy") || !strings.Contains(text, "elicitation") {
		return fmt.Errorf("got %q, %w, ran %v, want a refusal that names tools.policy and elicitation", text, err, ran)
	}
	return nil
}

func eventually(ok func() bool, what string) error {
	for range 500 {
		if ok() {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return errors.New("never: " + what)
}
