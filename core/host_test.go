package core

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// askingHandler is a log handler that asks the host something, as one of a
// plugin might.
type askingHandler struct {
	slog.Handler
	h    **Host
	seen *atomic.Int64
}

func (a askingHandler) Enabled(context.Context, slog.Level) bool { return true }
func (a askingHandler) WithAttrs([]slog.Attr) slog.Handler       { a.ask(); return a }
func (a askingHandler) Handle(context.Context, slog.Record) error {
	a.seen.Add(1)
	a.ask()
	return nil
}

func (a askingHandler) ask() {
	for _, f := range (*a.h).Root().Fiber().Children() {
		_ = f.Err()
	}
}

func TestRule39_NoPluginCodeRunsUnderALockNotEvenALogHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h *Host
		seen := &atomic.Int64{}
		h = New(&Options{Logger: slog.New(askingHandler{h: &h, seen: seen}), Watchdog: time.Second})
		bad := errors.New("bad")
		load(t, h.Root(), plain("fails", func(*Context) error { return bad }))
		g := load(t, h.Root(), plain("goroutine", func(c *Context) error {
			return errors.Join(c.OnDispose(func() error { return bad }),
				c.Go("g", func(context.Context) error { time.Sleep(time.Second); return bad }))
		}))
		f, err := Load(h.Root(), Plugin[level]{Name: "r",
			Apply:       func(*Context, level) error { time.Sleep(3 * time.Second); return nil },
			Reconfigure: func(*Context, level, level) (bool, error) { panic("boom") },
		}, level{})
		must(t, err, f.Ready(t.Context()), Update(t.Context(), f, level{1}))
		must(t, FiberStateChanged.On(h.Root(), func(context.Context, FiberStateEvent) error { return bad }))
		stuck := load(t, h.Root(), plain("stuck", func(c *Context) error {
			return tick.On(c, func(context.Context, int) error { time.Sleep(time.Minute); return nil })
		}))
		_, err = h.Root().Load(Plugin[level]{Name: "config"}, []byte(`{"x":1}`))
		must(t, err)
		go func() { _ = tick.Emit(h.Root(), 1) }()
		synctest.Wait()
		_ = stuck.Dispose(t.Context())
		wantErr(t, g.Wait(t.Context()), bad)
		_ = h.Close(t.Context())
		time.Sleep(time.Hour) // for the stuck one to end
		if seen.Load() < 10 {
			t.Errorf("only %d records", seen.Load())
		}
	})
}

func TestALeaseReleasedTwicePanics(t *testing.T) {
	h := newHost(t)
	must(t, number.Provide(h.Root(), 1))
	l, _ := number.Acquire(h.Root())
	l.Release()
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	g := &gate{}
	g.exit()
}

func TestLabelledRealmsLiveAsLongAsTheyAreUsed(t *testing.T) {
	h := newHost(t)
	a := h.Root().Isolate(number, "a")
	must(t, number.Provide(a, 1))
	if n, ok := number.Get(h.Root().Isolate(number, "a")); n != 1 || !ok {
		t.Errorf("got %d %v", n, ok)
	}
}

func ExampleLoad() {
	type config struct{ Greeting string }
	greeter := NewService[func(string) string]("greeter")
	provider := Plugin[config]{
		Name:     "greeter",
		Provides: Provides(greeter),
		Apply: func(c *Context, cfg config) error {
			return errors.Join(
				c.OnDispose(func() error { fmt.Println("greeter is gone"); return nil }),
				greeter.Provide(c, func(name string) string { return cfg.Greeting + " " + name }))
		},
	}
	user := Plugin[struct{}]{
		Name:  "user",
		Needs: Needs(greeter),
		Apply: func(c *Context, _ struct{}) error {
			greet, _ := greeter.Get(c)
			fmt.Println(greet("world"))
			return c.OnDispose(func() error { fmt.Println("user is gone"); return nil })
		},
	}
	h, ctx := New(nil), context.Background()
	waiting, _ := Load(h.Root(), user, struct{}{})
	_ = waiting.Wait(ctx)
	fmt.Println("user is", waiting.State())
	_, _ = Load(h.Root(), provider, config{"hello"})
	_ = waiting.Ready(ctx)
	fmt.Println(h.Close(ctx))
	// Output:
	// user is pending
	// hello world
	// user is gone
	// greeter is gone
	// <nil>
}

func ExampleHook() {
	shout := NewHook[string, string]("shout")
	h, ctx := New(nil), context.Background()
	_ = shout.Around(h.Root(), func(
		ctx context.Context, in string, next func(context.Context, string) (string, error),
	) (string, error) {
		out, err := next(ctx, in+", world")
		return out + "!", err
	})
	out, err := shout.Run(h.Root(), "hello", func(_ context.Context, in string) (string, error) {
		return in, nil
	})
	fmt.Println(out, err, h.Close(ctx))
	// Output: hello, world! <nil> <nil>
}
