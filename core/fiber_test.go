package core

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
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

func (nil2) Helper()        {}
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

func TestRule8_AFailedApplyIsLoggedOnceAndUndone(t *testing.T) {
	var log strings.Builder
	h := New(&Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	var j journal
	sibling := load(t, h.Root(), plain("sibling", nil))
	for _, how := range []string{"fails", "panics"} {
		f := load(t, h.Root(), plain("p-"+how, func(c *Context) error {
			must(t, c.OnUndo("1", j.on("1")), c.OnUndo("2", j.on("2")))
			load(t, c, plain("child", func(c *Context) error { return c.OnUndo("c", j.on("child")) }))
			if how == "panics" {
				panic("boom")
			}
			return errors.New("boom")
		}))
		wantState(t, f, Failed)
		contains(t, f.Err().Error(), "boom")
		if len(f.Effects()) != 0 {
			t.Errorf("left are %v", f.Effects())
		}
		var p *PanicError
		if how == "panics" && (!errors.As(f.Err(), &p) || p.Fiber != "root/p-panics" || len(p.Stack) == 0) {
			t.Errorf("error is %#v", f.Err())
		}
		if n := strings.Count(log.String(), "plugin=p-"+how); n != 1 {
			t.Errorf("logged %d times:\n%s", n, log.String())
		}
	}
	j.want(t, "child", "2", "1", "child", "2", "1")
	wantState(t, sibling, Active)
	wantState(t, h.Root().Fiber(), Active)
	must(t, h.Close(t.Context()))
}

func TestRule8_AnApplyThatEndsItsGoroutineFails(t *testing.T) {
	h := newHost(t)
	var fake testing.T
	f, err := h.Root().Load(plain("p", func(*Context) error { fake.FailNow(); return nil }), nil)
	must(t, err)
	wantErr(t, f.Wait(t.Context()), errGoexit)
	wantState(t, f, Failed)
}

func TestRule22_AStartThatEndsItsGoroutineFails(t *testing.T) {
	h := newHost(t)
	var j journal
	var fake testing.T
	f, err := h.Root().Load(plain("p", func(c *Context) error {
		_, err := c.Effect("e", func(c *Context) (func(context.Context) error, error) {
			must(t, c.OnUndo("inner", j.on("inner")))
			fake.FailNow()
			return nil, nil
		})
		return err
	}), nil)
	must(t, err)
	within(t, func() { wantErr(t, f.Wait(t.Context()), errGoexit) })
	j.want(t, "inner")
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

func TestRule10_L4_UpdateWhileLoadingAppliesTheNewestConfig(t *testing.T) {
	h := newHost(t)
	g := newGated()
	f, err := Load(h.Root(), g.plugin(), level{1})
	must(t, err)
	<-g.began
	done := make(chan error)
	go func() { done <- Update(context.Background(), f, level{2}) }()
	for f.Config() != any(level{2}) {
	}
	var states journal
	states.states(t, h)
	close(g.let)
	must(t, <-done)
	states.want(t, "gated: loading -> unloading", "gated: unloading -> pending",
		"gated: pending -> loading", "gated: loading -> active")
	g.j.want(t, "apply 1", "undo 1", "apply 2")
	if f.Config() != any(level{2}) {
		t.Errorf("config is %v", f.Config())
	}
}

func TestRule10_OfManyUpdatesTheLastWins(t *testing.T) {
	h := newHost(t)
	g := newGated()
	g.obey = true
	f, err := Load(h.Root(), g.plugin(), level{0})
	must(t, err)
	<-g.began
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for n := 1; n <= 20; n++ {
		var stuck *StuckError
		if err := Update(cancelled, f, level{n}); !errors.As(err, &stuck) && err != nil {
			t.Fatal(err)
		}
	}
	close(g.let)
	must(t, f.Wait(t.Context()))
	lines := g.j.get()
	if last := lines[len(lines)-1]; last != "apply 20" {
		t.Errorf("last is %q", last)
	}
}

func TestRule10_L16_UpdateByState(t *testing.T) {
	h := newHost(t)
	var j journal
	p := Plugin[level]{Name: "p", Needs: Needs(number), Apply: func(_ *Context, cfg level) error {
		j.add("apply %d", cfg.N)
		if cfg.N < 0 {
			return errors.New("negative")
		}
		return nil
	}}
	f, err := Load(h.Root(), p, level{1})
	must(t, err)
	must(t, Update(t.Context(), f, level{2})) // Pending: stored
	j.want(t)
	must(t, number.Provide(h.Root(), 1))
	must(t, f.Ready(t.Context()))
	must(t, Update(t.Context(), f, level{2})) // equal: restarts
	if err := Update(t.Context(), f, level{-1}); err == nil {
		t.Error("no error")
	}
	wantState(t, f, Failed)
	must(t, f.Update(t.Context(), json.RawMessage(`{"n":3}`))) // Failed: tries again
	wantState(t, f, Active)
	must(t, f.Err())
	must(t, f.Dispose(t.Context()))
	wantErr(t, Update(t.Context(), f, level{4}), ErrDisposed)
	wantErr(t, f.Restart(t.Context()), ErrDisposed)
	j.want(t, "apply 2", "apply 2", "apply -1", "apply 3")
}

func TestRule11_ARequiredServiceLostWhileLoading(t *testing.T) {
	h := newHost(t)
	var j journal
	j.states(t, h)
	stop, err := number.ProvideUntil(h.Root(), 1)
	must(t, err)
	cause := make(chan error, 2)
	begun := make(chan struct{}, 2)
	f, err := h.Root().Load(plain("f", func(c *Context) error {
		n, _ := number.Get(c)
		j.add("got %d", n)
		begun <- struct{}{}
		if n == 2 {
			return nil
		}
		<-c.Done()
		cause <- context.Cause(c)
		return errors.New("dropped")
	}, number), nil)
	must(t, err)
	<-begun
	must(t, stop(t.Context()))
	wantErr(t, <-cause, ErrUnloaded)
	must(t, f.Wait(t.Context()))
	wantState(t, f, Pending)
	must(t, number.Provide(h.Root(), 2))
	must(t, f.Ready(t.Context()))
	j.want(t, "f: pending -> loading", "got 1", "f: loading -> unloading", "f: unloading -> pending",
		"f: pending -> loading", "got 2", "f: loading -> active")
}

func TestRule12_AFailedFiberIsLeftAloneOtherwise(t *testing.T) {
	h := newHost(t)
	tries := 0
	must(t, number.Provide(h.Root(), 1))
	f := load(t, h.Root(), plain("f", func(*Context) error { tries++; return errors.New("no") },
		number, text.Optional()))
	must(t, text.Provide(h.Root(), ""))
	load(t, h.Root(), plain("other", nil))
	h.mu.Lock()
	h.kick(f)
	h.mu.Unlock()
	_ = f.Wait(t.Context())
	if tries != 1 {
		t.Errorf("tried %d times", tries)
	}
}

func TestRule12_AFailedFiberIsTriedAgain(t *testing.T) {
	h := newHost(t)
	fails := true
	tries := 0
	stop, err := number.ProvideUntil(h.Root(), 1)
	must(t, err)
	f := load(t, h.Root(), plain("f", func(*Context) error {
		tries++
		if fails {
			return errors.New("not yet")
		}
		return nil
	}, number, text.Optional()))
	uid := f.UID()
	must(t, text.Provide(h.Root(), "unrelated"))
	must(t, stop(t.Context()))
	wantState(t, f, Failed)
	fails = false
	must(t, number.Provide(h.Root(), 2)) // another provision
	must(t, f.Wait(t.Context()), f.Err())
	wantState(t, f, Active)
	fails = true
	if f.Restart(t.Context()) == nil {
		t.Error("restart did not fail")
	}
	fails = false
	must(t, f.Restart(t.Context()), f.Err())
	if tries != 4 || f.UID() != uid {
		t.Errorf("%d tries, uid %d, was %d", tries, f.UID(), uid)
	}
}

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

func TestRule14_DisposeOfItselfAncestorAndSibling(t *testing.T) {
	type world struct {
		h                          *Host
		grandparent, parent, other *Fiber
	}
	targets := map[string]func(w *world, self *Fiber) (*Fiber, error){
		"itself":      func(w *world, self *Fiber) (*Fiber, error) { return self, ErrSelfWait },
		"an ancestor": func(w *world, _ *Fiber) (*Fiber, error) { return w.grandparent, ErrSelfWait },
		"a sibling":   func(w *world, _ *Fiber) (*Fiber, error) { return w.other, nil },
	}
	for name, pick := range targets {
		for _, where := range []string{"apply", "listener", "undo", "goroutine", "context"} {
			t.Run(name+" from "+where, func(t *testing.T) {
				w := &world{h: newHost(t)}
				result := make(chan error, 1)
				var want error
				var victim *Fiber
				w.other = load(t, w.h.Root(), plain("other", nil))
				self := plain("self", func(c *Context) error {
					dispose := func(ctx context.Context) error {
						victim, want = pick(w, c.Fiber())
						result <- victim.Dispose(ctx)
						return nil
					}
					switch where {
					case "apply", "context":
						return dispose(c)
					case "listener":
						return tick.On(c, func(ctx context.Context, _ int) error { return dispose(ctx) })
					case "undo":
						return c.OnUndo("u", dispose)
					}
					return c.Go("g", dispose)
				})
				ready := make(chan struct{})
				var fs *Fiber
				w.grandparent = load(t, w.h.Root(), plain("grandparent", func(c *Context) error {
					var err error
					w.parent, err = c.Load(plain("parent", func(c *Context) error {
						<-ready
						var err error
						fs, err = c.Load(self, nil)
						return err
					}), nil)
					return err
				}))
				close(ready)
				_ = w.parent.Wait(t.Context())
				_ = fs.Wait(t.Context())
				if where == "listener" {
					must(t, tick.Emit(w.h.Root(), 1))
				}
				if where == "undo" {
					_ = fs.Dispose(t.Context())
				}
				wantErr(t, <-result, want)
				if want == nil {
					wantState(t, victim, Disposed)
				}
				<-victim.Done()
			})
		}
	}
}

func TestRule14_OfAMutualPairTheLaterCallerGetsTheError(t *testing.T) {
	h := newHost(t)
	var fa, fb *Fiber
	fa = load(t, h.Root(), plain("a", func(c *Context) error {
		return tick.On(c, func(ctx context.Context, n int) error {
			if n == 1 {
				return fb.Dispose(ctx)
			}
			return nil
		})
	}))
	inUndo := make(chan struct{})
	var later error
	fb = load(t, h.Root(), plain("b", func(c *Context) error {
		return c.OnUndo("u", func(ctx context.Context) error {
			close(inUndo)
			later = fa.Dispose(ctx)
			return nil
		})
	}))
	within(t, func() { must(t, tick.Emit(h.Root(), 1)) })
	<-inUndo
	wantErr(t, later, ErrSelfWait)
	<-fa.Done()
	<-fb.Done()
}

func TestRule14_ACircleOfThree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		var fs [3]*Fiber
		let := make(chan struct{})
		var last error
		for i := range 2 {
			fs[i] = load(t, h.Root(), plain(fmt.Sprint("f", i), func(c *Context) error {
				return tick.On(c, func(ctx context.Context, n int) error {
					if n != i {
						return nil
					}
					return fs[i+1].Dispose(ctx)
				})
			}))
		}
		fs[2] = load(t, h.Root(), plain("f2", func(c *Context) error {
			return c.OnUndo("u", func(ctx context.Context) error {
				<-let
				last = fs[0].Dispose(ctx)
				return nil
			})
		}))
		for _, n := range []int{1, 0} { // the second edge first
			go func() { _ = tick.Emit(h.Root(), n) }()
			synctest.Wait()
		}
		close(let)
		for _, f := range fs {
			<-f.Done()
		}
		wantErr(t, last, ErrSelfWait)
	})
}

func TestRule14_WaitingForAProviderThatOneIsBoundTo(t *testing.T) {
	h := newHost(t)
	provider := load(t, h.Root(), plain("provider", func(c *Context) error { return number.Provide(c, 1) }))
	result := make(chan error, 1)
	user := load(t, h.Root(), plain("user", func(c *Context) error {
		return tick.On(c, func(ctx context.Context, _ int) error {
			result <- provider.Dispose(ctx)
			return nil
		})
	}, number))
	within(t, func() { must(t, tick.Emit(h.Root(), 1)) })
	wantErr(t, <-result, ErrSelfWait)
	<-provider.Done()
	must(t, user.Wait(t.Context()))
	wantState(t, user, Pending)
}

func TestRule14_AWaitThatBecomesACircleLaterEnds(t *testing.T) {
	h := newHost(t)
	waiting := make(chan struct{})
	result := make(chan error, 1)
	var user, slow *Fiber
	begun, let := make(chan struct{}), make(chan struct{})
	user = load(t, h.Root(), plain("user", func(c *Context) error {
		return tick.On(c, func(ctx context.Context, n int) error {
			close(waiting)
			err := slow.Wait(ctx) // slow is loading: no circle yet
			result <- err
			return err
		})
	}))
	slow, err := h.Root().Load(plain("slow", func(c *Context) error {
		close(begun)
		<-let
		return user.Dispose(c) // now there is
	}), nil)
	must(t, err)
	<-begun
	go func() { _ = tick.Emit(h.Root(), 1) }()
	<-waiting
	until(t, h, func() bool { return len(h.waits) > 0 })
	close(let)
	within(t, func() { wantErr(t, slow.Wait(t.Context()), ErrSelfWait) })
	<-result
	<-user.Done()
}

func TestRule14_AWaitThatATeardownTurnsIntoACircleEnds(t *testing.T) {
	h := newHost(t)
	result := make(chan error, 1)
	var user *Fiber
	let := make(chan struct{})
	begun := make(chan struct{}, 2)
	user, err := Load(h.Root(), Plugin[level]{Name: "user",
		Apply: func(c *Context, cfg level) error {
			if cfg.N == 0 {
				must(t, tick.On(c, func(ctx context.Context, n int) error {
					result <- user.Wait(ctx)
					return nil
				}))
			}
			begun <- struct{}{}
			<-let
			return nil
		},
	}, level{})
	must(t, err)
	<-begun
	go func() { _ = tick.Emit(h.Root(), 1) }()
	until(t, h, func() bool { return len(h.waits) > 0 })
	disposed := make(chan error)
	go func() { disposed <- user.Dispose(context.Background()) }()
	until(t, h, func() bool { return !user.mounted }) // else Apply may end first, and with it the wait
	close(let)
	within(t, func() { wantErr(t, <-result, ErrSelfWait); must(t, <-disposed) })
}

// until waits for something that nothing tells of. The host's lock is held
// while cond is asked.
func until(t testing.TB, h *Host, cond func() bool) {
	t.Helper()
	within(t, func() {
		for {
			h.mu.Lock()
			ok := cond()
			h.mu.Unlock()
			if ok {
				return
			}
			runtime.Gosched()
		}
	})
}

func TestRule14_AnApplyThatWaitsForTheChildThatWaitsForItsService(t *testing.T) {
	h := newHost(t)
	result := make(chan error, 1)
	p := plain("p", func(c *Context) error {
		child, err := c.Load(plain("child", nil, number), nil)
		must(t, err)
		result <- child.Ready(c)
		return number.Provide(c, 1)
	})
	p.Provides = Provides(number)
	var f *Fiber
	within(t, func() { f = load(t, h.Root(), p) })
	wantErr(t, <-result, ErrSelfWait)
	must(t, f.Children()[0].Ready(t.Context()))
}

func TestRule14_TheWatchdogNamesWhatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &lockedBuilder{}
		h := New(&Options{Logger: slog.New(slog.NewTextHandler(log, nil)), Watchdog: time.Minute})
		g := newGated()
		f, err := Load(h.Root(), g.plugin(), level{})
		must(t, err)
		time.Sleep(90 * time.Second)
		contains(t, log.String(), "fiber=root/gated", "in=apply")
		close(g.let)
		must(t, f.Ready(t.Context()))
		let := make(chan struct{})
		u := load(t, h.Root(), plain("u", func(c *Context) error {
			return c.OnUndo("flush", func(context.Context) error { <-let; return nil })
		}))
		go func() { _ = u.Dispose(context.Background()) }()
		time.Sleep(90 * time.Second)
		contains(t, log.String(), "fiber=root/u", `undo of effect \"flush\"`)
		close(let)
		must(t, h.Close(t.Context()))
	})
}

// lockedBuilder is a strings.Builder for many goroutines.
type lockedBuilder struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lockedBuilder) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuilder) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
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

func TestRule17_InvalidConfigNeverReachesApply(t *testing.T) {
	h := newHost(t)
	applied := 0
	p := Plugin[level]{Name: "p",
		Apply: func(*Context, level) error { applied++; return nil },
		Validate: func(cfg level) error {
			if cfg.N > 9 {
				return errors.Join(errors.New("n: too large"), errors.New("n: too odd"))
			}
			return nil
		}}
	f, err := h.Root().Load(p, json.RawMessage(`{"n":"x","m":1}`))
	must(t, err)
	var bad *ConfigError
	if err := f.Wait(t.Context()); !errors.As(err, &bad) || len(bad.Issues) != 2 {
		t.Fatalf("error is %v", err)
	}
	contains(t, bad.Error(), "config of p", "n", "m")
	wantState(t, f, Failed)
	if err := f.Restart(t.Context()); !errors.As(err, &bad) {
		t.Errorf("error is %v", err)
	}
	must(t, f.Update(t.Context(), json.RawMessage(`{"n":3}`)))
	wantState(t, f, Active)
	for _, raw := range []string{`{"n":11}`, `{"n":`, `{"x":1}`, `[]`} {
		if err := f.Update(t.Context(), json.RawMessage(raw)); !errors.As(err, &bad) {
			t.Errorf("%s: error is %v", raw, err)
		}
	}
	if err := Update(t.Context(), f, level{11}); !errors.As(err, &bad) || len(bad.Issues) != 2 {
		t.Errorf("error is %v", err)
	}
	if err := Update(t.Context(), f, "other type"); !errors.As(err, &bad) {
		t.Errorf("error is %v", err)
	}
	wantState(t, f, Active)
	if applied != 1 || f.Config() != any(level{3}) {
		t.Errorf("applied %d times, config %v", applied, f.Config())
	}
}

func TestRule18_Reconfigure(t *testing.T) {
	no := errors.New("no")
	for _, test := range []struct {
		name     string
		accepted bool
		err      error
		panics   bool
		want     []string
		config   int
		failed   error
		effects  int
	}{
		{"accepted", true, nil, false, []string{"apply 1", "reconfigure 1 2"}, 2, nil, 2},
		{"declined", false, nil, false, []string{"apply 1", "reconfigure 1 2", "undo r", "undo", "apply 2"}, 2, nil, 1},
		{"refused", false, no, false, []string{"apply 1", "reconfigure 1 2", "undo r"}, 1, no, 1},
		{"panics", false, nil, true, []string{"apply 1", "reconfigure 1 2", "undo r", "undo", "apply 2"}, 2, nil, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := newHost(t)
			var j journal
			var states journal
			var kept *Context
			f, err := Load(h.Root(), Plugin[level]{Name: "p",
				Apply: func(c *Context, cfg level) error {
					j.add("apply %d", cfg.N)
					return c.OnUndo("a", j.on("undo"))
				},
				Reconfigure: func(c *Context, old, new level) (bool, error) {
					wantState(t, c.Fiber(), Active)
					j.add("reconfigure %d %d", old.N, new.N)
					must(t, c.OnUndo("r", j.on("undo r")))
					kept = c
					if test.panics {
						panic("boom")
					}
					return test.accepted, test.err
				},
			}, level{1})
			must(t, err, f.Ready(t.Context()))
			states.states(t, h)
			err = Update(t.Context(), f, level{2})
			if test.failed == nil {
				must(t, err)
			} else {
				wantErr(t, err, test.failed)
			}
			wantState(t, f, Active)
			j.want(t, test.want...)
			if f.Config() != any(level{test.config}) {
				t.Errorf("config is %v", f.Config())
			}
			if n := len(f.Effects()); n != test.effects {
				t.Errorf("effects are %v", f.Effects())
			}
			if test.accepted {
				states.want(t)
				must(t, kept.OnUndo("later", j.on("later")))
				must(t, f.Dispose(t.Context()))
				j.want(t, append(test.want, "later", "undo r", "undo")...)
			} else {
				wantErr(t, kept.OnUndo("later", nil), ErrInactive)
			}
		})
	}
}

func TestRule18_L7_EachUpdateIsOneCall(t *testing.T) {
	h := newHost(t)
	calls := 0
	f, err := Load(h.Root(), Plugin[level]{Name: "p", Reconfigure: func(*Context, level, level) (bool, error) {
		calls++
		return true, nil
	}}, level{})
	must(t, err, f.Ready(t.Context()))
	for n := range 3 {
		must(t, Update(t.Context(), f, level{n}))
	}
	if calls != 3 || len(f.Effects()) != 0 {
		t.Errorf("%d calls, effects %v", calls, f.Effects())
	}
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
