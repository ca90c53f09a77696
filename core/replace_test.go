package core

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
)

// TestL52_WhatHappensToAToolWhileItIsDecidedAboutCounts changes a tool in the
// middle of the first decision about it.
func TestL52_WhatHappensToAToolWhileItIsDecidedAboutCounts(t *testing.T) {
	strict := says("x", "new")
	strict.Parameters = json.RawMessage(`{"type":"object","required":["a"]}`)
	successor := says("x", "new")
	successor.Description = "the second"
	tests := []struct {
		name    string
		change  func(c *Context) error
		second  Verdict // about the successor
		text    string
		code    ErrorCode
		message string
		decided string // the description of the tool that was told
	}{
		{"nothing", func(*Context) error { return nil }, "", "old", "", "", "the first"},
		{"replaced", func(c *Context) error { return c.Tools().Replace(successor) }, Allow, "new", "", "", "the second"},
		{"replaced in a batch", func(c *Context) error {
			return c.Tools().Batch(func(b *ToolBatch) error { b.Remove("x"); b.Define(successor); return nil })
		}, Allow, "new", "", "", "the second"},
		{"replaced by what is refused", func(c *Context) error { return c.Tools().Replace(successor) },
			Deny, "", CodeDenied, "not this one", "the second"},
		{"replaced by what is hidden", func(c *Context) error { return c.Tools().Replace(successor) },
			Hidden, "", CodeUnknown, "there is no tool", "the second"},
		{"replaced by what takes other arguments", func(c *Context) error { return c.Tools().Replace(strict) },
			Allow, "", CodeArguments, "a: missing", ""},
		{"removed", func(c *Context) error { return c.Tools().Remove("x") },
			Allow, "", CodeGone, "root/owner removed it", "the first"},
		{"its plugin unloads", func(c *Context) error {
			go func() { _ = c.Fiber().Dispose(context.Background()) }()
			synctest.Wait()
			return nil
		}, Allow, "", CodeGone, "root/owner is unloading", "the first"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t)
				l := keepLedger(t, h.Root())
				var owner *Context
				tooler(t, h.Root(), "owner", func(c *Context) error {
					owner = c
					first := says("x", "old")
					first.Description = "the first"
					return c.Tools().Define(first)
				})
				asked := 0
				withRules(t, h.Root(), &rules{decide: func(_ context.Context, req DecideRequest) Decision {
					asked++
					if asked == 1 {
						must(t, tt.change(owner))
						return Decision{Verdict: Allow}
					}
					if req.Tool.Description != "the second" {
						t.Errorf("asked about %q", req.Tool.Description)
					}
					return Decision{Verdict: tt.second, Reason: "not this one"}
				}})
				var inner string
				must(t, h.Root().Tools().Use(0, func(next Handler) Handler {
					return func(ctx context.Context, inv *Invocation) Result {
						inner = inv.Tool.Description
						return next(ctx, inv)
					}
				}))
				r := h.Root().Tools().Execute(t.Context(), Call{ID: "1", Name: "x"})
				wantCode(t, r, tt.code)
				if tt.code == "" {
					wantText(t, r, tt.text)
				} else if !strings.Contains(r.Err.Message, tt.message) {
					t.Errorf("message %q, want ...%s...", r.Err.Message, tt.message)
				}
				if tt.code == CodeGone && !errors.Is(r.Err, ErrToolGone) {
					t.Errorf("%v is not ErrToolGone", r.Err)
				}
				d, o := l.check(t, "1")
				if d.Tool.Description != tt.decided || tt.code == "" && (inner != tt.decided || o.Tool.Description != tt.decided) {
					t.Errorf("told %q, a middleware saw %q, the outcome is of %q, want %q",
						d.Tool.Description, inner, o.Tool.Description, tt.decided)
				}
			})
		})
	}
}

// TestL52_ACallThatFindsItsToolReplacedTakesTheNewOne runs calls against a
// plugin that replaces its tool all the time: none may fail.
func TestL52_ACallThatFindsItsToolReplacedTakesTheNewOne(t *testing.T) {
	h := newHost(t)
	mustDefine(t, h.Root(), says("x", "0"))
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 1000 {
			if r := run(t, h.Root(), "x", ""); r.Err != nil {
				t.Errorf("a call failed: %v", r.Err)
				return
			}
		}
	}()
	for {
		select {
		case <-done:
			return
		default:
			must(t, h.Root().Tools().Replace(says("x", "1")))
		}
	}
}

// TestRule14_AMiddlewareInsideTheDecisionHoldsTheTool pins that the owner's
// teardown waits for a call from the decision on, and that this is known.
func TestRule14_AMiddlewareInsideTheDecisionHoldsTheTool(t *testing.T) {
	h := newHost(t)
	f := tooler(t, h.Root(), "owner", func(c *Context) error { return c.Tools().Define(says("x", "ran")) })
	var inner error
	must(t, h.Root().Tools().Use(0, func(next Handler) Handler {
		return func(ctx context.Context, inv *Invocation) Result {
			inner = f.Dispose(ctx)
			return next(ctx, inv)
		}
	}))
	wantText(t, run(t, h.Root(), "x", ""), "ran")
	wantErr(t, inner, ErrSelfWait)
	<-f.Done()
}
