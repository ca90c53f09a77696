package core

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
)

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

func TestRule12_AFailedFiberWaitsForWhatItLacksWhenItIsTriedAgain(t *testing.T) {
	h := newHost(t)
	fails := true
	stop, err := number.ProvideUntil(h.Root(), 1)
	must(t, err)
	f := load(t, h.Root(), plain("f", func(*Context) error {
		if fails {
			return errors.New("not yet")
		}
		return nil
	}, number))
	must(t, stop(t.Context()))
	wantState(t, f, Failed)
	fails = false
	must(t, f.Restart(t.Context()))
	wantState(t, f, Pending)
	must(t, number.Provide(h.Root(), 1)) // equal to the one that it failed with
	must(t, f.Ready(t.Context()))
}
