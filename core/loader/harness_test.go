package loader_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/config"
	"github.com/agentd-host/agentd/core/coretest"
	"github.com/agentd-host/agentd/core/loader"
)

// probe is what the entries of these tests run.
type probeConfig struct {
	Value string `json:"value,omitempty"`
	Port  int    `json:"port,omitempty"`
	Fail  bool   `json:"fail,omitempty"`
	Sour  bool   `json:"sour,omitempty"` // refused by Validate
	Tool  string `json:"tool,omitempty"`
}

// bench is a host with a loader over a file, and a diary of what its plugins
// did.
type bench struct {
	t    testing.TB
	host *core.Host
	l    *loader.Loader
	path string
	docs []*config.Document // as published

	mu     sync.Mutex // guards the fields below
	hooks  func(event string)
	diary  []string
	ports  map[int]string
	values map[string]string        // with which an entry runs
	live   map[string]int           // running goroutines, by entry
	at     map[string]*core.Context // of the last start, by entry
}

func (b *bench) say(format string, args ...any) {
	b.mu.Lock()
	line := fmt.Sprintf(format, args...)
	b.diary = append(b.diary, line)
	hooks := b.hooks
	b.mu.Unlock()
	if hooks != nil {
		hooks(line)
	}
}

// hook calls f for each line of the diary.
func (b *bench) hook(f func(event string)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.hooks = f
}

// read returns the diary since the last time.
func (b *bench) read() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	d := b.diary
	b.diary = nil
	return d
}

func (b *bench) want(lines ...string) {
	b.t.Helper()
	if d := cmp.Diff(lines, b.read()); d != "" {
		b.t.Errorf("what happened: %s", d)
	}
}

func (b *bench) take(port int, who string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if by := b.ports[port]; by != "" {
		return fmt.Errorf("port %d is used by %s", port, by)
	}
	b.ports[port] = who
	return nil
}

// running is how many goroutines of an entry run.
func (b *bench) running(who string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.live[who]
}

// free takes a port from whoever has it.
func (b *bench) free(port int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.ports, port)
}

// owners is a copy of who has which port.
func (b *bench) owners() map[int]string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return maps.Clone(b.ports)
}

// runs notes with which value an entry runs; "" is not at all.
func (b *bench) runs(who, value string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.values[who] = value
	if value == "" {
		delete(b.values, who)
	}
}

func (b *bench) count(who string, by int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.live[who] += by; b.live[who] == 0 {
		delete(b.live, who)
	}
}

func (b *bench) probe(name string) core.AnyPlugin {
	return core.Plugin[probeConfig]{
		Name:     name,
		Harmless: true,
		Validate: func(cfg probeConfig) error {
			if cfg.Sour {
				return errors.New("this is sour")
			}
			return nil
		},
		Apply: func(c *core.Context, cfg probeConfig) error {
			who := c.Fiber().Name()
			b.mu.Lock()
			b.at[who] = c
			b.mu.Unlock()
			b.count(who, 1)
			err := c.Go("loop", func(ctx context.Context) error {
				<-ctx.Done()
				b.count(who, -1)
				return nil
			})
			if err != nil {
				return err
			}
			if cfg.Port != 0 {
				if err := b.take(cfg.Port, who); err != nil {
					b.say("! %s", who)
					return err
				}
				if err := c.OnDispose(func() error { b.free(cfg.Port); return nil }); err != nil {
					return err
				}
			}
			if cfg.Tool != "" {
				err := c.Tools().Define(core.Tool{Name: cfg.Tool, Run: func(context.Context, *core.Invocation) (core.Result, error) {
					return core.Result{}, nil
				}})
				if err != nil {
					return err
				}
			}
			if cfg.Fail {
				b.say("! %s", who)
				return errors.New("no luck")
			}
			b.say("+ %s=%s", who, cfg.Value)
			b.runs(who, cfg.Value)
			return c.OnDispose(func() error { b.say("- %s=%s", who, cfg.Value); b.runs(who, ""); return nil })
		},
	}
}

// refusals tells the hook of a bench when a file was not taken.
type refusals struct {
	slog.Handler
	b *bench
}

func (r refusals) Enabled(context.Context, slog.Level) bool { return true }

func (r refusals) Handle(_ context.Context, rec slog.Record) error {
	r.b.mu.Lock()
	hooks := r.b.hooks
	r.b.mu.Unlock()
	if hooks != nil && strings.HasPrefix(rec.Message, "the configuration was not taken") {
		hooks("refused")
	}
	return nil
}

func newBench(t testing.TB, text string) *bench {
	t.Helper()
	return newBenchWith(t, text, config.Watcher{})
}

func newBenchWith(t testing.TB, text string, watcher config.Watcher) *bench {
	t.Helper()
	b := &bench{t: t, host: coretest.Host(t), ports: map[int]string{}, live: map[string]int{}, values: map[string]string{}, at: map[string]*core.Context{},
		path: filepath.Join(t.TempDir(), "agent.yml")}
	plugins := []core.AnyPlugin{b.probe("p"), b.probe("q")}
	schema, err := loader.NewSchema(plugins...)
	if err != nil {
		t.Fatal(err)
	}
	b.l, err = loader.New(b.host.Root(), loader.Options{Schema: schema, Plugins: plugins,
		Sources: config.Sources{File: b.path, Named: true}, Log: slog.New(refusals{slog.DiscardHandler, b}), Watcher: watcher,
		Publish: func(_ context.Context, doc *config.Document) { b.docs = append(b.docs, doc); b.say("publish") }})
	if err != nil {
		t.Fatal(err)
	}
	b.save(text)
	b.reload("")
	b.read()
	return b
}

func (b *bench) save(text string) {
	b.t.Helper()
	if err := os.WriteFile(b.path, []byte(text), 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// reload wants the error to hold problem; "" is none.
func (b *bench) reload(problem string) {
	b.t.Helper()
	err := b.l.Reload(b.t.Context())
	if problem == "" && err != nil || problem != "" && (err == nil || !strings.Contains(err.Error(), problem)) {
		b.t.Errorf("reload: %v, want %q", err, problem)
	}
}

func (b *bench) change(text, problem string) { b.t.Helper(); b.save(text); b.reload(problem) }

func (b *bench) entry(id string) loader.EntryStatus {
	b.t.Helper()
	for _, e := range b.l.Status().Entries {
		if e.ID == id {
			return e
		}
	}
	b.t.Fatalf("there is no entry %s", id)
	return loader.EntryStatus{}
}

func (b *bench) uids(ids ...string) []uint64 {
	b.t.Helper()
	var out []uint64
	for _, id := range ids {
		out = append(out, b.entry(id).UID)
	}
	return out
}

func (b *bench) same(before, after []uint64, what string) {
	b.t.Helper()
	if !slices.Equal(before, after) || slices.Contains(after, 0) {
		b.t.Errorf("%s: fibers %v before, %v after", what, before, after)
	}
}

const three = `plugins:
  p:a: {value: v1}
  p:b: {value: v1}
  group:g:
    plugins:
      p:c: {value: v1}
`
