package core

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestRule19_StopRunsTheUndoOnce(t *testing.T) {
	h := newHost(t)
	var j journal
	bad := errors.New("bad")
	began, let := make(chan struct{}), make(chan struct{})
	var stop func(context.Context) error
	f := load(t, h.Root(), plain("f", func(c *Context) (err error) {
		stop, err = c.Effect("e", func(*Context) (func(context.Context) error, error) {
			j.add("start")
			return func(ctx context.Context) error {
				close(began)
				<-let
				wantErr(t, stop(ctx), ErrSelfWait)
				j.add("undo")
				return bad
			}, nil
		})
		j.add("applied")
		return err
	}))
	results := make(chan error, 2)
	go func() { results <- stop(context.Background()) }()
	<-began
	go func() { results <- stop(context.Background()) }()
	close(let)
	wantErr(t, <-results, bad)
	wantErr(t, <-results, bad)
	wantErr(t, stop(t.Context()), bad)
	if n := len(f.Effects()); n != 0 {
		t.Errorf("effects are %v", f.Effects())
	}
	must(t, f.Dispose(t.Context()))
	j.want(t, "start", "applied", "undo")
}

func TestRule20_UndoIsSequentialLastInFirstOutAndGoesOnAfterErrors(t *testing.T) {
	h := newHost(t)
	var j journal
	one, two := errors.New("one"), errors.New("two")
	f := load(t, h.Root(), plain("f", func(c *Context) error {
		must(t, c.OnDispose(func() error { j.add("1"); return one }))
		load(t, c, plain("child", func(c *Context) error { return c.OnUndo("c", j.on("child")) }))
		must(t, c.OnDispose(func() error { j.add("2"); panic("boom") }),
			c.OnUndo("3", func(context.Context) error { j.add("3 begins"); j.add("3 ends"); return two }))
		return nil
	}))
	err := f.Dispose(t.Context())
	wantErr(t, err, one)
	wantErr(t, err, two)
	contains(t, err.Error(), "boom", "root/f", `undo of effect "3"`)
	j.want(t, "3 begins", "3 ends", "2", "child", "1")
}

func TestRule20_ATeardownNeverOverlapsAnEarlyStop(t *testing.T) {
	h := newHost(t)
	var j journal
	began, let := make(chan struct{}), make(chan struct{})
	f := load(t, h.Root(), plain("f", func(c *Context) error {
		stop, err := c.Effect("first", func(*Context) (func(context.Context) error, error) {
			return func(context.Context) error {
				j.add("first begins")
				close(began)
				<-let
				j.add("first ends")
				return nil
			}, nil
		})
		must(t, err, c.OnUndo("second", j.on("second")))
		go func() { _ = stop(context.Background()) }()
		return nil
	}))
	<-began
	done := make(chan error)
	go func() { done <- f.Dispose(context.Background()) }()
	for f.State() != Unloading {
	}
	close(let)
	must(t, <-done)
	j.want(t, "first begins", "first ends", "second")
}

func TestRule20_AStopDuringTheTeardownWaitsForItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		var j journal
		stopped := make(chan error, 1)
		var outer, inner func(context.Context) error
		f := load(t, h.Root(), plain("f", func(c *Context) error {
			effect := func(label string, undo func(context.Context) error) func(context.Context) error {
				stop, err := c.Effect(label, func(*Context) (func(context.Context) error, error) { return undo, nil })
				must(t, err)
				return stop
			}
			outer = effect("1", j.on("1"))
			inner = effect("2", j.on("2"))
			effect("3", func(ctx context.Context) error {
				j.add("3 begins")
				go func() { stopped <- outer(context.Background()) }()
				synctest.Wait()
				must(t, inner(ctx)) // an undo may stop another
				j.add("3 ends")
				return nil
			})
			return nil
		}))
		must(t, f.Dispose(t.Context()), <-stopped)
		j.want(t, "3 begins", "2", "3 ends", "1")
	})
}

func TestRule21_InnerEffectsAreUndoneBeforeTheOuterOnesUndo(t *testing.T) {
	h := newHost(t)
	var j journal
	var stop func(context.Context) error
	f := load(t, h.Root(), plain("f", func(c *Context) (err error) {
		stop, err = c.Effect("outer", func(in *Context) (func(context.Context) error, error) {
			must(t, in.OnUndo("1", j.on("1")), in.OnUndo("2", j.on("2")))
			must(t, c.OnUndo("beside", j.on("beside"))) // explicit, never ambient
			return j.on("outer"), nil
		})
		return err
	}))
	must(t, stop(t.Context()))
	j.want(t, "2", "1", "outer")
	must(t, f.Dispose(t.Context()))
	j.want(t, "2", "1", "outer", "beside")
}

func TestRule22_AStartThatFailsHalfWayIsUndone(t *testing.T) {
	for _, how := range []string{"error", "panic"} {
		t.Run(how, func(t *testing.T) {
			h := newHost(t)
			var j journal
			bad := errors.New("bad")
			stop, err := h.Root().Effect("e", func(c *Context) (func(context.Context) error, error) {
				must(t, c.OnUndo("1", j.on("1")), c.OnUndo("2", j.on("2")))
				if how == "panic" {
					panic(bad)
				}
				return j.on("never"), bad
			})
			wantErr(t, err, bad)
			if stop != nil {
				t.Error("a stop was returned")
			}
			j.want(t, "2", "1")
			if n := h.Root().Fiber().Effects(); len(n) != 0 {
				t.Errorf("effects are %v", n)
			}
		})
	}
}

func TestRule23_UndosGetTheirOwnContextWithADeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		var late bool
		f := load(t, h.Root(), plain("f", func(c *Context) error {
			return c.OnUndo("flush", func(ctx context.Context) error {
				if c.Err() == nil {
					t.Error("the activation is not cancelled")
				}
				if _, ok := ctx.Deadline(); !ok || ctx.Err() != nil {
					t.Errorf("context has no deadline or is over: %v", ctx.Err())
				}
				child, cancel := context.WithCancel(ctx)
				defer cancel()
				<-child.Done() // the deadline
				time.Sleep(time.Hour)
				late = true
				return nil
			})
		}))
		must(t, f.Dispose(t.Context()))
		if !late {
			t.Error("the undo was not waited for")
		}
	})
}

func TestRule24_GoroutinesAreCancelledWaitedForAndAbandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &lockedBuilder{}
		h := New(&Options{Logger: slog.New(slog.NewTextHandler(log, nil)), Grace: time.Second})
		let := make(chan struct{})
		var j journal
		f := load(t, h.Root(), plain("f", func(c *Context) error {
			return errors.Join(
				c.OnUndo("x", j.on("undo")),
				c.Go("slow", func(ctx context.Context) error {
					<-ctx.Done()
					time.Sleep(1500 * time.Millisecond)
					j.add("slow")
					return ctx.Err()
				}),
				c.Go("stubborn", func(context.Context) error { <-let; return nil }))
		}))
		start := time.Now()
		var lost *AbandonedError
		if err := f.Dispose(t.Context()); !errors.As(err, &lost) {
			t.Errorf("error is %v", err)
		}
		if d := time.Since(start); d != 2*time.Second {
			t.Errorf("took %v, want two graces", d)
		}
		j.want(t, "slow", "undo")
		contains(t, log.String(), "goroutine=stubborn", "TestRule24")
		close(let)
		must(t, h.Close(t.Context()))
	})
}

func TestRule24_AFailingGoroutineFailsTheFiber(t *testing.T) {
	bad := errors.New("bad")
	for name, f := range map[string]func(context.Context) error{
		"error": func(context.Context) error { return bad },
		"panic": func(context.Context) error { panic(bad) },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			var j journal
			fail := make(chan struct{})
			fiber := load(t, h.Root(), plain("f", func(c *Context) error {
				return errors.Join(c.OnUndo("x", j.on("undo")),
					c.Go("g", func(ctx context.Context) error { <-fail; return f(ctx) }))
			}))
			failed := make(chan error, 1)
			must(t, FiberStateChanged.On(h.Root(), func(_ context.Context, e FiberStateEvent) error {
				if e.New == Failed {
					failed <- e.Err
				}
				return nil
			}))
			close(fail)
			wantErr(t, <-failed, bad)
			wantErr(t, fiber.Wait(t.Context()), bad)
			wantState(t, fiber, Failed)
			j.want(t, "undo")
		})
	}
}

func TestRule24_RestartOnErrorBacksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		start := time.Now()
		var at []time.Duration
		f := load(t, h.Root(), plain("f", func(c *Context) error {
			at = append(at, time.Since(start))
			return c.Go("g", func(ctx context.Context) error {
				if len(at) < 4 {
					return errors.New("bad")
				}
				<-ctx.Done()
				return nil
			}, RestartOnError(Backoff{Min: time.Second, Max: 2 * time.Second}))
		}))
		time.Sleep(time.Minute)
		must(t, f.Ready(t.Context()))
		want := []time.Duration{0, 1 * time.Second, 3 * time.Second, 5 * time.Second}
		if diff := cmp.Diff(want, at); diff != "" {
			t.Error(diff)
		}
	})
}

func TestRule24_TheBackoffStartsOverAfterALongActivation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		start := time.Now()
		var at []time.Duration
		f := load(t, h.Root(), plain("f", func(c *Context) error {
			at = append(at, time.Since(start))
			return c.Go("g", func(ctx context.Context) error {
				select {
				case <-time.After(time.Minute):
					return errors.New("bad")
				case <-ctx.Done():
					return nil
				}
			}, RestartOnError(Backoff{Min: time.Second, Max: 30 * time.Second}))
		}))
		time.Sleep(150 * time.Second)
		must(t, f.Ready(t.Context()))
		want := []time.Duration{0, 61 * time.Second, 122 * time.Second}
		if diff := cmp.Diff(want, at); diff != "" {
			t.Error(diff)
		}
	})
}

func TestRule24_ARestartByHandStartsTheBackoffOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		start := time.Now()
		var at []time.Duration
		f, err := h.Root().Load(plain("f", func(c *Context) error {
			at = append(at, time.Since(start))
			return c.Go("g", func(context.Context) error { return errors.New("bad") },
				RestartOnError(Backoff{Min: time.Second, Max: time.Hour}))
		}), nil)
		must(t, err)
		time.Sleep(3500 * time.Millisecond)
		_ = f.Restart(t.Context()) // it may be Failed again, which is no matter here
		time.Sleep(time.Second)
		synctest.Wait()
		want := []time.Duration{0, time.Second, 3 * time.Second, 3500 * time.Millisecond, 4500 * time.Millisecond}
		if diff := cmp.Diff(want, at); diff != "" {
			t.Error(diff)
		}
	})
}

func TestRule25_EffectsListsTheTreeInOrder(t *testing.T) {
	h := newHost(t)
	f := load(t, h.Root(), plain("f", func(c *Context) error {
		must(t, number.Provide(c, 1), tick.On(c, func(context.Context, int) error { return nil }))
		_, err := c.Effect("own", func(c *Context) (func(context.Context) error, error) {
			return nil, c.Go("g", func(ctx context.Context) error { <-ctx.Done(); return nil })
		})
		must(t, err)
		s, err := c.Scope("s")
		must(t, err)
		_, err = s.Load(plain("child", nil), nil)
		return err
	}))
	want := []EffectInfo{
		{KindService, "number", nil},
		{KindListener, "tick", nil},
		{KindEffect, "own", []EffectInfo{{KindGoroutine, "g", nil}}},
		{KindScope, "s", []EffectInfo{{KindPlugin, "child", nil}}},
	}
	if diff := cmp.Diff(want, f.Effects()); diff != "" {
		t.Error(diff)
	}
}
