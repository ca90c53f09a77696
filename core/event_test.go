package core

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// hears registers a listener that writes its name.
func (j *journal) hears(t testing.TB, c *Context, name string, opts ...ListenOption) {
	t.Helper()
	must(t, tick.On(c, func(context.Context, int) error { j.add("%s", name); return nil }, opts...))
}

func TestRule36_ListenersRunByOrderThenEntryThenRegistration(t *testing.T) {
	h := newHost(t)
	var j journal
	entry := func(name string, position int, c *Context) *Fiber {
		return load(t, c, plain(name, func(c *Context) error {
			j.hears(t, c, name)
			if name == "group" {
				load(t, c, plain("g2", func(c *Context) error { j.hears(t, c, "g2"); return nil }), Order(2))
				load(t, c, plain("g1", func(c *Context) error { j.hears(t, c, "g1"); return nil }), Order(1))
			}
			return nil
		}), Order(position))
	}
	entry("third", 3, h.Root())
	first := entry("first", 1, h.Root())
	entry("group", 2, h.Root())
	j.hears(t, h.Root(), "last", Order(5))
	j.hears(t, h.Root(), "a", Order(-1))
	j.hears(t, h.Root(), "b", Order(-1))
	must(t, tick.Emit(h.Root(), 1))
	j.want(t, "a", "b", "first", "group", "g1", "g2", "third", "last")

	j.lines = nil
	first.SetOrder(9)
	must(t, tick.Emit(h.Root(), 1))
	j.want(t, "a", "b", "group", "g1", "g2", "third", "first", "last")
}

func TestRule36_ADispatchWorksOnASnapshot(t *testing.T) {
	h := newHost(t)
	var j journal
	s, err := h.Root().Scope("s")
	must(t, err)
	victim := load(t, h.Root(), plain("victim", func(c *Context) error { j.hears(t, c, "unloaded", Order(2)); return nil }))
	must(t, tick.On(h.Root(), func(ctx context.Context, _ int) error {
		j.add("first")
		j.hears(t, h.Root(), "added")
		return errors.Join(s.Dispose(ctx), victim.Dispose(ctx))
	}, Order(1)))
	j.hears(t, s.Context, "removed", Order(2))
	must(t, tick.Emit(h.Root(), 1))
	j.want(t, "first")
}

func TestRule36_DisposeWaitsForCallsInProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		let := make(chan struct{})
		var scope *Scope
		var j journal
		f := load(t, h.Root(), plain("f", func(c *Context) (err error) {
			scope, err = c.Scope("s")
			must(t, err)
			return tick.On(scope.Context, func(context.Context, int) error { <-let; j.add("returned"); return nil })
		}))
		go func() { _ = tick.Emit(h.Root(), 1) }()
		synctest.Wait()
		must(t, scope.Dispose(t.Context())) // does not wait
		j.want(t)
		done := make(chan struct{})
		go func() { defer close(done); must(t, f.Dispose(t.Context())); j.add("disposed") }()
		synctest.Wait()
		close(let)
		<-done
		j.want(t, "returned", "disposed")
		must(t, tick.Emit(h.Root(), 2))
		j.want(t, "returned", "disposed")
	})
}

func TestRule36_AStuckListenerIsBoundedByTheGraces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		let := make(chan struct{})
		f := load(t, h.Root(), plain("f", func(c *Context) error {
			return tick.On(c, func(context.Context, int) error { <-let; return nil })
		}))
		go func() { _ = tick.Emit(h.Root(), 1) }()
		synctest.Wait()
		err := f.Dispose(t.Context())
		var lost *AbandonedError
		if !errors.As(err, &lost) {
			t.Errorf("error is %v", err)
		}
		contains(t, err.Error(), "root/f", `listener "tick"`)
		close(let)
	})
}

func TestRule37_EmitJoinsErrorsInOrder(t *testing.T) {
	h := newHost(t)
	var j journal
	for i := range 3 {
		must(t, tick.On(h.Root(), func(_ context.Context, n int) error {
			j.add("%d", n)
			return fmt.Errorf("error %d", i)
		}))
	}
	const want = "error 0\nerror 1\nerror 2"
	if err := tick.Emit(h.Root(), 7); err == nil || err.Error() != want {
		t.Errorf("error is %v", err)
	}
	if err := tick.Parallel(h.Root(), 7); err == nil || err.Error() != want {
		t.Errorf("error is %v", err)
	}
	j.want(t, "7", "7", "7", "7", "7", "7")
	wantErr(t, tick.Emit(t.Context(), 1), ErrNoHost)
	wantErr(t, tick.Parallel(t.Context(), 1), ErrNoHost)
}

func TestRule37_ParallelStartsAllAndWaitsForAll(t *testing.T) {
	h := newHost(t)
	var meet sync.WaitGroup
	meet.Add(3)
	for range 3 {
		must(t, tick.On(h.Root(), func(context.Context, int) error { meet.Done(); meet.Wait(); return nil }))
	}
	within(t, func() { must(t, tick.Parallel(h.Root(), 1)) })
}

func TestRule37_AQueryStopsAtTheFirstAnswer(t *testing.T) {
	h := newHost(t)
	ask := NewQuery[int, string]("ask")
	bad := errors.New("bad")
	if _, ok, err := ask.Bail(h.Root(), 1); ok || err != nil {
		t.Error("an answer from nobody")
	}
	must(t,
		ask.On(h.Root(), func(_ context.Context, n int) (string, bool, error) { return "", false, nil }),
		ask.On(h.Root(), func(_ context.Context, n int) (string, bool, error) { return "x", true, bad }),
		ask.On(h.Root(), func(_ context.Context, n int) (string, bool, error) { panic("boom") }),
		ask.On(h.Root(), func(_ context.Context, n int) (string, bool, error) { return fmt.Sprint(n), true, nil }),
		ask.On(h.Root(), func(context.Context, int) (string, bool, error) { t.Error("asked"); return "", false, nil }))
	out, ok, err := ask.Bail(h.Root(), 7)
	if out != "7" || !ok {
		t.Errorf("got %q %v", out, ok)
	}
	wantErr(t, err, bad)
	contains(t, err.Error(), "boom")
	_, _, err = ask.Bail(t.Context(), 1)
	wantErr(t, err, ErrNoHost)
}

type nextFunc = func(context.Context, int) (string, error)

func TestRule37_AHookIsMiddleware(t *testing.T) {
	log := &lockedBuilder{}
	h := New(&Options{Logger: slog.New(slog.NewTextHandler(log, nil))})
	defer h.Close(t.Context())
	hook := NewHook[int, string]("hook", LogShortCircuit())
	final := func(_ context.Context, n int) (string, error) { return fmt.Sprint(n), nil }
	run := func(n int) string {
		out, err := hook.Run(h.Root(), n, final)
		return fmt.Sprint(out, err)
	}
	if got := run(1); got != "1<nil>" && got != "1 <nil>" {
		t.Errorf("got %q", got)
	}
	wrap := func(name string) func(context.Context, int, nextFunc) (string, error) {
		return func(ctx context.Context, n int, next nextFunc) (string, error) {
			if n == 3 && name == "b" {
				return "short", nil
			}
			out, err := next(context.WithValue(ctx, valueKey{}, name), n*10)
			return name + "(" + out + ")", err
		}
	}
	load(t, h.Root(), plain("inner", func(c *Context) error { return hook.Around(c, wrap("c"), Order(2)) }))
	load(t, h.Root(), plain("breaker", func(c *Context) error { return hook.Around(c, wrap("b"), Order(1)) }))
	must(t, hook.Around(h.Root(), wrap("a"), Order(-1)))
	out, err := hook.Run(h.Root(), 1, func(ctx context.Context, n int) (string, error) {
		if ctx.Value(valueKey{}) != "c" {
			t.Error("next's context did not arrive")
		}
		return final(ctx, n)
	})
	if out != "a(b(c(1000)))" || err != nil {
		t.Errorf("got %q %v", out, err)
	}
	if log.String() != "" {
		t.Errorf("logged %s", log.String())
	}
	must(t, hook.Around(h.Root(), func(ctx context.Context, n int, next nextFunc) (string, error) {
		return next(ctx, 3)
	}))
	if out, _ := hook.Run(h.Root(), 3, final); out != "a(short)" {
		t.Errorf("got %q", out)
	}
	contains(t, log.String(), "fiber=root/breaker", "hook=hook", "skipped=1")
	_, err = hook.Run(t.Context(), 1, final)
	wantErr(t, err, ErrNoHost)
}

func TestRule37_CallingNextTwiceIsAnError(t *testing.T) {
	h := newHost(t)
	hook := NewHook[int, string]("hook")
	finals := 0
	load(t, h.Root(), plain("twice", func(c *Context) error {
		return hook.Around(c, func(ctx context.Context, n int, next nextFunc) (string, error) {
			out, _ := next(ctx, n)
			_, err := next(ctx, n)
			wantErr(t, err, ErrNextTwice)
			return out, nil // even if it is dropped
		})
	}))
	_, err := hook.Run(h.Root(), 1, func(context.Context, int) (string, error) { finals++; return "", nil })
	wantErr(t, err, ErrNextTwice)
	contains(t, err.Error(), "root/twice")
	if finals != 1 {
		t.Errorf("final ran %d times", finals)
	}
}

func TestRule38_APanicIsContainedNamedAndJoined(t *testing.T) {
	h := newHost(t)
	var j journal
	load(t, h.Root(), plain("bad", func(c *Context) error {
		return tick.On(c, func(context.Context, int) error { panic("boom") })
	}))
	j.hears(t, h.Root(), "after")
	for _, emit := range []func(context.Context, int) error{tick.Emit, tick.Parallel} {
		err := emit(h.Root(), 1)
		var p *PanicError
		if !errors.As(err, &p) || p.Fiber != "root/bad" || p.What != `listener "tick"` {
			t.Errorf("error is %v", err)
		}
	}
	j.want(t, "after", "after")

	hook := NewHook[int, string]("hook")
	must(t, hook.Around(h.Root(), func(ctx context.Context, n int, next nextFunc) (string, error) { return next(ctx, n) }))
	_, err := hook.Run(h.Root(), 1, func(context.Context, int) (string, error) { panic("in final") })
	contains(t, err.Error(), "in final", `end of hook "hook"`)
	load(t, h.Root(), plain("bad hook", func(c *Context) error {
		return hook.Around(c, func(context.Context, int, nextFunc) (string, error) { panic("in hook") })
	}))
	_, err = hook.Run(h.Root(), 1, nil)
	contains(t, err.Error(), "root/bad hook", "in hook")
}

func TestRule38_OnceIsClaimedBeforeTheCall(t *testing.T) {
	h := newHost(t)
	var j journal
	must(t, tick.Once(h.Root(), func(ctx context.Context, n int) error {
		j.add("once %d", n)
		if n > 3 {
			return nil
		}
		return tick.Emit(ctx, n+1)
	}))
	var wg sync.WaitGroup
	must(t, tick.Emit(h.Root(), 1))
	for range 8 {
		wg.Go(func() { must(t, tick.Emit(h.Root(), 1)) })
	}
	wg.Wait()
	j.want(t, "once 1")
	if n := h.Root().Fiber().Effects(); len(n) != 0 {
		t.Errorf("effects are %v", n)
	}
}

func TestRule39_L47_EverythingWorksInsideAListener(t *testing.T) {
	h := newHost(t)
	var j journal
	f := load(t, h.Root(), plain("f", nil))
	must(t, tick.On(h.Root(), func(ctx context.Context, n int) error {
		j.add("%d", n)
		if n == 3 {
			return nil
		}
		_, err := h.Root().Load(plain("new", nil), nil)
		return errors.Join(tick.Emit(ctx, n+1), err, f.Dispose(ctx), number.Use(h.Root(), ctx,
			func(ctx context.Context, _ int) error { return tick.Emit(ctx, 3) }))
	}))
	must(t, number.Provide(h.Root(), 1))
	within(t, func() { must(t, tick.Emit(h.Root(), 2)) })
	j.want(t, "2", "3", "3")
}

func TestL2_AnEffectMadeInAListenerIsUndone(t *testing.T) {
	h := newHost(t)
	var j journal
	f := load(t, h.Root(), plain("f", func(c *Context) error {
		return tick.On(c, func(context.Context, int) error { return c.OnUndo("x", j.on("undone")) })
	}))
	must(t, tick.Emit(h.Root(), 1), f.Dispose(t.Context()))
	j.want(t, "undone")
}

func TestRule36_TheContextOfAListenerIsTheEmittersAndCarriesItsFrame(t *testing.T) {
	h := newHost(t)
	var got []context.Context
	f := load(t, h.Root(), plain("f", func(c *Context) error {
		return tick.On(c, func(ctx context.Context, _ int) error { got = append(got, ctx); return nil })
	}))
	ctx, cancel := context.WithTimeout(h.Root().WithValue(valueKey{}, 1), time.Hour)
	defer cancel()
	must(t, tick.Emit(ctx, 1))
	if _, ok := got[0].Deadline(); !ok || got[0].Value(valueKey{}) != 1 {
		t.Error("not the emitter's context")
	}
	if fr := frameOf(got[0]); fr.fiber != f || fr.caller.fiber != h.Root().Fiber() {
		t.Error("not the listener's frame")
	}
}
