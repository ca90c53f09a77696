package core

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
)

var (
	text = NewService[string]("text")
	tick = NewEvent[int]("tick")
)

type level struct {
	N int `json:"n,omitempty"`
}

// gated is a plugin whose Apply says that it began and waits to be let go.
type gated struct {
	began chan int
	let   chan struct{}
	j     journal
	obey  bool // return when cancelled
}

func newGated() *gated { return &gated{began: make(chan int, 10), let: make(chan struct{})} }

func (g *gated) plugin(needs ...Need) Plugin[level] {
	return Plugin[level]{Name: "gated", Needs: needs, Apply: func(c *Context, cfg level) error {
		g.j.add("apply %d", cfg.N)
		must(nil2{}, c.OnUndo("x", g.j.on(fmt.Sprintf("undo %d", cfg.N))))
		g.began <- cfg.N
		if g.obey {
			select {
			case <-g.let:
			case <-c.Done():
				return context.Cause(c)
			}
			return nil
		}
		<-g.let
		return nil
	}}
}

// nil2 is for must in places without a test at hand.
type nil2 struct{ testing.TB }

func (nil2) Helper() {}

func (nil2) Fatal(v ...any) { panic(fmt.Sprint(v...)) }

func TestRule5_LoadReturnsAtOnceAndApplyRunsOutsideOfIt(t *testing.T) {
	h := newHost(t)
	g := newGated()
	f, err := Load(h.Root(), g.plugin(), level{1})
	must(t, err)
	<-g.began
	wantState(t, f, Loading)
	close(g.let)
	must(t, f.Ready(t.Context()))

	waiting := load(t, h.Root(), plain("waiting", nil, number))
	wantState(t, waiting, Pending)
	must(t, waiting.Wait(t.Context()), waiting.Err())
}

func TestRule6_UidsIncreaseAndEachChangeIsOneEvent(t *testing.T) {
	h := newHost(t)
	var j journal
	j.states(t, h)
	a := load(t, h.Root(), plain("a", nil))
	b := load(t, h.Root(), plain("b", func(*Context) error { return errors.New("no") }))
	must(t, a.Restart(t.Context()), a.Dispose(t.Context()), b.Dispose(t.Context()))
	c := load(t, h.Root(), plain("c", nil))
	if !(0 < a.UID() && a.UID() < b.UID() && b.UID() < c.UID()) {
		t.Errorf("uids %d %d %d", a.UID(), b.UID(), c.UID())
	}
	j.want(t,
		"a: pending -> loading", "a: loading -> active",
		"b: pending -> loading", "b: loading -> unloading", "b: unloading -> failed",
		"a: active -> unloading", "a: unloading -> pending", "a: pending -> loading", "a: loading -> active",
		"a: active -> unloading", "a: unloading -> disposed",
		"b: failed -> disposed",
		"c: pending -> loading", "c: loading -> active")
}

func TestRule6_TheEventIsDeliveredBeforeTheNextStep(t *testing.T) {
	h := newHost(t)
	var j journal
	must(t, FiberStateChanged.On(h.Root(), func(_ context.Context, e FiberStateEvent) error {
		j.add("%v", e.New)
		return nil
	}))
	f := load(t, h.Root(), plain("a", func(c *Context) error {
		j.add("apply")
		return c.OnUndo("x", j.on("undo"))
	}))
	must(t, f.Dispose(t.Context()))
	j.want(t, "loading", "apply", "active", "unloading", "undo", "disposed")
}

func TestRule7_WaitAndReady(t *testing.T) {
	h := newHost(t)
	bad := errors.New("bad")
	failed := load(t, h.Root(), plain("failed", func(*Context) error { return bad }))
	wantErr(t, failed.Wait(t.Context()), bad)
	wantErr(t, failed.Ready(t.Context()), bad)

	g := newGated()
	parent := load(t, h.Root(), plain("parent", func(c *Context) error {
		_, err := Load(c, g.plugin(), level{1})
		return err
	}))
	must(t, parent.Wait(t.Context()))
	<-g.began
	wantState(t, parent.Children()[0], Loading)
	close(g.let)

	waiting := load(t, h.Root(), plain("waiting", nil, number))
	ready := make(chan error)
	go func() { ready <- waiting.Ready(context.Background()) }()
	must(t, number.Provide(h.Root(), 1))
	must(t, <-ready)
	must(t, waiting.Dispose(t.Context()))
	wantErr(t, waiting.Wait(t.Context()), ErrDisposed)
	wantErr(t, waiting.Ready(t.Context()), ErrDisposed)
}

func TestRule9_StepsOfAFiberNeverOverlap(t *testing.T) {
	h := newHost(t)
	var mu sync.Mutex
	inside := func() func() {
		if !mu.TryLock() {
			t.Error("two steps at a time")
			return func() {}
		}
		return mu.Unlock
	}
	p := Plugin[level]{Name: "p",
		Apply: func(c *Context, cfg level) error {
			defer inside()()
			return c.OnUndo("x", func(context.Context) error { defer inside()(); return nil })
		},
		Reconfigure: func(_ *Context, _, cfg level) (bool, error) {
			defer inside()()
			return cfg.N%2 == 0, nil
		},
	}
	f, err := Load(h.Root(), p, level{})
	must(t, err)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := range 25 {
				if (i+n)%3 == 0 {
					_ = f.Restart(t.Context())
				} else {
					_ = Update(t.Context(), f, level{n})
				}
			}
		})
	}
	wg.Wait()
	must(t, f.Ready(t.Context()))
}

func TestRule16_UndeclaredProvidesAndCyclesAreErrors(t *testing.T) {
	h := newHost(t)
	p := plain("p", func(c *Context) error {
		wantErr(t, text.Provide(c, ""), ErrUndeclared)
		return number.Provide(c, 1)
	})
	p.Provides = Provides(number)
	f := load(t, h.Root(), p)
	wantState(t, f, Active)
	must(t, f.Dispose(t.Context()))

	a := plain("a", nil, number)
	a.Provides = Provides(text)
	b := plain("b", nil, text)
	b.Provides = Provides(number)
	outside := plain("outside", nil, text)
	fa, fb, fo := load(t, h.Root(), a), load(t, h.Root(), b), load(t, h.Root(), outside)
	for _, f := range []*Fiber{fa, fb} {
		var cycle *CycleError
		if err := f.Wait(t.Context()); !errors.As(err, &cycle) {
			t.Fatalf("%s: error is %v", f, err)
		}
		wantState(t, f, Pending)
		contains(t, cycle.Error(), "root/a", "root/b", "number", "text")
		if !errors.As(f.Err(), &cycle) || !errors.As(f.Ready(t.Context()), &cycle) {
			t.Error("Err and Ready do not say it")
		}
	}
	must(t, fo.Wait(t.Context()))
	must(t, fb.Dispose(t.Context()), fa.Wait(t.Context()))

	alone := plain("alone", nil, number)
	alone.Provides = Provides(number)
	var cycle *CycleError
	if f := load(t, h.Root(), alone); !errors.As(f.Err(), &cycle) || len(cycle.Fibers) != 1 {
		t.Errorf("error is %v", f.Err())
	}
}
