// Conformance is the client that the conformance suite drives: the plugin
// connects the suite's server as one of agent.yml, and its tools are called
// through the registry. The suite names the scenario in the environment and
// gives the server's address as the argument.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/plugins/mcp"
)

// open lets everything run and accepts whatever servers ask.
type open struct{ core.Broker }

func (open) Decide(context.Context, core.DecideRequest) core.Decision {
	return core.Decision{Verdict: core.Allow, Policy: core.Auto, Rule: "open"}
}

func (open) Preview(core.Viewer, *core.Tool) (core.Policy, string) { return core.Auto, "open" }

func (open) Ask(_ context.Context, q core.Question) (core.Reply, error) {
	if strings.Contains(string(q.Schema), `"confirmed"`) {
		return core.Reply{Data: json.RawMessage(`{"confirmed":true}`)}, nil
	}
	return core.Reply{Data: json.RawMessage(`{}`)}, nil
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: conformance URL")
		os.Exit(2)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	h := core.New(&core.Options{Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	err := run(ctx, h.Root())
	if closed := h.Close(context.WithoutCancel(ctx)); err == nil {
		err = closed
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// scenario is what the suite passes along.
type scenario struct {
	ClientID     string `json:"client_id"`
	ClientSecret string `json:"client_secret"`
	ToolCalls    []struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"toolCalls"`
}

func run(ctx context.Context, c *core.Context) error {
	var sc scenario
	if text := os.Getenv("MCP_CONFORMANCE_CONTEXT"); text != "" {
		if err := json.Unmarshal([]byte(text), &sc); err != nil {
			return err
		}
	}
	oauth := &mcp.OAuthConfig{ClientID: sc.ClientID, ClientSecret: sc.ClientSecret}
	if strings.HasPrefix(os.Getenv("MCP_CONFORMANCE_SCENARIO"), "auth/") {
		oauth.MetadataURL = "https://conformance-test.local/client-metadata.json"
	}
	cfg := mcp.Config{Servers: map[string]mcp.ServerConfig{"t": {URL: os.Args[1], OAuth: oauth, Era: os.Getenv("AGENTD_ERA")}}}
	if cfg.Servers["t"].Era == "" {
		s := cfg.Servers["t"]
		s.Era = "auto"
		cfg.Servers["t"] = s
	}
	policy := core.Plugin[struct{}]{Name: "open", Apply: func(c *core.Context, _ struct{}) error {
		if err := core.Deciders.Provide(c, open{}); err != nil {
			return err
		}
		return core.Approvals.Provide(c, open{})
	}}
	if _, err := core.Load(c, policy, struct{}{}); err != nil {
		return err
	}
	if _, err := core.Load(c, mcp.Plugin, cfg); err != nil {
		return err
	}
	done := make(chan error, 1)
	_, err := core.Load(c, core.Plugin[struct{}]{Name: "play", Needs: core.Needs(core.MCP), Apply: func(c *core.Context, _ struct{}) error {
		servers, _ := core.MCP.Get(c)
		return c.Go("play", func(ctx context.Context) error {
			done <- play(ctx, c, servers, sc)
			return nil
		})
	}}, struct{}{})
	if err != nil {
		return err
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// play waits for the server, logging in if need be, and makes the calls.
func play(ctx context.Context, c *core.Context, servers core.MCPServers, sc scenario) error {
	opened := map[string]bool{}
	for {
		s := servers.Status(ctx)
		if len(s) == 1 && s[0].State == core.SourceReady && s[0].Era != "" {
			break
		}
		if len(s) == 1 && s[0].Error != "" {
			return fmt.Errorf("not connected: %s", s[0].Error)
		}
		if len(s) == 1 {
			login(ctx, s[0].Detail, opened)
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	go func() { // a call may need a login with more scopes
		for ctx.Err() == nil {
			if s := servers.Status(ctx); len(s) == 1 {
				login(ctx, s[0].Detail, opened)
			}
			time.Sleep(20 * time.Millisecond)
		}
	}()
	calls := sc.ToolCalls
	if len(calls) == 0 {
		for _, t := range c.Tools().List(core.Viewer{}) {
			calls = append(calls, struct {
				Name      string          `json:"name"`
				Arguments json.RawMessage `json:"arguments"`
			}{t.Source.Raw, arguments(c, t.Source.Raw)})
		}
	}
	for _, call := range calls {
		for _, t := range c.Tools().List(core.Viewer{}) {
			if t.Source.Raw == call.Name {
				r := c.Tools().Execute(ctx, core.Call{Name: t.Name, Args: call.Arguments})
				fmt.Fprintf(os.Stderr, "%s: %.200s %v\n", call.Name, r.Text(), r.Err)
			}
		}
	}
	return nil
}

// arguments are those that scenarios expect of some tools.
func arguments(c *core.Context, name string) json.RawMessage {
	switch name {
	case "add_numbers":
		return json.RawMessage(`{"a":5,"b":3}`)
	case "json_schema_echo":
		for _, t := range c.Tools().List(core.Viewer{}) {
			if t.Source.Raw != "json_schema_2020_12_tool" {
				continue
			}
			schema := t.Parameters
			if raw := t.Meta["inputSchema"]; raw != nil {
				schema = raw
			}
			out, _ := json.Marshal(map[string]json.RawMessage{"schema": schema})
			return out
		}
	}
	if os.Getenv("MCP_CONFORMANCE_SCENARIO") == "http-invalid-tool-headers" {
		return json.RawMessage(`{"region":"us-west1"}`)
	}
	return json.RawMessage(`{}`)
}

// login opens the address that the status shows, as a person's browser would.
func login(ctx context.Context, detail string, opened map[string]bool) {
	_, after, ok := strings.Cut(detail, "login needed: open ")
	address, _, _ := strings.Cut(after, "\n")
	if !ok || opened[address] {
		return
	}
	opened[address] = true
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return
	}
	if resp, err := http.DefaultClient.Do(req); err == nil {
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	}
}
