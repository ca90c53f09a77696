package core

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestRule13_DisposeIsABarrierWithOneResultForAll(t *testing.T) {
	h := newHost(t)
	var j journal
	one, two := errors.New("one"), errors.New("two")
	let := make(chan struct{})
	f := load(t, h.Root(), plain("f", func(c *Context) error {
		load(t, c, plain("child", func(c *Context) error {
			return c.OnDispose(func() error { <-let; j.add("child"); return two })
		}))
		return errors.Join(
			c.OnDispose(func() error { j.add("parent"); return one }),
			c.Go("worker", func(ctx context.Context) error {
				<-ctx.Done()
				j.add("worker")
				return nil
			}))
	}))
	results := make(chan error, 3)
	for range 3 {
		go func() { results <- f.Dispose(context.Background()) }()
	}
	close(let)
	first := <-results
	wantErr(t, first, one)
	wantErr(t, first, two)
	for range 2 {
		if err := <-results; err != first {
			t.Errorf("another result: %v", err)
		}
	}
	if err := f.Dispose(t.Context()); err != first {
		t.Errorf("another result: %v", err)
	}
	j.want(t, "worker", "parent", "child")
	<-f.Done()

	pending := load(t, h.Root(), plain("pending", nil, number))
	failed := load(t, h.Root(), plain("failed", func(*Context) error { panic(1) }))
	must(t, pending.Dispose(t.Context()), failed.Dispose(t.Context()))
	wantState(t, pending, Disposed)
	wantState(t, failed, Disposed)
	if left := h.Root().Fiber().Children(); len(left) != 0 {
		t.Errorf("left are %v", left)
	}
}

func TestRule13_AnExpiredDisposeNamesWhatIsStuckAndGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		let := make(chan struct{})
		f := load(t, h.Root(), plain("f", func(c *Context) error {
			load(t, c, plain("child", func(c *Context) error {
				return c.OnUndo("socket", func(context.Context) error { <-let; return nil })
			}))
			return nil
		}))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := f.Dispose(ctx)
		wantErr(t, err, context.DeadlineExceeded)
		contains(t, err.Error(), "root/f/child", "socket")
		close(let)
		must(t, f.Dispose(t.Context()))
	})
}

func TestRule15_L1_RegisteringAfterTheEndIsInactiveAndLeavesNothing(t *testing.T) {
	h := newHost(t)
	var old *Context
	f := load(t, h.Root(), plain("f", func(c *Context) error {
		if old == nil {
			old = c
		}
		return nil
	}))
	must(t, f.Restart(t.Context()))
	try := func(c *Context) {
		t.Helper()
		_, err := c.Load(plain("late", func(*Context) error { t.Error("ran"); return nil }), nil)
		wantErr(t, err, ErrInactive)
		_, err = c.Scope("s")
		wantErr(t, err, ErrInactive)
		_, err = c.Effect("e", func(*Context) (func(context.Context) error, error) {
			t.Error("started")
			return nil, nil
		})
		wantErr(t, err, ErrInactive)
		wantErr(t, c.OnDispose(func() error { t.Error("undone"); return nil }), ErrInactive)
		wantErr(t, c.Go("g", func(context.Context) error { t.Error("went"); return nil }), ErrInactive)
		wantErr(t, number.Provide(c, 1), ErrInactive)
		wantErr(t, tick.On(c, func(context.Context, int) error { t.Error("heard"); return nil }), ErrInactive)
	}
	try(old)
	try(old.Isolate(number, ""))
	if n := len(f.Effects()); n != 0 {
		t.Errorf("%d effects", n)
	}
	must(t, tick.Emit(h.Root(), 1))
	must(t, f.Dispose(t.Context()))
	try(old)
}

func TestRule15_L6_RegisteringWhileUnloadingIsRefused(t *testing.T) {
	h := newHost(t)
	f := load(t, h.Root(), plain("f", func(c *Context) error {
		return c.OnUndo("u", func(context.Context) error {
			_, err := c.Load(plain("child", func(*Context) error { t.Error("ran"); return nil }), nil)
			wantErr(t, err, ErrInactive)
			wantErr(t, tick.On(c, func(context.Context, int) error { t.Error("heard"); return nil }), ErrInactive)
			return nil
		})
	}))
	must(t, f.Dispose(t.Context()))
	must(t, tick.Emit(h.Root(), 1))
}

func TestRule15_L11_AStartInProgressIsWaitedForAndUndoneOnTheSpot(t *testing.T) {
	h := newHost(t)
	var j journal
	began, let := make(chan struct{}), make(chan struct{})
	result := make(chan error, 1)
	f := load(t, h.Root(), plain("f", func(c *Context) error {
		go func() {
			_, err := c.Effect("slow", func(c *Context) (func(context.Context) error, error) {
				close(began)
				<-let
				return j.on("undone"), nil
			})
			result <- err
		}()
		return nil
	}))
	<-began
	disposed := make(chan error)
	go func() { disposed <- f.Dispose(context.Background()) }()
	for f.State() != Unloading {
	}
	close(let)
	wantErr(t, <-result, ErrInactive)
	must(t, <-disposed)
	j.want(t, "undone")
}

func TestRule15_L11_EffectsAtTheInstantOfDisposeLeaveNothing(t *testing.T) {
	h := newHost(t)
	var live sync.Map
	for i := range 1000 {
		var ctx *Context
		f := load(t, h.Root(), plain("f", func(c *Context) error { ctx = c; return nil }))
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = ctx.Effect("e", func(*Context) (func(context.Context) error, error) {
				live.Store(i, true)
				return func(context.Context) error { live.Delete(i); return nil }, nil
			})
		}()
		must(t, f.Dispose(t.Context()))
		<-done
	}
	live.Range(func(k, _ any) bool { t.Errorf("effect %v is left", k); return true })
}

func TestL46_WhatALateApplyRegisteredIsUndoneOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		var j journal
		f, err := h.Root().Load(plain("slow", func(c *Context) error {
			must(t, c.OnUndo("early", j.on("early")))
			time.Sleep(time.Minute)
			return c.OnUndo("late", j.on("late"))
		}), nil)
		must(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		wantErr(t, f.Ready(ctx), context.DeadlineExceeded)
		must(t, f.Dispose(t.Context()))
		j.want(t, "late", "early")
	})
}
