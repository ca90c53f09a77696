package core

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
)

func TestUnloadWaitsForCallsAndNewOnesAreGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		release, begun := make(chan struct{}), make(chan struct{})
		f := tooler(t, h.Root(), "owner", func(c *Context) error {
			slow := says("slow", "")
			slow.Run = func(context.Context, *Invocation) (Result, error) {
				close(begun)
				<-release
				return TextResult("finished"), nil
			}
			mustDefine(t, c, slow)
			return nil
		})
		answer := make(chan Result, 1)
		go func() { answer <- run(t, h.Root(), "slow", "") }()
		<-begun
		disposed := make(chan error, 1)
		go func() { disposed <- f.Dispose(t.Context()) }()
		synctest.Wait()
		r := run(t, h.Root(), "slow", "")
		wantCode(t, r, CodeGone)
		if !errors.Is(r.Err, ErrToolGone) {
			t.Errorf("%v is not ErrToolGone", r.Err)
		}
		select {
		case err := <-disposed:
			t.Fatalf("disposed during a call: %v", err)
		default:
		}
		close(release)
		wantText(t, <-answer, "finished")
		must(t, <-disposed)
		wantCode(t, run(t, h.Root(), "slow", ""), CodeUnknown)
	})
}

func TestUnloadCancelsCallsAfterTheGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		begun := make(chan struct{}, 2)
		release := make(chan struct{})
		f := tooler(t, h.Root(), "owner", func(c *Context) error {
			polite, deaf := says("polite", ""), says("deaf", "")
			polite.Run = func(ctx context.Context, _ *Invocation) (Result, error) {
				begun <- struct{}{}
				<-ctx.Done()
				return Result{}, ctx.Err()
			}
			deaf.Run = func(context.Context, *Invocation) (Result, error) {
				begun <- struct{}{}
				<-release
				return TextResult("late"), nil
			}
			mustDefine(t, c, polite, deaf)
			return nil
		})
		answers := make(chan Result, 2)
		for _, name := range []string{"polite", "deaf"} {
			go func() { answers <- run(t, h.Root(), name, "") }()
			<-begun
		}
		err := f.Dispose(t.Context())
		var abandoned *AbandonedError
		if !errors.As(err, &abandoned) || !strings.Contains(abandoned.What, "deaf") {
			t.Errorf("Dispose: %v, want the deaf tool abandoned", err)
		}
		for range 2 {
			r := <-answers
			wantCode(t, r, CodeGone)
			if r.Err.Plugin != "root/owner" {
				t.Errorf("plugin %q", r.Err.Plugin)
			}
		}
		close(release)
	})
}

func TestRemovedToolsRunToTheirEndAndHoldTheirOwner(t *testing.T) {
	for name, remove := range map[string]func(*Context, *Scope) error{
		"removed":         func(c *Context, _ *Scope) error { return c.Tools().Remove("slow") },
		"replaced":        func(c *Context, _ *Scope) error { return c.Tools().Replace(says("slow", "new")) },
		"scope disposed":  func(c *Context, s *Scope) error { return s.Dispose(c) },
		"removed in turn": func(c *Context, s *Scope) error { return errors.Join(c.Tools().Remove("slow"), s.Dispose(c)) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t)
				release, begun := make(chan struct{}), make(chan struct{})
				var c *Context
				var s *Scope
				f := tooler(t, h.Root(), "owner", func(own *Context) (err error) {
					c = own
					s, err = c.Scope("s")
					slow := says("slow", "")
					slow.Run = func(context.Context, *Invocation) (Result, error) {
						close(begun)
						<-release
						return TextResult("finished"), nil
					}
					mustDefine(t, s.Context, slow)
					return err
				})
				answer := make(chan Result, 1)
				go func() { answer <- run(t, h.Root(), "slow", "") }()
				<-begun
				must(t, remove(c, s))
				disposed := make(chan error, 1)
				go func() { disposed <- f.Dispose(t.Context()) }()
				synctest.Wait()
				if f.State() != Unloading {
					t.Errorf("state %v while a call of a removed tool runs", f.State())
				}
				close(release)
				wantText(t, <-answer, "finished")
				must(t, <-disposed)
			})
		})
	}
}

func TestRemovedToolsLeaveNoEffect(t *testing.T) {
	h := newHost(t)
	release, begun := make(chan struct{}), make(chan struct{})
	slow := says("slow", "")
	slow.Run = func(context.Context, *Invocation) (Result, error) { close(begun); <-release; return Result{}, nil }
	mustDefine(t, h.Root(), slow)
	answer := make(chan Result, 1)
	go func() { answer <- run(t, h.Root(), "slow", "") }()
	<-begun
	must(t, h.Root().Tools().Remove("slow"))
	if got := h.Root().Fiber().Effects(); len(got) != 1 || got[0].Label != "slow (ending)" {
		t.Errorf("effects while it ends: %v", got)
	}
	close(release)
	<-answer
	if got := h.Root().Fiber().Effects(); len(got) != 0 {
		t.Errorf("effects afterwards: %v", got)
	}
	if err := h.Root().Tools().Remove("slow"); err == nil {
		t.Error("removed twice")
	}
}

func TestRule15_DefiningAfterTheEndIsRefused(t *testing.T) {
	h := newHost(t)
	var c *Context
	f := tooler(t, h.Root(), "p", func(own *Context) error { c = own; return nil })
	must(t, f.Dispose(t.Context()))
	for name, err := range map[string]error{
		"Define": c.Tools().Define(says("x", "")), "Filter": c.Tools().Filter(Filter{}),
		"Visibility": c.Tools().Visibility(func(Viewer, *Tool) bool { return false }),
		"Use":        c.Tools().Use(0, func(n Handler) Handler { return n }),
	} {
		wantErr(t, err, ErrInactive)
		_ = name
	}
	if list := h.Root().Tools().List(Viewer{}); len(list) != 0 {
		t.Errorf("left: %s", namesOf(list))
	}
	mustDefine(t, h.Root(), says("y", "ran"))
	wantText(t, run(t, h.Root(), "y", ""), "ran")
}

func TestAToolMayDisposeItsOwner(t *testing.T) {
	h := newHost(t)
	var f *Fiber
	f = tooler(t, h.Root(), "p", func(c *Context) error {
		tool := says("leave", "")
		tool.Run = func(ctx context.Context, _ *Invocation) (Result, error) {
			return TextResult("bye"), f.Dispose(ctx)
		}
		mustDefine(t, c, tool)
		return nil
	})
	r := run(t, h.Root(), "leave", "")
	wantCode(t, r, CodeFailed)
	wantErr(t, r.Err, ErrSelfWait)
	<-f.Done()
}
