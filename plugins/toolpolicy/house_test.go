package toolpolicy

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentd-host/agentd/core"
)

// house is a host with the plugin, tools that count their entries, and rules
// that the test changes.
type house struct {
	t       testing.TB
	host    *core.Host
	c       *core.Context
	fiber   *core.Fiber
	peek    *core.Fiber // looks at the plugin's services
	admin   *Admin
	broker  core.Broker
	state   string
	rules   atomic.Pointer[core.PolicyConfig]
	mu      sync.Mutex
	entered map[string]int
	block   map[string]chan struct{} // a call of the tool waits for it
	secrets []string
}

func (h *house) Secrets() []string { return h.secrets }

func (h *house) Current() *core.PolicyConfig { return h.rules.Load() }

// newHouse starts a host. Tools: r (read), w (write), x (exec), u
// (undeclared), each taking a string "command".
func newHouse(t testing.TB, state string, cfg Config, rules ...string) *house {
	t.Helper()
	h := &house{t: t, state: state, entered: map[string]int{}, block: map[string]chan struct{}{}}
	h.rules.Store(&core.PolicyConfig{Rules: lines(t, rules...)})
	h.host = core.New(&core.Options{Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), Grace: 50 * time.Millisecond})
	h.c = h.host.Root()
	t.Cleanup(h.close)
	h.must(core.Environment.Provide(h.c, core.Paths{
		Config: filepath.Join(state, "project", "agent.yml"), Dir: filepath.Join(state, "project"),
		State: filepath.Join(state, "state"),
	}))
	h.must(os.MkdirAll(filepath.Join(state, "state"), 0o700))
	h.must(core.PolicyRules.Provide(h.c, h))
	h.must(core.Secrets.Provide(h.c, h))
	for name, effect := range map[string]core.Effect{"r": core.Read, "w": core.Write, "x": core.Exec, "u": core.Undeclared} {
		h.define(core.Tool{Name: name, Traits: core.Traits{Effect: effect, Parallel: true}})
	}
	h.load(cfg)
	return h
}

func (h *house) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *house) define(tool core.Tool) {
	h.t.Helper()
	tool.Description = "A tool of the test."
	if tool.Parameters == nil {
		tool.Parameters = json.RawMessage(`{"type":"object","properties":{"command":{"type":"string"},"path":{"type":"string"}}}`)
	}
	tool.Run = func(ctx context.Context, call *core.Invocation) (core.Result, error) {
		h.mu.Lock()
		h.entered[tool.Name]++
		wait := h.block[tool.Name]
		h.mu.Unlock()
		if wait != nil {
			select {
			case <-wait:
			case <-ctx.Done():
				return core.Result{}, ctx.Err()
			}
		}
		return core.TextResult("ran " + tool.Name), nil
	}
	h.must(h.c.Tools().Define(tool))
}

// load starts the plugin and waits for it.
func (h *house) load(cfg Config) {
	h.t.Helper()
	if h.peek != nil {
		h.must(h.peek.Dispose(h.c))
	}
	f, err := core.Load(h.c, Plugin, cfg)
	h.must(err)
	h.must(f.Ready(h.c))
	h.fiber = f
	f2, err := core.Load(h.c, core.Plugin[struct{}]{
		Name: "peek", Needs: core.Needs(Admins, core.Approvals, core.Permissions),
		Apply: func(c *core.Context, _ struct{}) error {
			h.admin, _ = Admins.Get(c)
			h.broker, _ = core.Approvals.Get(c)
			return nil
		},
	}, struct{}{})
	h.must(err)
	h.must(f2.Ready(h.c))
	h.peek = f2
}

func (h *house) close() {
	if err := h.host.Close(context.WithoutCancel(h.t.Context())); err != nil {
		h.t.Errorf("close: %v", err)
	}
}

// set changes the rules as a reload does.
func (h *house) set(rules ...string) {
	h.t.Helper()
	h.rules.Store(&core.PolicyConfig{Rules: lines(h.t, rules...)})
	h.must(core.PolicyChanged.Emit(h.c, h.rules.Load()))
}

func (h *house) times(tool string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.entered[tool]
}

var viewer = core.Viewer{Agent: "a", Session: "s1", User: "me"}

// call runs a tool with a command in a turn of session s1.
func (h *house) call(tool, command string) core.Result {
	return h.callIn(h.c, viewer, "turn1", tool, command)
}

func (h *house) callIn(ctx context.Context, v core.Viewer, turn, tool, command string) core.Result {
	args, _ := json.Marshal(map[string]string{"command": command})
	return h.c.Tools().Execute(ctx, core.Call{Name: tool, Args: args, Viewer: v, Turn: turn})
}

// wants checks a result's code, "" for success.
func (h *house) wants(r core.Result, code core.ErrorCode) {
	h.t.Helper()
	got := core.ErrorCode("")
	if r.Err != nil {
		got = r.Err.Code
	}
	if got != code {
		h.t.Errorf("got %q (%v), want %q", got, r.Err, code)
	}
}

// person is an asker that answers from a list, then with its last answer.
type person struct {
	mu      sync.Mutex
	answers []core.Answer
	asked   []core.Approval
	takes   func(session string) bool
	until   chan struct{} // answers come once it is closed; nil: at once
}

func says(kinds ...core.AnswerKind) *person {
	p := &person{}
	for _, k := range kinds {
		p.answers = append(p.answers, core.Answer{Kind: k, By: "tester"})
	}
	return p
}

func (p *person) Name() string { return "person" }

func (p *person) Takes(session string) bool { return p.takes == nil || p.takes(session) }

func (p *person) Ask(ctx context.Context, a core.Approval) (core.Answer, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, a)
	if len(p.answers) == 0 {
		p.mu.Unlock()
		<-ctx.Done()
		p.mu.Lock()
		return core.Answer{}, ctx.Err()
	}
	if p.until != nil {
		p.mu.Unlock()
		<-p.until
		p.mu.Lock()
	}
	ans := p.answers[0]
	if len(p.answers) > 1 {
		p.answers = p.answers[1:]
	}
	return ans, nil
}

func (p *person) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.asked)
}

func (p *person) last() core.Approval {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked[len(p.asked)-1]
}
