package core

import (
	"context"
	"errors"
	"testing"
)

type valueKey struct{}

func TestRule1_DisposingTheRootDisposesEverythingOnceConsumersFirst(t *testing.T) {
	h := newHost(t)
	root := h.Root().Fiber()
	if root.UID() != 0 || root.State() != Active || root.Plugin().Name != "" || root.Parent() != nil {
		t.Errorf("root is uid %d, %v, plugin %q", root.UID(), root.State(), root.Plugin().Name)
	}
	var j journal
	must(t, h.Root().OnUndo("r", j.on("root")))
	user := load(t, h.Root(), plain("user", func(c *Context) error { return c.OnUndo("u", j.on("user")) }, number))
	load(t, h.Root(), plain("provider", func(c *Context) error {
		load(t, c, plain("child", func(c *Context) error { return c.OnUndo("c", j.on("child")) }))
		return errors.Join(c.OnUndo("p", j.on("provider")), number.Provide(c, 1))
	}))
	must(t, user.Ready(t.Context()))
	must(t, h.Close(t.Context()), h.Close(t.Context()))
	j.want(t, "user", "provider", "child", "root")
	wantState(t, root, Disposed)
	wantErr(t, h.Root().OnUndo("late", nil), ErrInactive)
}

func TestRule2_ADerivedContextSharesItsFiber(t *testing.T) {
	h := newHost(t)
	c := h.Root()
	d := c.Isolate(number, "").WithValue(valueKey{}, 1)
	if d.Fiber() != c.Fiber() {
		t.Error("another fiber")
	}
	must(t, d.OnUndo("mine", nil))
	if got := c.Fiber().Effects(); len(got) != 1 || got[0].Label != "mine" {
		t.Errorf("effects are %v", got)
	}
}

func TestRule2_L9_DisposingAScopeTakesOnlyItsOwnRegistrations(t *testing.T) {
	h := newHost(t)
	var j journal
	f := load(t, h.Root(), plain("p", func(c *Context) error {
		must(t, tick.On(c, func(context.Context, int) error { j.add("outer"); return nil }))
		s, err := c.Isolate(number, "").Scope("s")
		must(t, err,
			tick.On(s.Context, func(context.Context, int) error { j.add("inner"); return nil }),
			s.OnUndo("x", j.on("undo inner")),
			c.OnUndo("y", j.on("undo outer")))
		must(t, tick.Emit(c, 1))
		must(t, s.Dispose(c), s.Dispose(c))
		must(t, tick.Emit(c, 2))
		wantErr(t, s.OnUndo("late", nil), ErrInactive)
		return nil
	}))
	j.want(t, "outer", "inner", "undo inner", "outer")
	must(t, f.Dispose(t.Context()))
	j.want(t, "outer", "inner", "undo inner", "outer", "undo outer")
}

func TestRule3_ALoadDerivesValuesAndRealmsButNoCancellation(t *testing.T) {
	h := newHost(t)
	var child *Context
	var parent *Context
	undone := false
	f := load(t, h.Root(), plain("parent", func(c *Context) error {
		parent = c
		must(t, c.Go("watch", func(ctx context.Context) error {
			<-ctx.Done()
			if err := child.Err(); err != nil {
				t.Errorf("the child was cancelled with its parent, before its own teardown: %v", err)
			}
			return nil
		}))
		s, err := c.Scope("s")
		must(t, err)
		load(t, s.WithValue(valueKey{}, "v"), plain("child", func(c *Context) error {
			child = c
			return c.OnUndo("x", func(context.Context) error {
				undone = true
				if context.Cause(parent) == nil {
					t.Error("the parent is not cancelled yet")
				}
				return nil
			})
		}))
		return nil
	}))
	if got := child.Value(valueKey{}); got != "v" {
		t.Errorf("child sees %v", got)
	}
	if parent.Value(valueKey{}) != nil {
		t.Error("the value went up")
	}
	derived, cancel := context.WithCancel(child)
	defer cancel()
	must(t, f.Dispose(t.Context()))
	if !undone {
		t.Error("child was not undone")
	}
	wantErr(t, context.Cause(derived), ErrDisposed)
	if _, ok := child.Deadline(); ok {
		t.Error("a deadline")
	}
}

func TestRule3_TheCauseSaysWhyAnActivationEnded(t *testing.T) {
	h := newHost(t)
	var c *Context
	provider := plain("provider", func(c *Context) error { return number.Provide(c, 1) })
	p := load(t, h.Root(), provider)
	f := load(t, h.Root(), plain("f", func(own *Context) error { c = own; return nil }, number))
	ended := func(want error, how ...error) {
		t.Helper()
		must(t, how...)
		if !errors.Is(context.Cause(c), want) || c.Err() == nil {
			t.Errorf("cause %v, want %v", context.Cause(c), want)
		}
	}
	first := c
	must(t, f.Restart(t.Context()))
	if c == first || c.Err() != nil {
		t.Errorf("after a restart the context is %v", c.Err())
	}
	c, first = first, c
	ended(ErrReloading)
	c = first
	ended(ErrUnloaded, p.Dispose(t.Context()), f.Wait(t.Context()))
	must(t, load(t, h.Root(), provider).Err(), f.Ready(t.Context()))
	ended(ErrDisposed, f.Dispose(t.Context()))
}

func TestRule4_PrintingShowsThePathOfNames(t *testing.T) {
	h := newHost(t)
	var anonymous, reader *Context
	load(t, h.Root(), plain("group", func(c *Context) error {
		load(t, c, plain("", func(c *Context) error {
			anonymous = c
			load(t, c, plain("agent", func(c *Context) error { reader = c; return nil }), Named("agent:reader"))
			return nil
		}))
		return nil
	}), Named("group:research"))
	for want, c := range map[string]*Context{
		"root": h.Root(), "root/group:research": anonymous,
		"root/group:research/agent:reader": reader,
	} {
		if c.String() != want || c.Fiber().String() != want {
			t.Errorf("context %q, fiber %q, want %q", c, c.Fiber(), want)
		}
	}
	if anonymous.Fiber().Name() != "group:research" {
		t.Errorf("anonymous fiber is called %q", anonymous.Fiber().Name())
	}
}
