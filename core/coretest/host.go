package coretest

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"reflect"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/schema"
)

// closing bounds the end of a host in a test; a plugin that hangs is then
// named in the test's error.
const closing = 30 * time.Second

// Host returns a host that logs to the test and ends with it. What is left in
// it then fails the test.
func Host(t testing.TB) *core.Host {
	t.Helper()
	log := &testLog{t: t}
	h := core.New(&core.Options{Logger: slog.New(slog.NewTextHandler(log, nil))})
	t.Cleanup(func() {
		// Not the test's context, which has ended by now.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), closing)
		defer cancel()
		if err := h.Close(ctx); err != nil {
			t.Errorf("closing the host: %v", err)
		}
		if left := h.Root().Fiber().Effects(); len(left) > 0 {
			t.Errorf("left after the host was closed: %v", left)
		}
		log.end()
	})
	return h
}

// testLog writes lines to the test for as long as it runs.
type testLog struct {
	mu sync.Mutex // guards t
	t  testing.TB // nil when the test is over
}

func (l *testLog) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.t != nil {
		l.t.Logf("%s", bytes.TrimSpace(line))
	}
	return len(line), nil
}

func (l *testLog) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.t = nil
}

// A Fixture is a host with one plugin loaded and active.
type Fixture struct {
	Host  *core.Host
	Fiber *core.Fiber
	// Viewer is who calls and lists. It may be changed before use.
	Viewer core.Viewer

	t testing.TB
}

// An Option prepares the host before the plugin is loaded.
type Option func(t testing.TB, c *core.Context)

// Provide makes v the service s, as if another plugin provided it.
func Provide[T any](s core.Service[T], v T) Option {
	return With(core.Plugin[struct{}]{
		Name:  "coretest:" + s.Name(),
		Apply: func(c *core.Context, _ struct{}) error { return s.Provide(c, v) },
	}, struct{}{})
}

// With loads another plugin first.
func With[C any](p core.Plugin[C], cfg C) Option {
	return func(t testing.TB, c *core.Context) {
		t.Helper()
		load(t, c, p, cfg)
	}
}

// Start loads the plugin in a new host and waits until it is active. Failing
// that is fatal to the test.
func Start[C any](t testing.TB, p core.Plugin[C], cfg C, opts ...Option) *Fixture {
	t.Helper()
	h := Host(t)
	for _, opt := range opts {
		opt(t, h.Root())
	}
	return &Fixture{Host: h, Fiber: load(t, h.Root(), p, cfg), t: t}
}

func load[C any](t testing.TB, c *core.Context, p core.Plugin[C], cfg C) *core.Fiber {
	t.Helper()
	f, err := core.Load(c, p, cfg)
	if err == nil {
		err = f.Ready(t.Context())
	}
	if err != nil {
		t.Fatalf("loading %s: %v", p.Name, err)
	}
	return f
}

// Tools lists what the viewer sees.
func (f *Fixture) Tools() []core.Tool { return f.Host.Root().Tools().List(f.Viewer) }

// Tool finds one of them; one that is missing is fatal.
func (f *Fixture) Tool(name string) core.Tool {
	f.t.Helper()
	for _, tool := range f.Tools() {
		if tool.Name == name {
			return tool
		}
	}
	f.t.Fatalf("no tool %q", name)
	return core.Tool{}
}

// Call runs a tool. args is a json.RawMessage as it is, nil for none, anything
// else as its JSON.
func (f *Fixture) Call(name string, args any) core.Result {
	f.t.Helper()
	raw, ok := args.(json.RawMessage)
	if !ok && args != nil {
		var err error
		if raw, err = json.Marshal(args); err != nil {
			f.t.Fatal(err)
		}
	}
	return f.Host.Root().Tools().Execute(f.t.Context(), core.Call{Name: name, Args: raw, Viewer: f.Viewer})
}

// CheckTools checks the definitions of the tools that the viewer sees: each says
// what it does and what its effect is, and has a schema that compiles and is
// one of an object.
func (f *Fixture) CheckTools() {
	f.t.Helper()
	for _, tool := range f.Tools() {
		if tool.Description == "" {
			f.t.Errorf("tool %s: it has no description", tool.Name)
		}
		if tool.Traits.Effect == core.Undeclared {
			f.t.Errorf("tool %s: its effect is not declared, so it counts as exec", tool.Name)
		}
		s, err := schema.Compile(tool.Parameters)
		if err != nil {
			f.t.Errorf("tool %s: %v", tool.Name, err)
			continue
		}
		if s.Validate(json.RawMessage(`[]`)) == nil {
			f.t.Errorf("tool %s: its schema takes what is no object", tool.Name)
		}
	}
}

// Main is a TestMain that fails when a goroutine outlives the tests.
func Main(m *testing.M) { goleak.VerifyTestMain(m) }

// CheckPlugin checks what can be told of a plugin without running it: that it
// has a name, and that its config has a schema, without tags that say nothing.
func CheckPlugin(t testing.TB, p core.AnyPlugin) {
	t.Helper()
	info := p.Info()
	if info.Name == "" || info.Description == "" {
		t.Errorf("plugin %q: it needs a name and a description", info.Name)
	}
	if info.Config == nil {
		return
	}
	if _, err := schema.Of(info.Config); err != nil {
		t.Errorf("plugin %s: %v", info.Name, err)
	}
	for _, err := range schema.Lint(info.Config) {
		t.Errorf("plugin %s: %v", info.Name, err)
	}
}

// CheckReload loads and disposes the plugin n times in one host and fails if
// that leaves anything: an effect, a tool, a service, a goroutine. It is not
// for tests that run in parallel with others.
func CheckReload[C any](t testing.TB, p core.Plugin[C], cfg C, n int, opts ...Option) {
	t.Helper()
	h := Host(t)
	for _, opt := range opts {
		opt(t, h.Root())
	}
	cycle(t, h.Root(), p, cfg) // what is made once is made now
	goroutines := goleak.IgnoreCurrent()
	before := counts(h)
	for range n {
		cycle(t, h.Root(), p, cfg)
	}
	if after := counts(h); !reflect.DeepEqual(after, before) {
		t.Errorf("plugin %s: after %d loads %+v, before %+v", p.Name, n, after, before)
	}
	if err := goleak.Find(goroutines); err != nil {
		t.Errorf("plugin %s: %v", p.Name, err)
	}
}

func cycle[C any](t testing.TB, c *core.Context, p core.Plugin[C], cfg C) {
	t.Helper()
	if err := load(t, c, p, cfg).Dispose(t.Context()); err != nil {
		t.Fatalf("disposing %s: %v", p.Name, err)
	}
}

// tally is what a host holds.
type tally struct {
	Effects   []core.EffectInfo
	Tools     []string
	Prompts   []string
	Resources []string
}

func counts(h *core.Host) tally {
	n := tally{Effects: h.Root().Fiber().Effects()}
	for _, tool := range h.Root().Tools().List(core.Viewer{}) {
		n.Tools = append(n.Tools, tool.Name)
	}
	for _, p := range h.Root().Prompts().List() {
		n.Prompts = append(n.Prompts, p.Name)
	}
	for _, r := range h.Root().Resources().List() {
		n.Resources = append(n.Resources, r.URI)
	}
	return n
}
