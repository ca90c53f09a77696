package core

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

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
