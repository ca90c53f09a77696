package toolsearch

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/coretest"
	"github.com/agentd-host/agentd/core/llm"
)

func TestMain(m *testing.M) { coretest.Main(m) }

// rig is a host with tools, the plugin and one session, driven as an agent
// loop would.
type rig struct {
	*coretest.Fixture
	t       testing.TB
	log     *memoryLog
	model   llm.Info
	history []llm.Message
	first   string
	turn    int
	calls   int

	unlogged bool // the turn has no open session
}

// memoryLog is an open session in memory.
type memoryLog struct {
	id     string
	mu     sync.Mutex // guards the field below
	events []core.SessionEvent
}

func (m *memoryLog) ID() string { return m.id }
func (m *memoryLog) Append(_ context.Context, events ...core.SessionEvent) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.events = append(m.events, events...)
	return nil
}
func (m *memoryLog) Events(context.Context) ([]core.SessionEvent, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.events), nil
}
func (m *memoryLog) Close() error { return nil }

// toolset is a plugin of tools for tests.
func toolset(tools ...core.Tool) coretest.Option {
	return coretest.With(core.Plugin[struct{}]{Name: "toolset", Apply: func(c *core.Context, _ struct{}) error {
		return define(c, tools...)
	}}, struct{}{})
}

func define(c *core.Context, tools ...core.Tool) error {
	return c.Tools().Batch(func(b *core.ToolBatch) error {
		for _, t := range tools {
			if t.Run == nil {
				name := t.Name
				t.Run = func(_ context.Context, inv *core.Invocation) (core.Result, error) {
					return core.TextResult(name + " " + string(inv.Args)), nil
				}
			}
			if t.Traits.Effect == "" {
				t.Traits.Effect = core.Read
			}
			b.Define(t)
		}
		return nil
	})
}

// policy sets what a policy plugin says about tools; the others are auto.
func policy(a *coretest.Approver, policies map[string]core.Policy) coretest.Option {
	p := coretest.NewPolicy(a)
	for name, policy := range policies {
		p.Set(name, policy)
	}
	return coretest.WithPolicy(p)
}

// many are n tools of a few kinds, with a parameter each.
func many(n int) []core.Tool {
	things := []string{"invoice", "ticket", "document", "contact", "meeting", "picture", "order", "report"}
	acts := []string{"create", "delete", "list", "update"}
	var tools []core.Tool
	for i := range n {
		act, thing := acts[i%len(acts)], things[i/len(acts)%len(things)]
		tools = append(tools, core.Tool{
			Name:        fmt.Sprintf("%s_%s_%02d", act, thing, i),
			Description: fmt.Sprintf("Will %s one %s. More about it.", act, thing),
			Parameters: json.RawMessage(fmt.Sprintf(
				`{"type":"object","properties":{"id":{"type":"integer","description":"number of the %s"}}}`, thing)),
		})
	}
	return tools
}

func start(t testing.TB, cfg Config, opts ...coretest.Option) *rig {
	t.Helper()
	r := &rig{t: t, log: &memoryLog{id: "s1"}, Fixture: coretest.Start(t, Plugin, cfg, opts...)}
	r.Viewer = core.Viewer{Agent: "main", Session: "s1"}
	r.nextTurn()
	return r
}

// nextTurn begins a turn.
func (r *rig) nextTurn() { r.turn++ }

func (r *rig) ctx() context.Context {
	if r.unlogged {
		return r.t.Context()
	}
	return core.WithSession(r.t.Context(), r.log)
}

func (r *rig) input() core.Surface {
	return core.Surface{
		Viewer: r.Viewer, Turn: fmt.Sprint("turn", r.turn), Model: r.model, Tools: slices.Clone(r.Tools()),
		History: r.history, First: r.first,
	}
}

// step settles the surface of a step.
func (r *rig) step() core.Surface {
	r.t.Helper()
	return r.surface(r.input())
}

func (r *rig) surface(in core.Surface) core.Surface {
	r.t.Helper()
	ctx := &hosted{r.ctx(), r.Host.Root()}
	out, err := core.ToolSurface.Run(ctx, in, func(_ context.Context, s core.Surface) (core.Surface, error) {
		return s, nil
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return out
}

// hosted is a context of a host and a test.
type hosted struct {
	context.Context
	host context.Context
}

func (h *hosted) Value(key any) any {
	if v := h.Context.Value(key); v != nil {
		return v
	}
	return h.host.Value(key)
}

// shows lists the names of a step.
func (r *rig) shows() []string {
	r.t.Helper()
	return toolNames(r.step().Tools)
}

func toolNames(tools []core.Tool) []string {
	names := []string{}
	for i := range tools {
		names = append(names, tools[i].Name)
	}
	return names
}

// model calls a tool as the model of this turn does, and keeps the call and
// its result in the history.
func (r *rig) call(name, args string) core.Result {
	r.t.Helper()
	r.calls++
	id := fmt.Sprint("c", r.calls)
	res := r.Host.Root().Tools().Execute(r.ctx(), core.Call{
		ID: id, Name: name, Args: json.RawMessage(args), Viewer: r.Viewer, Via: core.ViaModel,
		Turn: fmt.Sprint("turn", r.turn),
	})
	r.history = append(r.history,
		llm.Message{Role: llm.Assistant, Parts: []llm.Part{
			{Kind: llm.ToolCallPart, Call: &llm.ToolCall{ID: id, Name: name, Args: args}},
		}},
		llm.Message{Role: llm.ToolRole, Parts: []llm.Part{
			{Kind: llm.ToolResultPart, Result: &llm.ToolResult{CallID: id, Name: name, Parts: res.Parts}},
		}},
	)
	return res
}

// search calls the search tool and decodes its answer.
func (r *rig) search(query string) unifiedAnswer {
	r.t.Helper()
	return decode[unifiedAnswer](r.t, r.call(toolSearchName, fmt.Sprintf(`{"query":%q}`, query)))
}

func decode[T any](t testing.TB, r core.Result) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(r.Text()), &v); err != nil {
		t.Fatalf("%v in %s", err, r.Text())
	}
	return v
}

func (a unifiedAnswer) names() []string {
	var names []string
	for _, t := range a.Tools {
		names = append(names, t.Name)
	}
	return names
}

func ptr[T any](v T) *T { return &v }

// listing is the text of the listing in a step.
func listingOf(s core.Surface) string {
	for _, p := range s.Context {
		if p.Name == contextPart {
			return p.Text
		}
	}
	return ""
}

func without(names []string, drop ...string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool {
		return slices.ContainsFunc(drop, func(d string) bool { return strings.HasPrefix(n, d) })
	})
}
