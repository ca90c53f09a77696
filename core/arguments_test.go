package core

import (
	"context"
	"encoding/json"
	"testing"
)

func TestE12_WhatWasDecidedIsWhatRuns(t *testing.T) {
	h := newHost(t)
	var ran, asked string
	echo := says("echo", "")
	echo.Parameters = json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer"}}}`)
	echo.Run = func(_ context.Context, c *Invocation) (Result, error) { ran = string(c.Args); return Result{}, nil }
	mustDefine(t, h.Root(), echo)
	withRules(t, h.Root(), &rules{decide: func(_ context.Context, r DecideRequest) Decision {
		asked = string(r.Call.Args)
		if r.Digest != ArgsDigest("echo", r.Call.Args) {
			t.Error("the digest is of other arguments")
		}
		return Decision{Verdict: Allow}
	}})
	must(t, ToolBefore.On(h.Root(), func(_ context.Context, c *Call) error {
		c.Args, c.Name, c.Viewer = json.RawMessage(`{"a":2}`), "other", Viewer{Agent: "x"}
		return nil
	}))
	wantCode(t, run(t, h.Root(), "echo", `{"a":1}`), "")
	if ran != `{"a":2}` || asked != ran {
		t.Errorf("asked about %s, ran %s", asked, ran)
	}
	rewrite := func(order int, args string) *Scope {
		s, err := h.Root().Scope("rewrite")
		must(t, err, s.Tools().Use(order, func(next Handler) Handler {
			return func(ctx context.Context, c *Invocation) Result {
				own := *c
				own.Args = json.RawMessage(args)
				return next(ctx, &own)
			}
		}))
		return s
	}
	s := rewrite(-200, `{"a":3}`)
	wantCode(t, run(t, h.Root(), "echo", ""), "")
	if ran != `{"a":3}` || asked != ran {
		t.Errorf("rewritten before the decision: asked about %s, ran %s", asked, ran)
	}
	must(t, s.Dispose(t.Context()))
	s = rewrite(-200, `{"a":"x"}`)
	wantCode(t, run(t, h.Root(), "echo", ""), CodeArguments)
	must(t, s.Dispose(t.Context()))
	ran = ""
	rewrite(0, `{"a":4}`)
	wantCode(t, run(t, h.Root(), "echo", ""), CodeDenied)
	if ran != "" {
		t.Errorf("rewritten after the decision: ran %s", ran)
	}
}

func TestDigestIgnoresHowArgumentsAreWritten(t *testing.T) {
	same := []string{`{"a":1,"b":{"c":[1,2],"d":"x"}}`, ` { "b" : {"d":"\u0078", "c":[1, 2]}, "a":1}`}
	if ArgsDigest("t", json.RawMessage(same[0])) != ArgsDigest("t", json.RawMessage(same[1])) {
		t.Error("the same arguments have two digests")
	}
	for _, other := range []string{`{"a":2,"b":{"c":[1,2],"d":"x"}}`, `{"a":1,"b":{"c":[2,1],"d":"x"}}`, `{"a":9007199254740993}`, `{"a":9007199254740992}`} {
		if ArgsDigest("t", json.RawMessage(same[0])) == ArgsDigest("t", json.RawMessage(other)) {
			t.Errorf("%s has the digest of %s", other, same[0])
		}
	}
	if ArgsDigest("t", json.RawMessage(`{"a":9007199254740993}`)) == ArgsDigest("t", json.RawMessage(`{"a":9007199254740992}`)) {
		t.Error("numbers were rounded")
	}
	if ArgsDigest("t", nil) == ArgsDigest("u", nil) {
		t.Error("the name is not part of the digest")
	}
}

// FuzzCanonical holds that the short cut of the digest changes no digest, and
// that the canonical form is one.
func FuzzCanonical(f *testing.F) {
	for _, s := range []string{`{"a":1,"b":"x y"}`, `{"b":1,"a":2}`, `{"a":[1]}`, `{"a":"\u0078"}`, `{"":0,"a b":true,"a!":null}`, `{"a":1,"a":2}`, `{}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		args, err := normalArgs(json.RawMessage(in))
		if err != nil {
			return
		}
		once := canonical(args)
		if isCanonical(args) && string(once) != string(args) {
			t.Errorf("%s is taken as canonical, the form is %s", args, once)
		}
		if twice := canonical(once); string(twice) != string(once) {
			t.Errorf("%s becomes %s, then %s", args, once, twice)
		}
	})
}
