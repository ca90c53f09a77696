package core

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

var number = NewService[int]("number")

// provides is a plugin that provides n.
func provides(name string, n int) Plugin[struct{}] {
	return plain(name, func(c *Context) error { return number.Provide(c, n) })
}

func TestRule26_CallsEndBeforeTheActivationIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		inside, let := make(chan struct{}, 3), make(chan struct{})
		var c *Context
		call := func(kind string) error {
			inside <- struct{}{}
			<-let
			if c.Err() != nil {
				t.Errorf("the activation was cancelled during a call of a %s", kind)
			}
			return nil
		}
		f := load(t, h.Root(), plain("f", func(own *Context) error {
			c = own
			tool := says("x", "ran")
			tool.Run = func(context.Context, *Invocation) (Result, error) { return Result{}, call("tool") }
			mustDefine(t, c, tool)
			return errors.Join(number.Provide(c, 1),
				tick.On(c, func(context.Context, int) error { return call("listener") }))
		}))
		user := &load(t, h.Root(), plain("user", nil, number.Optional())).act.scope
		go func() { _ = tick.Emit(h.Root(), 1) }()
		go func() { _ = number.Use(user, h.Root(), func(context.Context, int) error { return call("lease") }) }()
		go func() { run(t, h.Root(), "x", "") }()
		for range 3 {
			<-inside
		}
		go func() { _ = f.Dispose(context.Background()) }()
		synctest.Wait()
		wantState(t, f, Unloading)
		close(let)
		<-f.Done()
		wantErr(t, context.Cause(c), ErrDisposed)
	})
}

func TestRule26_ConsumersUnloadBeforeAnythingOfTheirProviderIsUndone(t *testing.T) {
	h := newHost(t)
	var j journal
	a := load(t, h.Root(), plain("a", func(c *Context) error {
		must(t, c.OnUndo("first", j.on("undo a")), number.Provide(c, 7),
			c.Go("g", func(ctx context.Context) error { <-ctx.Done(); j.add("goroutine of a"); return nil }))
		load(t, c, plain("inner", func(c *Context) error {
			_, ok := number.Get(c)
			j.add("inner got %v", ok)
			return c.OnUndo("x", j.on("undo inner"))
		}, number))
		return nil
	}))
	use := func(c *Context) error {
		n, ok := number.Get(c)
		j.add("%s got %d %v", c.Fiber().Name(), n, ok)
		return c.OnUndo("x", func(context.Context) error {
			if n, ok := number.Get(c); n != 7 || !ok || a.act.ctx.Err() != nil {
				t.Errorf("%s lost its service before its own unload ended", c)
			}
			j.add("undo %s", c.Fiber().Name())
			return nil
		})
	}
	b := load(t, h.Root(), plain("b", use, number))
	load(t, h.Root(), plain("c", use, number))
	must(t, a.Dispose(t.Context()))
	j.want(t, "inner got true", "b got 7 true", "c got 7 true",
		"undo c", "undo b", "undo inner", "goroutine of a", "undo a")
	wantState(t, b, Pending)
}

func TestRule26_TheLastActivatedConsumerOfAnyOfTheServicesGoesFirst(t *testing.T) {
	h := newHost(t)
	var j journal
	p := load(t, h.Root(), plain("p", func(c *Context) error {
		return errors.Join(number.Provide(c, 1), text.Provide(c, ""))
	}))
	for name, need := range map[string]Need{"a": number, "b": text, "c": number, "d": text} {
		load(t, h.Root(), plain(name, func(c *Context) error {
			j.add("%s", name)
			return c.OnUndo("x", j.on(name))
		}, need))
	}
	must(t, p.Dispose(t.Context()))
	got := j.get()
	for i := range 4 {
		if got[i] != got[7-i] {
			t.Fatalf("loads and unloads are %v", got)
		}
	}
}

func TestRule26_EndingOneProvideGoesConsumersFirstThenLeases(t *testing.T) {
	h := newHost(t)
	var j journal
	var stop func(context.Context) error
	provider := load(t, h.Root(), plain("p", func(c *Context) (err error) {
		stop, err = number.ProvideUntil(c, 1)
		return err
	}))
	user := load(t, h.Root(), plain("user", func(c *Context) error {
		lease, ok := number.Acquire(c)
		return errors.Join(c.OnUndo("x", func(context.Context) error {
			j.add("user %v", ok)
			lease.Release()
			return nil
		}))
	}, number))
	must(t, stop(t.Context()))
	j.want(t, "user true")
	wantState(t, provider, Active)
	wantState(t, user, Pending)
}

func TestRule27_AConsumerIsGoneBeforeItsProviderIsUndone(t *testing.T) {
	h := newHost(t)
	sink := NewService[func(string)]("log sink")
	open := false
	var lines int
	p := load(t, h.Root(), plain("sink", func(c *Context) error {
		open = true
		return errors.Join(c.OnDispose(func() error { open = false; return nil }),
			sink.Provide(c, func(string) {
				lines++
				if !open {
					t.Error("written to after close")
				}
			}))
	}))
	for i := range 3 {
		load(t, h.Root(), plain(fmt.Sprint("user", i), func(c *Context) error {
			write, _ := sink.Get(c)
			return errors.Join(
				c.OnDispose(func() error { write("last words"); return nil }),
				c.Go("g", func(ctx context.Context) error { <-ctx.Done(); write("goroutine"); return nil }))
		}, sink))
	}
	must(t, p.Restart(t.Context()), p.Dispose(t.Context()))
	if lines < 6 {
		t.Errorf("%d lines", lines)
	}
}

func TestRule28_L12_ASecondProviderIsAnErrorNamingTheFirst(t *testing.T) {
	h := newHost(t)
	first := load(t, h.Root(), provides("first", 1))
	second := load(t, h.Root(), provides("second", 2))
	var conflict *ConflictError
	if err := second.Err(); !errors.As(err, &conflict) {
		t.Fatalf("error is %v", err)
	}
	contains(t, conflict.Error(), "number", "root/first", "root/second")
	user := load(t, h.Root(), plain("user", nil, number))
	wantState(t, user, Active)
	for range 20 {
		must(t, first.Restart(t.Context()))
	}
	must(t, user.Ready(t.Context()))
}

func TestRule29_AvailabilityByState(t *testing.T) {
	h := newHost(t)
	provided, let := make(chan *Context), make(chan struct{})
	f, err := h.Root().Load(plain("p", func(c *Context) error {
		must(t, number.Provide(c, 1))
		provided <- c
		<-let
		return nil
	}), nil)
	must(t, err)
	var optional *Context
	load(t, h.Root(), plain("optional", func(c *Context) error { optional = c; return nil }, number.Optional()))
	other := load(t, h.Root(), plain("other", nil, number))

	c := <-provided // Loading
	if n, ok := number.Get(c); !ok || n != 1 {
		t.Error("the provider does not see its own")
	}
	if child := load(t, c, plain("child", nil, number)); child.State() != Active {
		t.Error("a descendant does not see it from Provide on")
	}
	if _, ok := number.Get(optional); ok {
		t.Error("seen while the provider is loading")
	}
	must(t, other.Wait(t.Context()))
	wantState(t, other, Pending)

	close(let)
	must(t, f.Ready(t.Context()), other.Ready(t.Context()))
	if n, ok := number.Get(optional); !ok || n != 1 {
		t.Error("not seen while active")
	}
	must(t, f.Dispose(t.Context()))
	if _, ok := number.Get(optional); ok {
		t.Error("seen after the end")
	}
	if _, ok := number.Get(c); ok {
		t.Error("seen by the former provider")
	}
}

func TestRule29_AvailableOnlyOnceActiveWasPublished(t *testing.T) {
	h := newHost(t)
	var optional *Context
	load(t, h.Root(), plain("optional", func(c *Context) error { optional = c; return nil }, number.Optional()))
	must(t, FiberStateChanged.On(h.Root(), func(ctx context.Context, e FiberStateEvent) error {
		if _, ok := number.Get(optional); ok && e.Fiber.Name() == "p" {
			t.Errorf("seen before %v was published", e.New)
		}
		return nil
	}))
	p := load(t, h.Root(), provides("p", 1))
	must(t, p.Dispose(t.Context()))
}

func TestRule29_ABoundConsumerSeesItUntilItsOwnUnloadHasEnded(t *testing.T) {
	h := newHost(t)
	must(t, number.Provide(h.Root(), 1))
	var c *Context
	f := load(t, h.Root(), plain("f", func(ctx *Context) error {
		c = ctx
		return c.OnUndo("x", func(context.Context) error {
			if _, ok := number.Get(c); !ok {
				t.Error("lost before the end")
			}
			return nil
		})
	}, number))
	must(t, f.Dispose(t.Context()))
	if _, ok := number.Get(c); ok {
		t.Error("seen after the end")
	}
}

func TestRule29_AProvisionThatEndsBindsNobody(t *testing.T) {
	h := newHost(t)
	stop, err := number.ProvideUntil(h.Root(), 1)
	must(t, err)
	var late *Fiber
	load(t, h.Root(), plain("user", func(c *Context) error {
		return c.OnUndo("x", func(context.Context) (err error) {
			late, err = h.Root().Load(plain("late", nil, number), nil)
			return errors.Join(err, late.Wait(c.Host().Root()))
		})
	}, number))
	must(t, stop(t.Context()))
	wantState(t, late, Pending)
}

func TestRule29_NotAvailableToOthersWhileUnloading(t *testing.T) {
	h := newHost(t)
	var optional *Context
	load(t, h.Root(), plain("optional", func(c *Context) error { optional = c; return nil }, number.Optional()))
	f := load(t, h.Root(), plain("p", func(c *Context) error {
		return errors.Join(number.Provide(c, 1), c.OnUndo("x", func(context.Context) error {
			if _, ok := number.Get(optional); ok {
				t.Error("seen while unloading")
			}
			late := load(t, h.Root(), plain("late", nil, number))
			wantState(t, late, Pending)
			return nil
		}))
	}))
	must(t, f.Dispose(t.Context()))
}

func TestRule30_L14_ConsumersFollowOnceAndUnrelatedFibersSeeNothing(t *testing.T) {
	h := newHost(t)
	p := load(t, h.Root(), provides("p", 1))
	var j journal
	user := load(t, h.Root(), plain("user", func(c *Context) error {
		n, _ := number.Get(c)
		j.add("user %d", n)
		return c.OnUndo("x", j.on("undone"))
	}, number))
	load(t, h.Root(), plain("unrelated", func(c *Context) error { j.add("unrelated"); return nil }, text.Optional().Restarts()))
	must(t, p.Restart(t.Context()), user.Ready(t.Context()))
	must(t, p.Dispose(t.Context()), user.Wait(t.Context()))
	load(t, h.Root(), provides("q", 2))
	must(t, user.Ready(t.Context()))
	j.want(t, "user 1", "unrelated", "undone", "user 1", "undone", "user 2")
}

func TestRule31_OneStartWhenTheLastServiceArrives(t *testing.T) {
	h := newHost(t)
	var j journal
	f := load(t, h.Root(), plain("f", func(*Context) error { j.add("apply"); return nil }, number, text))
	must(t, number.Provide(h.Root(), 1), f.Wait(t.Context()))
	wantState(t, f, Pending)
	must(t, text.Provide(h.Root(), ""), f.Ready(t.Context()))
	j.want(t, "apply")
}

func TestRule31_OptionalNeeds(t *testing.T) {
	h := newHost(t)
	var plainC, restartC *Context
	var j journal
	get := func(c *Context) string { n, ok := number.Get(c); return fmt.Sprint(n, ok) }
	pl := load(t, h.Root(), plain("plain", func(c *Context) error { plainC = c; j.add("plain"); return nil }, number.Optional()))
	re := load(t, h.Root(), plain("restarts", func(c *Context) error {
		restartC = c
		j.add("restarts %s", get(c))
		return c.OnUndo("x", func(context.Context) error { j.add("undo %s", get(c)); return nil })
	}, number.Optional().Restarts()))
	wantState(t, pl, Active)
	p := load(t, h.Root(), provides("p", 1))
	must(t, re.Ready(t.Context()))
	if get(plainC) != "1 true" || get(restartC) != "1 true" {
		t.Errorf("got %s, %s", get(plainC), get(restartC))
	}
	must(t, p.Dispose(t.Context()), re.Ready(t.Context()))
	j.want(t, "plain", "restarts 0 false", "undo 0 false", "restarts 1 true", "undo 1 true", "restarts 0 false")
}

func TestRule31_AServiceThatDependsOnThePluginDoesNotRestartIt(t *testing.T) {
	h := newHost(t)
	var j journal
	a := load(t, h.Root(), plain("a", func(c *Context) error {
		j.add("a")
		return number.Provide(c, 1)
	}, text.Optional().Restarts()))
	b := load(t, h.Root(), plain("b", func(c *Context) error {
		j.add("b")
		return text.Provide(c, "")
	}, number))
	must(t, a.Ready(t.Context()), b.Ready(t.Context()))
	j.want(t, "a", "b")
}

func TestRule31_ADescendantsProvisionNeitherBindsNorTriggers(t *testing.T) {
	h := newHost(t)
	applies := 0
	f := load(t, h.Root(), plain("f", func(c *Context) error {
		applies++
		load(t, c, provides("child", 1))
		if _, ok := number.Get(c); ok {
			t.Error("seen")
		}
		return nil
	}, number.Optional().Restarts()))
	must(t, f.Wait(t.Context()), f.Dispose(t.Context()))
	load(t, h.Root(), plain("g", func(c *Context) error {
		load(t, c, provides("child", 1))
		if _, ok := number.Get(c); ok {
			t.Error("a plain optional sees what a descendant provides")
		}
		return nil
	}, number.Optional()))
	if applies != 1 {
		t.Errorf("applied %d times", applies)
	}
	need := load(t, h.Root(), plain("need", nil, text))
	must(t, text.Provide(h.Root().Isolate(text, ""), "elsewhere"), need.Wait(t.Context()))
	wantState(t, need, Pending)
}

func TestRule32_GetWithoutANeedSeesOnlyAncestors(t *testing.T) {
	h := newHost(t)
	must(t, text.Provide(h.Root(), "root"))
	load(t, h.Root(), provides("p", 1))
	load(t, h.Root(), plain("f", func(c *Context) error {
		if _, ok := number.Get(c); ok {
			t.Error("a sibling's service is seen without a need")
		}
		if s, ok := text.Get(c); !ok || s != "root" {
			t.Error("an ancestor's service is not seen")
		}
		if _, ok := NewService[error]("unknown").Get(c); ok {
			t.Error("seen")
		}
		return nil
	}))
}

func TestRule33_Leases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		grace := h.opts.Grace
		var user *Context
		load(t, h.Root(), plain("user", func(c *Context) error { user = c; return nil }, number.Optional()))

		p := load(t, h.Root(), provides("p", 1))
		lease, ok := number.Acquire(user)
		if !ok || lease.Value() != 1 {
			t.Fatal("no lease")
		}
		start := time.Now()
		go func() { time.Sleep(grace / 2); lease.Release() }()
		must(t, p.Dispose(t.Context()))
		if d := time.Since(start); d != grace/2 {
			t.Errorf("unload took %v", d)
		}
		if _, ok := number.Acquire(user); ok {
			t.Error("a lease of nothing")
		}
		wantErr(t, number.Use(user, user, nil), ErrUnavailable)

		q := load(t, h.Root(), provides("q", 2))
		bad := errors.New("bad")
		go func() {
			err := number.Use(user, user, func(ctx context.Context, n int) error {
				wantErr(t, q.Dispose(ctx), ErrSelfWait)
				<-ctx.Done()
				wantErr(t, context.Cause(ctx), ErrGraceOver)
				return bad
			})
			wantErr(t, err, bad)
		}()
		synctest.Wait()
		start = time.Now()
		must(t, q.Dispose(t.Context()))
		if d := time.Since(start); d != grace {
			t.Errorf("unload took %v", d)
		}

		r := load(t, h.Root(), provides("r", 3))
		lease, _ = number.Acquire(user)
		start = time.Now()
		var lost *AbandonedError
		if err := r.Dispose(t.Context()); !errors.As(err, &lost) {
			t.Errorf("error is %v", err)
		}
		if d := time.Since(start); d != 2*grace || lease.Context().Err() == nil {
			t.Errorf("unload took %v, lease %v", d, lease.Context().Err())
		}
		lease.Release()
	})
}

func TestRule34_Isolation(t *testing.T) {
	h := newHost(t)
	root := h.Root()
	must(t, number.Provide(root, 0), text.Provide(root, "root"))
	a, b := root.Isolate(number, "a"), root.Isolate(number, "b")
	must(t, number.Provide(a, 1), number.Provide(b, 2), number.Provide(root.Isolate(number, ""), 3),
		number.Provide(root.Isolate(number, ""), 4), text.Provide(root.Isolate(text, "a"), "a"))
	for c, want := range map[*Context]int{root: 0, a: 1, b: 2, root.Isolate(number, "a"): 1} {
		if n, ok := number.Get(c); n != want || !ok {
			t.Errorf("got %d %v, want %d", n, ok, want)
		}
		if s, _ := text.Get(c); s != "root" {
			t.Errorf("realms of different handles mix: %q", s)
		}
	}
	if _, ok := number.Get(root.Isolate(number, "")); ok {
		t.Error("a private realm is not empty")
	}
	got := 0
	load(t, a, plain("parent", func(c *Context) error {
		load(t, c, plain("child", func(c *Context) error { got, _ = number.Get(c); return nil }, number))
		return nil
	}))
	if got != 1 {
		t.Errorf("the child of an isolated context got %d", got)
	}
}

func TestRule35_WhatAServiceRegistersForACallerBelongsToTheCaller(t *testing.T) {
	h := newHost(t)
	registrar := NewService[func(c *Context) error]("registrar")
	var j journal
	load(t, h.Root(), plain("p", func(c *Context) error {
		return registrar.Provide(c, func(c *Context) error { return c.OnUndo("x", j.on("undone")) })
	}))
	user := load(t, h.Root(), plain("user", func(c *Context) error {
		register, _ := registrar.Get(c)
		return register(c)
	}, registrar))
	must(t, user.Dispose(t.Context()))
	j.want(t, "undone")
}
