package plugins_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/llm"
	"github.com/agentd-host/agentd/core/provider"
	"github.com/agentd-host/agentd/plugins/agent"
	"github.com/agentd-host/agentd/plugins/anthropic"
	"github.com/agentd-host/agentd/plugins/openai"
	"github.com/agentd-host/agentd/plugins/toolsearch"
)

// mock is the npm package @copilotkit/aimock, which speaks the providers' wire
// formats: a peer that we did not write.
type mock struct {
	t   *testing.T
	url string
}

// startMock runs the mock with our fixtures on a port of its choice. The
// end-to-end stage names the folder with the packages.
func startMock(t *testing.T) *mock {
	t.Helper()
	folder := os.Getenv("AGENTD_E2E_NPM")
	if folder == "" {
		t.Skip("AGENTD_E2E_NPM is not set: .ci/e2e installs the mock of the providers")
	}
	script := filepath.Join(folder, "@copilotkit", "aimock", "dist", "cli.js")
	if _, err := os.Stat(script); err != nil {
		t.Fatalf("the mock is not installed: %v", err)
	}
	cmd := exec.CommandContext(t.Context(), "node", script, "-p", "0", "-f", filepath.Join("testdata", "aimock.json"))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	m := &mock{t: t}
	lines := bufio.NewScanner(out)
	for m.url == "" && lines.Scan() {
		if _, after, found := strings.Cut(lines.Text(), "listening on "); found {
			m.url = strings.TrimSpace(after)
		}
	}
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		_, _ = io.Copy(io.Discard, out)
	}()
	t.Cleanup(func() {
		if err := cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
		<-drained
		_ = cmd.Wait() // it was killed
	})
	if m.url == "" {
		t.Fatal("the mock did not say where it listens")
	}
	return m
}

// journal lists what was sent with a text in it, in order.
func (m *mock) journal(holding string) (bodies []map[string]json.RawMessage) {
	m.t.Helper()
	resp, err := http.Get(m.url + "/__aimock/journal")
	if err != nil {
		m.t.Fatal(err)
	}
	defer resp.Body.Close()
	defer http.DefaultClient.CloseIdleConnections()
	var entries []struct{ Body json.RawMessage }
	if err := json.NewDecoder(resp.Body).Decode(&entries); err != nil {
		m.t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.Contains(string(e.Body), holding) {
			continue
		}
		var body map[string]json.RawMessage
		if err := json.Unmarshal(e.Body, &body); err != nil {
			m.t.Fatal(err)
		}
		bodies = append(bodies, body)
	}
	return bodies
}

// withAgent runs f with an agent that talks to the mock through one adapter.
func withAgent(t *testing.T, name string, m *mock, f func(ctx context.Context, run func(session, text string) (core.TurnResult, []core.AgentEvent))) {
	t.Helper()
	host := core.New(nil)
	defer func() {
		if err := host.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	}()
	root := host.Root()
	ready := func(f *core.Fiber, err error) {
		t.Helper()
		if err == nil {
			err = f.Ready(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	if err := core.Environment.Provide(root, core.Paths{Dir: dir, Home: dir, State: dir}); err != nil {
		t.Fatal(err)
	}
	ready(core.Load(root, agent.Hub, struct{}{}))
	again := provider.Options{Retries: 3}
	switch name {
	case "openai":
		ready(core.Load(root, openai.Plugin, openai.Config{APIKey: "mock-key", BaseURL: m.url + "/v1", Model: "gpt-mock", Options: again}))
	case "anthropic":
		ready(core.Load(root, anthropic.Plugin, anthropic.Config{APIKey: "mock-key", BaseURL: m.url, Model: "claude-mock", Options: again}))
	}
	raw := func(p core.AnyPlugin) { ready(root.Load(p, json.RawMessage(`{}`))) }
	raw(toolsearch.Plugin)
	ready(core.Load(root, agent.Plugin, agent.Config{Model: name}))
	ready(core.Load(root, core.Plugin[struct{}]{Name: "tools", Apply: hundredTools}, struct{}{}))
	var user *core.Context
	ready(core.Load(root, core.Plugin[struct{}]{Name: "user", Needs: core.Needs(core.Agents), Apply: func(c *core.Context, _ struct{}) error {
		user = c
		return nil
	}}, struct{}{}))
	err := core.Agents.Use(user, t.Context(), func(ctx context.Context, agents core.AgentRunner) error {
		f(ctx, func(session, text string) (core.TurnResult, []core.AgentEvent) {
			t.Helper()
			var events []core.AgentEvent
			res, err := agents.Run(ctx, core.Turn{Session: session, Message: llm.UserText(text), Watch: func(ev core.AgentEvent) { events = append(events, ev) }})
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			return res, events
		})
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// hundredTools are 98 that have nothing to do with the matter, one that is
// searched for, and one that is always shown.
func hundredTools(c *core.Context, _ struct{}) error {
	read := core.Traits{Effect: core.Read, Parallel: true}
	var errs []error
	for i := range 98 {
		errs = append(errs, core.DefineTool(c, core.Tool{Name: fmt.Sprintf("ledger_%02d", i), Description: "Books an entry of the ledger.", Traits: read},
			func(context.Context, struct {
				Amount float64 `json:"amount"`
			}) (string, error) {
				return "", nil
			}))
	}
	always := read
	always.AlwaysLoad = true
	return errors.Join(append(errs,
		core.DefineTool(c, core.Tool{Name: "tide_table", Description: "Tide tables of a harbour.", Traits: read},
			func(_ context.Context, in struct {
				Harbour string `json:"harbour"`
			}) (string, error) {
				return "high tide in " + in.Harbour + " at noon", nil
			}),
		core.DefineTool(c, core.Tool{Name: "echo", Description: "Says the text.", Traits: always},
			func(_ context.Context, in struct {
				Text string `json:"text"`
			}) (string, error) {
				return "echo:" + in.Text, nil
			}))...)
}

func TestE2EModelsAgainstAForeignPeer(t *testing.T) {
	for _, provider := range []string{"openai", "anthropic"} {
		t.Run(provider, func(t *testing.T) {
			m := startMock(t)
			withAgent(t, provider, m, func(_ context.Context, run func(session, text string) (core.TurnResult, []core.AgentEvent)) {
				for _, tt := range []struct {
					ask, answer string
					steps       int
					kinds       []core.AgentEventKind // that have to be seen
					sent        []string              // that the last request has to hold
				}{
					{"say hello", "Hello from the mock, in several chunks.", 1, nil, nil},
					{"one call", "The tool said one.", 2, []core.AgentEventKind{core.AgentCallFinished}, []string{"echo:one"}},
					{"two calls", "Both came back.", 2, []core.AgentEventKind{core.AgentCallFinished}, []string{"echo:first", "echo:second"}},
					{"look for a tool", "High tide at noon.", 3, nil, []string{"high tide in Bergen at noon"}},
					{"slow down", "The second attempt.", 1, []core.AgentEventKind{core.AgentWarning}, nil},
					{"cut in the middle", "The whole text.", 1, []core.AgentEventKind{core.AgentReset}, nil},
					{"garbled body", "Readable again.", 1, []core.AgentEventKind{core.AgentWarning}, nil},
					{"damaged arguments", "One was mended.", 2, []core.AgentEventKind{core.AgentWarning}, []string{"echo:mended", "JSON"}},
				} {
					if tt.ask == "damaged arguments" && provider == "anthropic" {
						continue // the mock itself mends or empties what it sends in this format
					}
					res, events := run("", tt.ask)
					if res.Stop != core.StopDone || res.Text != tt.answer || res.Steps != tt.steps {
						t.Errorf("%s: got %+v", tt.ask, res)
					}
					for _, kind := range tt.kinds {
						if !seen(events, kind) {
							t.Errorf("%s: no event %s", tt.ask, kind)
						}
					}
					bodies := m.journal(tt.ask)
					if len(bodies) == 0 {
						t.Fatalf("%s: nothing was sent", tt.ask)
					}
					last, at := string(bodies[len(bodies)-1]["messages"]), 0
					for _, want := range tt.sent {
						found := strings.Index(last[at:], want)
						if found < 0 {
							t.Errorf("%s: %q was not sent, or not in order: %s", tt.ask, want, last)
							continue
						}
						at += found
					}
				}
				checkPrefix(t, m, run)
			})
		})
	}
}

func seen(events []core.AgentEvent, kind core.AgentEventKind) bool {
	for _, ev := range events {
		if ev.Kind == kind {
			return true
		}
	}
	return false
}

// checkPrefix talks for three turns and looks at what was sent: few tools, in
// the same bytes each time, and a conversation that only grows.
func checkPrefix(t *testing.T, m *mock, run func(session, text string) (core.TurnResult, []core.AgentEvent)) {
	t.Helper()
	marker := "prefix of " + t.Name()
	res, _ := run("", "say hello, "+marker)
	run(res.Session, "say hello once more")
	run(res.Session, "say hello for the last time")
	bodies := m.journal(marker)
	if len(bodies) != 3 {
		t.Fatalf("%d requests", len(bodies))
	}
	var tools []json.RawMessage
	if err := json.Unmarshal(bodies[0]["tools"], &tools); err != nil {
		t.Fatal(err)
	}
	if len(tools) == 0 || len(tools) > 10 {
		t.Errorf("%d tools were sent", len(tools))
	}
	for i := 1; i < len(bodies); i++ {
		for _, part := range []string{"model", "tools", "system"} {
			if string(bodies[i][part]) != string(bodies[0][part]) {
				t.Errorf("request %d: %s changed from\n%s to\n%s", i, part, bodies[0][part], bodies[i][part])
			}
		}
		before, now := messages(t, bodies[i-1]), messages(t, bodies[i])
		if len(now) != len(before)+2 {
			t.Fatalf("%d messages after %d", len(now), len(before))
		}
		for j := range before {
			if stable(before[j]) != stable(now[j]) {
				t.Errorf("request %d: message %d changed from\n%s to\n%s", i, j, before[j], now[j])
			}
		}
	}
}

func messages(t *testing.T, body map[string]json.RawMessage) (list []json.RawMessage) {
	t.Helper()
	if err := json.Unmarshal(body["messages"], &list); err != nil {
		t.Fatal(err)
	}
	return list
}

// stable leaves the cache breakpoint out, which moves to the end and is no
// part of what a provider compares.
func stable(m json.RawMessage) string {
	return strings.ReplaceAll(string(m), `,"cache_control":{"type":"ephemeral"}`, "")
}
