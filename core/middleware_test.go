package core

import (
	"context"
	"sync/atomic"
	"testing"
)

func TestMiddlewaresRunInOrderAroundTheDecision(t *testing.T) {
	h := newHost(t)
	var j journal
	mustDefine(t, h.Root(), says("x", "ran"))
	policy := &rules{decide: func(context.Context, DecideRequest) Decision { j.add("decide"); return Decision{Verdict: Allow} }}
	withRules(t, h.Root(), policy)
	use := func(c *Context, order int, name string) {
		must(t, c.Tools().Use(order, func(next Handler) Handler {
			return func(ctx context.Context, inv *Invocation) Result {
				j.add("> %s", name)
				defer j.add("< %s", name)
				return next(ctx, inv)
			}
		}))
	}
	use(h.Root(), 10, "inner")
	use(h.Root(), -101, "outer")
	use(h.Root(), 0, "middle")
	use(h.Root(), -100, "just inside")
	s, err := h.Root().Scope("s")
	must(t, err)
	use(s.Context, 10, "innermost")
	wantText(t, run(t, h.Root(), "x", ""), "ran")
	j.want(t, "> outer", "decide", "> just inside", "> middle", "> inner", "> innermost",
		"< innermost", "< inner", "< middle", "< just inside", "< outer")
	j = journal{}
	must(t, s.Dispose(t.Context()))
	policy.decide = func(context.Context, DecideRequest) Decision { return Decision{Verdict: Deny, Reason: "no"} }
	r := run(t, h.Root(), "x", "")
	wantCode(t, r, CodeDenied)
	j.want(t, "> outer", "< outer")
}

func TestRule37_AMiddlewareCallsNextOnce(t *testing.T) {
	h := newHost(t)
	var ran atomic.Int32
	tool := says("x", "")
	tool.Run = func(context.Context, *Invocation) (Result, error) { ran.Add(1); return TextResult("ran"), nil }
	mustDefine(t, h.Root(), tool)
	tests := []struct {
		name string
		m    Middleware
		code ErrorCode
		runs int32
	}{
		{"twice", func(next Handler) Handler {
			return func(ctx context.Context, c *Invocation) Result { next(ctx, c); return next(ctx, c) }
		}, CodeFailed, 1},
		{"twice and hides it", func(next Handler) Handler {
			return func(ctx context.Context, c *Invocation) Result { r := next(ctx, c); next(ctx, c); return r }
		}, CodeFailed, 1},
		{"never", func(Handler) Handler {
			return func(context.Context, *Invocation) Result { return TextResult("cached") }
		}, "", 0},
		{"panics", func(Handler) Handler {
			return func(context.Context, *Invocation) Result { panic("boom") }
		}, CodePanicked, 0},
		{"panics after the tool", func(next Handler) Handler {
			return func(ctx context.Context, c *Invocation) Result { next(ctx, c); panic("boom") }
		}, CodePanicked, 1},
		{"panics when composed", func(Handler) Handler { panic("boom") }, CodePanicked, 0},
		{"makes no handler", func(Handler) Handler { return nil }, CodeFailed, 0},
		{"passes on a call of its own making", func(next Handler) Handler {
			return func(ctx context.Context, c *Invocation) Result { return next(ctx, &Invocation{Call: c.Call}) }
		}, CodeFailed, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ran.Store(0)
			f := tooler(t, h.Root(), "wrapper", func(c *Context) error { return c.Tools().Use(0, tt.m) })
			r := run(t, h.Root(), "x", "")
			wantCode(t, r, tt.code)
			if got := ran.Load(); got != tt.runs {
				t.Errorf("the tool ran %d times, want %d", got, tt.runs)
			}
			if tt.code == CodePanicked && r.Err.Plugin != "root/wrapper" {
				t.Errorf("the plugin is named %q", r.Err.Plugin)
			}
			must(t, f.Dispose(t.Context()))
			wantText(t, run(t, h.Root(), "x", ""), "ran")
		})
	}
}
