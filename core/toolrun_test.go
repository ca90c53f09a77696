package core

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestTheLastWriterIsWhoRunsElseWhoRanLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		withRules(t, h.Root(), &rules{decide: func(context.Context, DecideRequest) Decision { return Decision{Verdict: Allow} }})
		release := make(chan struct{})
		waits, writes := says("waits", ""), says("writes", "")
		waits.Traits.Effect, writes.Traits.Effect = Exec, Write
		waits.Run = func(context.Context, *Invocation) (Result, error) { <-release; return Result{}, nil }
		mustDefine(t, h.Root(), waits, writes, says("reads", ""))
		want := func(name string, over bool) {
			t.Helper()
			got, ok := h.Root().Tools().LastWriter()
			if got.Call.Name != name || ok != (name != "") || got.Ended.IsZero() == over {
				t.Errorf("got %q, ended %v, want %q, over %v", got.Call.Name, got.Ended, name, over)
			}
		}
		execute := func(name string) { h.Root().Tools().Execute(t.Context(), Call{ID: "1", Name: name}) }
		execute("reads")
		if _, ok := h.Root().Tools().LastWriter(); ok {
			t.Error("a call that reads is a writer")
		}
		done := make(chan struct{})
		go func() { execute("waits"); close(done) }()
		synctest.Wait()
		execute("writes") // with the same id
		want("waits", false)
		close(release)
		<-done
		want("waits", true)
		execute("writes")
		want("writes", true)
	})
}

func TestAJobInTheBackgroundIsAWriterUntilItEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		withRules(t, h.Root(), &rules{decide: func(context.Context, DecideRequest) Decision { return Decision{Verdict: Allow} }})
		a := &adopter{jobs: make(chan Job, 1)}
		tooler(t, h.Root(), "agent", func(c *Context) error { return Background.Provide(c, a) })
		release := make(chan struct{})
		slow := says("slow", "")
		slow.Traits = Traits{Effect: Exec, Timeout: time.Second}
		slow.Run = func(context.Context, *Invocation) (Result, error) { <-release; return Result{}, nil }
		mustDefine(t, h.Root(), slow)
		run(t, h.Root(), "slow", "")
		job := <-a.jobs
		if got, ok := h.Root().Tools().LastWriter(); !ok || !got.Ended.IsZero() {
			t.Errorf("got %+v, %v, want the job under way", got, ok)
		}
		close(release)
		<-job.Done
		if got, ok := h.Root().Tools().LastWriter(); !ok || got.Ended.IsZero() {
			t.Errorf("got %+v, %v, want the job over", got, ok)
		}
	})
}

func TestAHostValueOutlivesThePlugins(t *testing.T) {
	value := NewHostValue(func() *int { return new(int) })
	count := func(h *Host) (n int) {
		f := tooler(t, h.Root(), "counter", func(c *Context) error { *value.Of(c)++; n = *value.Of(c); return nil })
		must(t, f.Dispose(t.Context()))
		return n
	}
	one, other := newHost(t), newHost(t)
	if a, b, c := count(one), count(one), count(other); a != 1 || b != 2 || c != 1 {
		t.Errorf("got %d, %d and %d in another host, want 1, 2 and 1", a, b, c)
	}
}
