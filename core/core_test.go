package core

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newHost returns a quiet host that is closed with the test.
func newHost(t testing.TB) *Host {
	t.Helper()
	h := New(&Options{Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	t.Cleanup(func() {
		if err := h.Close(context.Background()); err != nil && !t.Failed() {
			t.Logf("close: %v", err)
		}
	})
	return h
}

// journal is a list of what happened, for many goroutines.
type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) add(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, fmt.Sprintf(format, args...))
}

func (j *journal) get() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.lines)
}

func (j *journal) want(t testing.TB, lines ...string) {
	t.Helper()
	if diff := cmp.Diff(lines, j.get()); diff != "" {
		t.Errorf("journal (-want +got):\n%s", diff)
	}
}

// on returns an undo that writes a line.
func (j *journal) on(line string) func(context.Context) error {
	return func(context.Context) error { j.add("%s", line); return nil }
}

// states records the state changes of one fiber by name.
func (j *journal) states(t testing.TB, h *Host) {
	t.Helper()
	must(t, FiberStateChanged.On(h.Root(), func(_ context.Context, e FiberStateEvent) error {
		j.add("%s: %v -> %v", e.Fiber.Name(), e.Old, e.New)
		return nil
	}))
}

func must(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func wantErr(t testing.TB, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("error is %v, want %v", got, want)
	}
}

func wantState(t testing.TB, f *Fiber, want State) {
	t.Helper()
	if got := f.State(); got != want {
		t.Errorf("%s is %v (%v), want %v", f, got, f.Err(), want)
	}
}

// plain is a plugin without config.
func plain(name string, apply func(c *Context) error, needs ...Need) Plugin[struct{}] {
	return Plugin[struct{}]{Name: name, Needs: needs, Apply: func(c *Context, _ struct{}) error {
		if apply == nil {
			return nil
		}
		return apply(c)
	}}
}

// load loads p and waits until it is at rest.
func load(t testing.TB, c *Context, p AnyPlugin, opts ...LoadOption) *Fiber {
	t.Helper()
	f, err := c.Load(p, nil, opts...)
	must(t, err)
	if err := f.Wait(t.Context()); err != nil {
		t.Logf("%s: %v", f, err)
	}
	return f
}

// within fails the test with all stacks instead of hanging.
func within(t testing.TB, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		t.Fatal("hangs")
	}
}

func contains(t testing.TB, s string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(s, p) {
			t.Errorf("%q lacks %q", s, p)
		}
	}
}
