package core

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestPoliciesAreOrderedFromAutoToOff(t *testing.T) {
	ordered := []Policy{"", Auto, Ask, AskOnce, Off}
	for i, p := range ordered {
		for j, q := range ordered {
			if got, want := p.Stricter(q), ordered[max(i, j)]; got != want {
				t.Errorf("%q.Stricter(%q) = %q, want %q", p, q, got, want)
			}
		}
		if got, err := ParsePolicy(string(p)); i > 0 && (got != p || err != nil) {
			t.Errorf("ParsePolicy(%q) = %q, %v", p, got, err)
		}
	}
	for _, s := range []string{"", "on", "Auto"} {
		if _, err := ParsePolicy(s); err == nil {
			t.Errorf("%q was taken", s)
		}
	}
}

func TestOnlyAnswersThatAllowLetACallRun(t *testing.T) {
	for k, want := range map[AnswerKind]bool{
		AnswerOnce: true, AnswerTurn: true, AnswerSession: true, AnswerAlways: true,
		AnswerReject: false, AnswerNever: false, AnswerStop: false, "": false, "yes": false,
	} {
		if k.Allows() != want {
			t.Errorf("%q allows: %v", k, k.Allows())
		}
	}
}

// A decision that nobody could write down is none, save for what only reads.
func TestRule44_E28_WhatCantBeRecordedDoesNotRun(t *testing.T) {
	h := newHost(t)
	mustDefine(t, h.Root(), says("r", "ran"))
	write := says("w", "ran")
	write.Traits.Effect = Write
	mustDefine(t, h.Root(), write)
	withRules(t, h.Root(), &rules{})
	must(t, ToolDecided.On(h.Root(), func(context.Context, ToolDecision) error { return errors.New("disk full") }))
	wantText(t, run(t, h.Root(), "r", ""), "ran")
	r := run(t, h.Root(), "w", "")
	wantCode(t, r, CodeDenied)
	contains(t, r.Text(), "could not be recorded", "disk full")
}

// TestACallEndsWithItsOwnerAlsoInAMiddleware: between the decision and the
// function a call holds its tool's owner up, so it is told to go.
func TestACallEndsWithItsOwnerAlsoInAMiddleware(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		f := tooler(t, h.Root(), "owner", func(c *Context) error { return c.Tools().Define(says("x", "ran")) })
		inside := make(chan struct{})
		must(t, h.Root().Tools().Use(0, func(next Handler) Handler {
			return func(ctx context.Context, inv *Invocation) Result {
				close(inside)
				<-ctx.Done()
				return failedResult(CodeGone, inv.Name, context.Cause(ctx).Error(), context.Cause(ctx))
			}
		}))
		answer := make(chan Result, 1)
		go func() { answer <- run(t, h.Root(), "x", "") }()
		<-inside
		start := time.Now()
		must(t, f.Dispose(t.Context()))
		if took := time.Since(start); took != h.opts.Grace {
			t.Errorf("disposed after %v, want the grace of %v", took, h.opts.Grace)
		}
		wantErr(t, (<-answer).Err, ErrGraceOver)
	})
}

// The bytes of the arguments are shared along the way: writing into them must
// reach neither what was decided about nor the caller.
func TestE12_ArgumentsWrittenIntoInPlace(t *testing.T) {
	h := newHost(t)
	ran := ""
	echo := says("echo", "")
	echo.Run = func(_ context.Context, c *Invocation) (Result, error) { ran = string(c.Args); return Result{}, nil }
	mustDefine(t, h.Root(), echo)
	s, err := h.Root().Scope("before")
	must(t, err, ToolBefore.On(s.Context, func(_ context.Context, c *Call) error { c.Args[5] = '2'; return nil }))
	args := json.RawMessage(`{"a":1}`)
	wantCode(t, h.Root().Tools().Execute(t.Context(), Call{Name: "echo", Args: args}), "")
	if ran != `{"a":2}` || string(args) != `{"a":1}` {
		t.Errorf("ran %s, the caller's arguments are %s", ran, args)
	}
	must(t, s.Dispose(t.Context()), h.Root().Tools().Use(0, func(next Handler) Handler {
		return func(ctx context.Context, inv *Invocation) Result {
			inv.Args[5] = '3'
			return next(ctx, inv)
		}
	}))
	ran = ""
	wantCode(t, h.Root().Tools().Execute(t.Context(), Call{Name: "echo", Args: []byte(`{"a":1}`)}), CodeDenied)
	if ran != "" {
		t.Errorf("ran %s", ran)
	}
}

func TestRewritingIntoWhatIsNoObjectIsAnArgumentError(t *testing.T) {
	h := newHost(t)
	mustDefine(t, h.Root(), says("x", "ran"))
	var early, late string
	must(t, ToolBefore.On(h.Root(), func(_ context.Context, c *Call) error {
		if early != "" {
			c.Args = json.RawMessage(early)
		}
		return nil
	}), h.Root().Tools().Use(-200, func(next Handler) Handler {
		return func(ctx context.Context, inv *Invocation) Result {
			own := *inv
			if late != "" {
				own.Args = json.RawMessage(late)
			}
			return next(ctx, &own)
		}
	}))
	wantText(t, run(t, h.Root(), "x", ""), "ran")
	early = "[1]"
	wantCode(t, run(t, h.Root(), "x", ""), CodeArguments)
	early, late = "", "[1]"
	wantCode(t, run(t, h.Root(), "x", ""), CodeArguments)
}

func TestAViewersPersonIsThatOfTheParentSession(t *testing.T) {
	h := newHost(t)
	v := Viewer{Agent: "a", Session: "child", User: "u", Groups: []string{"g"}}
	if v.Asks() != "child" || v.Path() != "" {
		t.Errorf("asks %q at %q", v.Asks(), v.Path())
	}
	v.Parent = "session"
	v = h.Root().Viewer(v)
	if v.Asks() != "session" || v.Path() != "root" {
		t.Errorf("asks %q at %q", v.Asks(), v.Path())
	}
	if l := v.LLM(); l.Agent != "a" || l.Session != "child" || l.User != "u" || len(l.Groups) != 1 {
		t.Errorf("for a request: %+v", l)
	}
}
