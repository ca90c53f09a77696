package agent

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/coretest"
	"github.com/agentd-host/agentd/core/llm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a host with the hub, a scripted model and one agent.
type rig struct {
	t     testing.TB
	host  *core.Host
	model *coretest.Model
	agent *core.Fiber

	mu     sync.Mutex
	events []core.AgentEvent
}

func newRig(t testing.TB, cfg Config, script ...coretest.Reply) *rig {
	t.Helper()
	r := &rig{t: t, model: coretest.NewModel(script...)}
	r.host = core.New(&core.Options{Logger: slog.New(slog.NewTextHandler(t.Output(), nil))})
	t.Cleanup(func() {
		if err := r.host.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Errorf("closing the host: %v", err)
		}
	})
	load(t, r.host.Root(), Hub, struct{}{})
	r.provider("scripted", r.model)
	r.agent = load(t, r.host.Root(), Plugin, cfg)
	return r
}

// load loads a plugin and waits until it is active.
func load[C any](t testing.TB, c *core.Context, p core.Plugin[C], cfg C, opts ...core.LoadOption) *core.Fiber {
	t.Helper()
	f, err := core.Load(c, p, cfg, opts...)
	if err == nil {
		err = f.Ready(t.Context())
	}
	if err != nil {
		t.Fatalf("loading %s: %v", p.Name, err)
	}
	return f
}

func (r *rig) provider(name string, m core.ModelProvider, opts ...core.LoadOption) *core.Fiber {
	r.t.Helper()
	return load(r.t, r.host.Root(), core.Plugin[struct{}]{
		Name: name, Needs: core.Needs(core.Models),
		Apply: func(c *core.Context, _ struct{}) error {
			models, _ := core.Models.Get(c)
			return models.Add(c, name, m)
		},
	}, struct{}{}, opts...)
}

// tool defines a tool that reads.
func (r *rig) tool(name string, traits core.Traits, run func(ctx context.Context, args map[string]any) (string, error)) *core.Fiber {
	r.t.Helper()
	if traits.Effect == "" {
		traits.Effect = core.Read
	}
	return load(r.t, r.host.Root(), core.Plugin[struct{}]{
		Name: "tool-" + name,
		Apply: func(c *core.Context, _ struct{}) error {
			return core.DefineTool(c, core.Tool{Name: name, Description: "Tool " + name + ".", Traits: traits}, run)
		},
	}, struct{}{})
}

func echo(_ context.Context, args map[string]any) (string, error) {
	return fmt.Sprint(args["text"]), nil
}

func (r *rig) runner() core.AgentRunner {
	r.t.Helper()
	var runner core.AgentRunner
	load(r.t, r.host.Root(), core.Plugin[struct{}]{
		Name: "caller", Needs: core.Needs(core.Agents),
		Apply: func(c *core.Context, _ struct{}) error {
			runner, _ = core.Agents.Get(c)
			return nil
		},
	}, struct{}{})
	return runner
}

// run runs a turn and records its events.
func (r *rig) run(ctx context.Context, in core.Turn) (core.TurnResult, error) {
	in.Watch = func(ev core.AgentEvent) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.events = append(r.events, ev)
	}
	return r.runner().Run(ctx, in)
}

// say runs a turn that has to end well.
func (r *rig) say(session, text string) core.TurnResult {
	r.t.Helper()
	res, err := r.run(r.t.Context(), core.Turn{Session: session, Message: llm.UserText(text)})
	if err != nil {
		r.t.Fatalf("turn: %v", err)
	}
	return res
}

// seen are the events of some kinds.
func (r *rig) seen(kinds ...core.AgentEventKind) []core.AgentEvent {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []core.AgentEvent
	for _, ev := range r.events {
		for _, k := range kinds {
			if ev.Kind == k {
				out = append(out, ev)
			}
		}
	}
	return out
}

// results are the tool results in the last request of the model.
func (r *rig) results() []llm.ToolResult {
	r.t.Helper()
	reqs := r.model.Requests()
	if len(reqs) == 0 {
		r.t.Fatal("no request")
	}
	var out []llm.ToolResult
	for _, m := range reqs[len(reqs)-1].Messages {
		for _, p := range m.Parts {
			if p.Result != nil {
				out = append(out, *p.Result)
			}
		}
	}
	return out
}

func echoLong(context.Context, map[string]any) (string, error) {
	return strings.Repeat("long ", 500), nil
}
