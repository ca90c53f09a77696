package core

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentd-host/agentd/core/llm"
)

// ledger counts what is told about calls.
type ledger struct {
	mu      sync.Mutex
	decided map[string][]ToolDecision
	done    map[string][]ToolOutcome
}

func keepLedger(t testing.TB, c *Context) *ledger {
	t.Helper()
	l := &ledger{decided: map[string][]ToolDecision{}, done: map[string][]ToolOutcome{}}
	must(t,
		ToolDecided.On(c, func(_ context.Context, d ToolDecision) error {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.decided[d.Call.ID] = append(l.decided[d.Call.ID], d)
			return nil
		}),
		ToolDone.On(c, func(_ context.Context, o ToolOutcome) error {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.done[o.Call.ID] = append(l.done[o.Call.ID], o)
			return nil
		}))
	return l
}

// check holds that a call was told exactly once, and returns what was told.
func (l *ledger) check(t testing.TB, id string) (ToolDecision, ToolOutcome) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.decided[id]) != 1 || len(l.done[id]) != 1 {
		t.Fatalf("call %s: %d decisions, %d outcomes, want one each", id, len(l.decided[id]), len(l.done[id]))
	}
	return l.decided[id][0], l.done[id][0]
}

// rules is a Decider of one policy a name; the rest is auto.
type rules struct {
	mu     sync.Mutex
	table  map[string]Policy
	decide func(context.Context, DecideRequest) Decision // in place of the table
}

func (r *rules) Preview(_ Viewer, t *Tool) (Policy, string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.table[t.Name], "table"
}

func (r *rules) Decide(ctx context.Context, req DecideRequest) Decision {
	if r.decide != nil {
		return r.decide(ctx, req)
	}
	switch p, rule := r.Preview(req.Call.Viewer, &req.Tool); p {
	case Off:
		return Decision{Verdict: Hidden, Policy: p, Rule: rule}
	case Ask:
		return Decision{Verdict: Deny, Policy: p, Rule: rule, Nobody: true, Reason: "nobody can be asked"}
	default:
		return Decision{Verdict: Allow, Policy: Auto, Rule: rule}
	}
}

func withRules(t testing.TB, c *Context, r *rules) *Fiber {
	t.Helper()
	return tooler(t, c, "policy", func(c *Context) error { return Deciders.Provide(c, r) })
}

func TestRule44_OneDecisionAndOneOutcomeForEachCall(t *testing.T) {
	h := newHost(t)
	l := keepLedger(t, h.Root())
	policy := &rules{table: map[string]Policy{"off": Off, "ask": Ask}}
	withRules(t, h.Root(), policy)
	panics := says("panics", "")
	panics.Run = func(context.Context, *Invocation) (Result, error) { panic("boom") }
	fails := says("fails", "")
	fails.Run = func(context.Context, *Invocation) (Result, error) { return TextResult("half"), errors.New("no luck") }
	hangs := says("hangs", "")
	cancelled, cancel := context.WithCancel(t.Context())
	hangs.Run = func(ctx context.Context, _ *Invocation) (Result, error) {
		cancel()
		<-ctx.Done()
		return Result{}, ctx.Err()
	}
	strict := says("strict", "")
	strict.Parameters = json.RawMessage(`{"type":"object","required":["a"]}`)
	empty := says("empty", "")
	empty.Run = func(context.Context, *Invocation) (Result, error) { return Result{}, nil }
	mustDefine(t, h.Root(), says("fine", "ok"), says("off", ""), says("ask", ""), panics, fails, hangs, strict, empty)
	must(t, ToolBefore.On(h.Root(), func(_ context.Context, c *Call) error {
		if c.ID == "vetoed" {
			return errors.New("not today")
		}
		return nil
	}))
	tests := []struct {
		id, name, args string
		ctx            context.Context
		code           ErrorCode
		verdict        Verdict
		entered        bool
	}{
		{"fine", "fine", "", nil, "", Allow, true},
		{"empty", "empty", "", nil, "", Allow, true},
		{"unknown", "nothing", "", nil, CodeUnknown, Hidden, false},
		{"off", "off", "", nil, CodeUnknown, Hidden, false},
		{"ask", "ask", "", nil, CodeNobody, Deny, false},
		{"panics", "panics", "", nil, CodePanicked, Allow, true},
		{"fails", "fails", "", nil, CodeFailed, Allow, true},
		{"cancelled", "hangs", "", cancelled, CodeCancelled, Allow, true},
		{"not begun", "fine", "", cancelled, CodeCancelled, Allow, false},
		{"bad arguments", "strict", "{}", nil, CodeArguments, Deny, false},
		{"broken arguments", "fine", "{", nil, CodeArguments, Deny, false},
		{"vetoed", "fine", "", nil, CodeDenied, Deny, false},
	}
	for _, tt := range tests {
		t.Run(tt.id, func(t *testing.T) {
			ctx := tt.ctx
			if ctx == nil {
				ctx = t.Context()
			}
			r := h.Root().Tools().Execute(ctx, Call{ID: tt.id, Name: tt.name, Args: json.RawMessage(tt.args)})
			wantCode(t, r, tt.code)
			d, o := l.check(t, tt.id)
			if d.Decision.Verdict != tt.verdict {
				t.Errorf("verdict %q, want %q", d.Decision.Verdict, tt.verdict)
			}
			if o.Entered != tt.entered {
				t.Errorf("entered %v, want %v", o.Entered, tt.entered)
			}
			if o.Result.Text() != r.Text() {
				t.Errorf("told %q, answered %q", o.Result.Text(), r.Text())
			}
			if _, err := json.Marshal([]json.RawMessage{d.Call.Args, o.Call.Args}); err != nil {
				t.Errorf("the call can't be written down: %v", err)
			}
		})
	}
}

func TestRule44_ToolDoneTellsTheFinalResult(t *testing.T) {
	h := newHost(t)
	l := keepLedger(t, h.Root())
	mustDefine(t, h.Root(), says("x", strings.Repeat("raw", 100)))
	must(t, ToolAfter.On(h.Root(), func(_ context.Context, f *ToolFinal) error {
		f.Result.Parts = []llm.Part{llm.Text(strings.Repeat("replaced", 100))}
		return nil
	}))
	if hidden := run(t, h.Root(), "none", ""); !strings.Contains(hidden.Text(), "there is no tool") {
		t.Errorf("what was not run was replaced: %q", hidden.Text())
	}
	r := h.Root().Tools().Execute(t.Context(), Call{ID: "1", Name: "x", MaxResult: 100})
	_, o := l.check(t, "1")
	if !strings.HasPrefix(r.Text(), "replaced") || r.Truncated != 800 || o.Result.Text() != r.Text() {
		t.Errorf("answered %q (%d), told %q", r.Text(), r.Truncated, o.Result.Text())
	}
}

func TestH9_AHiddenToolIsUnknownWithTheSameText(t *testing.T) {
	h := newHost(t)
	policy := &rules{table: map[string]Policy{"read_fils": Off}}
	withRules(t, h.Root(), policy)
	var entered atomic.Bool
	spy := func(name string) Tool {
		tool := says(name, "")
		tool.Run = func(context.Context, *Invocation) (Result, error) { entered.Store(true); return Result{}, nil }
		return tool
	}
	scoped, grouped := spy("read_filz"), spy("read_filo")
	scoped.Scope, grouped.Groups = "other", []string{"secret"}
	mustDefine(t, h.Root(), says("read_file", "x"), spy("read_fils"), scoped, grouped, spy("read_filf"), spy("read_filr"), spy("read_fild"))
	must(t, h.Root().Tools().Filter(Filter{Exclude: []string{"*_filf"}}))
	must(t, h.Root().Tools().Visibility(func(_ Viewer, t *Tool) bool { return t.Name != "read_filr" }))
	tooler(t, h.Root(), "server", func(c *Context) error {
		s, err := c.Tools().Source(FromPlugin, "gone")
		if err == nil {
			s.Set(SourceDisabled)
		}
		return err
	})
	lost := spy("read_fill")
	lost.Source = Source{Kind: FromPlugin, Name: "gone"}
	mustDefine(t, h.Root(), lost)
	must(t, h.Root().Tools().Remove("read_fild"))
	never := run(t, h.Root(), "read_filx", "")
	wantCode(t, never, CodeUnknown)
	for _, name := range []string{"read_fils", "read_filz", "read_filo", "read_filf", "read_filr", "read_fill", "read_fild"} {
		r := run(t, h.Root(), name, "")
		wantCode(t, r, CodeUnknown)
		if got := strings.ReplaceAll(r.Text(), name, "read_filx"); got != never.Text() {
			t.Errorf("%s: %q differs from %q", name, got, never.Text())
		}
		if !slices.Equal(r.Err.Near, []string{"read_file"}) {
			t.Errorf("%s: near %q, want read_file alone", name, r.Err.Near)
		}
		why := h.Root().Tools().Why(Viewer{}, name)
		if why.Visible || why.Layer == "" {
			t.Errorf("%s: Why says %+v", name, why)
		}
	}
	if entered.Load() {
		t.Error("a hidden tool's function was entered")
	}
	if got := namesOf(h.Root().Tools().List(Viewer{})); got != "read_file" {
		t.Errorf("list %q", got)
	}
}

func TestWithoutAPolicyOnlyReadingRuns(t *testing.T) {
	h := newHost(t)
	tool := func(name string, e Effect, src Source) Tool {
		tool := says(name, "ran")
		tool.Traits.Effect, tool.Source = e, src
		return tool
	}
	mustDefine(t, h.Root(), tool("r", Read, Source{}), tool("w", Write, Source{}), tool("e", Exec, Source{}), tool("u", Undeclared, Source{}),
		tool("m", Read, Source{Kind: FromMCP, Name: "s"}), tool("t", Read, Source{Kind: FromMCP, Name: "s", Trusted: true}))
	check := func(want map[string]ErrorCode) {
		t.Helper()
		for name, code := range want {
			wantCode(t, run(t, h.Root(), name, ""), code)
		}
	}
	closed := map[string]ErrorCode{"r": "", "t": "", "w": CodeDenied, "e": CodeDenied, "u": CodeDenied, "m": CodeDenied}
	check(closed)
	policy := &rules{}
	f := withRules(t, h.Root(), policy)
	check(map[string]ErrorCode{"r": "", "w": "", "e": "", "u": "", "m": "", "t": ""})
	policy.decide = func(context.Context, DecideRequest) Decision { panic("boom") }
	check(closed)
	policy.decide = func(context.Context, DecideRequest) Decision { return Decision{} }
	check(map[string]ErrorCode{"r": CodeDenied, "w": CodeDenied})
	must(t, f.Dispose(t.Context()))
	check(closed)
	must(t, ToolDecide.On(h.Root(), func(_ context.Context, r DecideRequest) (Objection, bool, error) {
		switch r.Tool.Name {
		case "r":
			return Objection{Reason: "looks odd", By: "me"}, true, nil
		case "t":
			panic("boom")
		}
		return Objection{}, false, nil
	}))
	check(map[string]ErrorCode{"r": CodeDenied, "t": CodeDenied, "w": CodeDenied})
}

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

func TestAPanicIsContainedAndNamesThePlugin(t *testing.T) {
	h := newHost(t)
	tooler(t, h.Root(), "bad", func(c *Context) error {
		tool := says("x", "")
		tool.Run = func(context.Context, *Invocation) (Result, error) { panic(fmt.Errorf("boom")) }
		perm := says("p", "")
		perm.Permission = func(json.RawMessage) ([]Permission, error) { panic("boom") }
		inner := says("i", "fine")
		inner.Inner = func(json.RawMessage) string { panic("boom") }
		mustDefine(t, c, tool, perm, inner)
		return nil
	})
	r := run(t, h.Root(), "x", "")
	wantCode(t, r, CodePanicked)
	if r.Err.Plugin != "root/bad" || !strings.Contains(r.Text(), "root/bad") || !strings.Contains(r.Text(), "boom") {
		t.Errorf("error %+v, text %q", r.Err, r.Text())
	}
	wantCode(t, run(t, h.Root(), "p", ""), CodeDenied)
	wantText(t, run(t, h.Root(), "i", ""), "fine")
}

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

// adopter keeps jobs.
type adopter struct {
	jobs chan Job
	err  error
}

func (a *adopter) Adopt(_ context.Context, j Job) (string, error) {
	if a.err != nil {
		return "", a.err
	}
	a.jobs <- j
	return "job-1", nil
}

func TestTimeouts(t *testing.T) {
	no := false
	tests := []struct {
		name     string
		traits   Traits
		provider *adopter
		took     time.Duration
		code     ErrorCode
		handle   string
	}{
		{"no provider, no trait: none", Traits{}, nil, time.Hour, "", ""},
		{"no provider: a trait aborts", Traits{Timeout: time.Second}, nil, time.Second, CodeTimeout, ""},
		{"a provider adopts at the trait", Traits{Timeout: time.Second}, &adopter{}, time.Second, "", "job-1"},
		{"a provider adopts at the default", Traits{}, &adopter{}, 180 * time.Second, "", "job-1"},
		{"background false aborts at the default", Traits{Background: &no}, &adopter{}, 180 * time.Second, CodeTimeout, ""},
		{"background false aborts at the trait", Traits{Background: &no, Timeout: time.Minute}, &adopter{}, time.Minute, CodeTimeout, ""},
		{"not adopted aborts", Traits{Timeout: time.Second}, &adopter{err: errors.New("full")}, time.Second, CodeTimeout, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t)
				l := keepLedger(t, h.Root())
				if tt.provider != nil {
					tt.provider.jobs = make(chan Job, 1)
					tooler(t, h.Root(), "agent", func(c *Context) error { return Background.Provide(c, tt.provider) })
				}
				slow := says("slow", "")
				slow.Traits = tt.traits
				slow.Traits.Effect = Read
				slow.Run = func(ctx context.Context, _ *Invocation) (Result, error) {
					select {
					case <-time.After(time.Hour):
						return TextResult("finished"), nil
					case <-ctx.Done():
						return Result{}, ctx.Err()
					}
				}
				mustDefine(t, h.Root(), slow)
				start := time.Now()
				turn, over := context.WithCancel(t.Context())
				r := h.Root().Tools().Execute(turn, Call{ID: "1", Name: "slow"})
				if took := time.Since(start); took != tt.took {
					t.Errorf("answered after %v, want %v", took, tt.took)
				}
				wantCode(t, r, tt.code)
				if r.Handle != tt.handle {
					t.Errorf("handle %q, want %q", r.Handle, tt.handle)
				}
				over()
				if tt.handle == "" {
					l.check(t, "1")
					return
				}
				l.mu.Lock()
				early := len(l.done["1"])
				l.mu.Unlock()
				if early != 0 {
					t.Error("the outcome was told before the job ended")
				}
				job := <-tt.provider.jobs
				wantText(t, <-job.Done, "finished")
				if took := time.Since(start); took != time.Hour {
					t.Errorf("finished after %v, want an hour", took)
				}
				if _, o := l.check(t, "1"); o.Result.Text() != "finished" {
					t.Errorf("told %q", o.Result.Text())
				}
			})
		})
	}
}

// An MCP client waits for its own answer: a handle would be nothing to it.
func TestACallOfAnMCPClientIsNotHandedToTheBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		tooler(t, h.Root(), "agent", func(c *Context) error {
			return Background.Provide(c, &adopter{jobs: make(chan Job, 1)})
		})
		long := says("long", "")
		long.Run = func(ctx context.Context, _ *Invocation) (Result, error) {
			select {
			case <-time.After(2 * syncTimeout):
				return TextResult("finished"), nil
			case <-ctx.Done():
				return Result{}, ctx.Err()
			}
		}
		mustDefine(t, h.Root(), long)
		call := Call{Name: "long", Via: ViaMCP}
		wantText(t, h.Root().Tools().Execute(t.Context(), call), "finished")
		long.Traits.Timeout = time.Second
		must(t, h.Root().Tools().Replace(long))
		wantCode(t, h.Root().Tools().Execute(t.Context(), call), CodeTimeout)
	})
}

func TestAnAdoptedJobCanBeCancelledAndEndsWithItsOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		a := &adopter{jobs: make(chan Job, 1)}
		tooler(t, h.Root(), "agent", func(c *Context) error { return Background.Provide(c, a) })
		f := tooler(t, h.Root(), "owner", func(c *Context) error {
			slow := says("slow", "")
			slow.Traits.Timeout = time.Second
			slow.Run = func(ctx context.Context, _ *Invocation) (Result, error) { <-ctx.Done(); return Result{}, ctx.Err() }
			mustDefine(t, c, slow)
			return nil
		})
		run(t, h.Root(), "slow", "")
		job := <-a.jobs
		job.Cancel()
		wantCode(t, <-job.Done, CodeCancelled)
		run(t, h.Root(), "slow", "")
		job = <-a.jobs
		must(t, f.Dispose(t.Context()))
		wantCode(t, <-job.Done, CodeGone)
	})
}

func TestAnAdoptedJobThatDoesNotEndIsToldAllTheSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		l := keepLedger(t, h.Root())
		a := &adopter{jobs: make(chan Job, 1)}
		tooler(t, h.Root(), "agent", func(c *Context) error { return Background.Provide(c, a) })
		release := make(chan struct{})
		deaf := says("deaf", "")
		deaf.Traits.Timeout = time.Second
		deaf.Run = func(context.Context, *Invocation) (Result, error) { <-release; return TextResult("late"), nil }
		mustDefine(t, h.Root(), deaf)
		h.Root().Tools().Execute(t.Context(), Call{ID: "1", Name: "deaf"})
		job := <-a.jobs
		job.Cancel()
		wantCode(t, <-job.Done, CodeCancelled)
		l.check(t, "1")
		close(release)
	})
}

func TestWaitingForAPersonDoesNotCountAsRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		withRules(t, h.Root(), &rules{decide: func(context.Context, DecideRequest) Decision {
			time.Sleep(time.Minute)
			return Decision{Verdict: Allow}
		}})
		tooler(t, h.Root(), "permissions", func(c *Context) error {
			return Permissions.Provide(c, authorizer(func() error { time.Sleep(time.Hour); return nil }))
		})
		short := func(name string, f ToolFunc) Tool {
			tool := says(name, "")
			tool.Traits.Timeout, tool.Run = 10*time.Second, f
			return tool
		}
		mustDefine(t, h.Root(),
			says("inner", "fine"),
			short("asks", func(ctx context.Context, c *Invocation) (Result, error) {
				time.Sleep(6 * time.Second)
				return TextResult("fine"), c.Ask(ctx, Permission{Name: "x"}, "")
			}),
			short("calls", func(ctx context.Context, c *Invocation) (Result, error) {
				time.Sleep(6 * time.Second)
				return h.Root().Tools().Execute(ctx, Call{Name: "inner"}), nil
			}),
			short("hangs", func(ctx context.Context, c *Invocation) (Result, error) {
				err := c.Ask(ctx, Permission{Name: "x"}, "")
				<-ctx.Done()
				return Result{}, errors.Join(err, ctx.Err())
			}))
		wantText(t, run(t, h.Root(), "asks", ""), "fine")
		wantText(t, run(t, h.Root(), "calls", ""), "fine")
		wantCode(t, run(t, h.Root(), "hangs", ""), CodeTimeout)
	})
}

type authorizer func() error

func (a authorizer) Authorize(context.Context, Viewer, Permission, string) error { return a() }

func TestAskAndDenyFromWithinATool(t *testing.T) {
	h := newHost(t)
	asks, denies := says("asks", ""), says("denies", "")
	asks.Run = func(ctx context.Context, c *Invocation) (Result, error) {
		return TextResult("ran"), c.Ask(ctx, Permission{Name: "path:write", Target: "x"}, "why")
	}
	denies.Run = func(_ context.Context, c *Invocation) (Result, error) {
		return Result{}, c.Deny("outside of the folder")
	}
	mustDefine(t, h.Root(), asks, denies)
	wantCode(t, run(t, h.Root(), "asks", ""), CodeDenied)
	r := run(t, h.Root(), "denies", "")
	wantCode(t, r, CodeDenied)
	if !strings.Contains(r.Text(), "outside of the folder") {
		t.Errorf("text %q", r.Text())
	}
	var answer error
	tooler(t, h.Root(), "permissions", func(c *Context) error {
		return Permissions.Provide(c, authorizer(func() error { return answer }))
	})
	wantText(t, run(t, h.Root(), "asks", ""), "ran")
	answer = fmt.Errorf("asking: %w", ErrNobodyToAsk)
	wantCode(t, run(t, h.Root(), "asks", ""), CodeNobody)
}

func TestABridgeLeavesTimeAndParallelToTheInnerTool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		a := &adopter{jobs: make(chan Job, 1)}
		tooler(t, h.Root(), "agent", func(c *Context) error { return Background.Provide(c, a) })
		inner := says("inner", "")
		inner.Traits.Parallel, inner.Traits.Timeout = true, 5*time.Second
		inner.Run = func(ctx context.Context, _ *Invocation) (Result, error) {
			select {
			case <-time.After(time.Minute):
			case <-ctx.Done():
			}
			return TextResult("finished"), nil
		}
		bridge := says("bridge", "")
		bridge.Traits.Timeout = time.Second
		bridge.Inner = func(json.RawMessage) string { return "inner" }
		bridge.Run = func(ctx context.Context, c *Invocation) (Result, error) {
			return h.Root().Tools().Execute(ctx, Call{Name: "inner", Viewer: c.Viewer, Via: ViaBridge}), nil
		}
		mustDefine(t, h.Root(), inner, bridge)
		traits, ok := h.Root().Tools().Traits(Call{Name: "bridge"})
		if !ok || !traits.Parallel || traits.Timeout != 5*time.Second {
			t.Errorf("traits %+v, %v", traits, ok)
		}
		start := time.Now()
		r := run(t, h.Root(), "bridge", "")
		if r.Handle != "job-1" || time.Since(start) != 5*time.Second {
			t.Errorf("handle %q after %v", r.Handle, time.Since(start))
		}
		job := <-a.jobs
		if job.Call.Name != "inner" {
			t.Errorf("adopted %q", job.Call.Name)
		}
		wantText(t, <-job.Done, "finished")
	})
}

func TestCallsNestOnlySoDeep(t *testing.T) {
	h := newHost(t)
	var deepest atomic.Int32
	again := says("again", "")
	again.Run = func(ctx context.Context, _ *Invocation) (Result, error) {
		deepest.Add(1)
		return h.Root().Tools().Execute(ctx, Call{Name: "again"}), nil
	}
	mustDefine(t, h.Root(), again)
	wantCode(t, run(t, h.Root(), "again", ""), CodeDenied)
	if got := deepest.Load(); got != maxCallDepth+1 {
		t.Errorf("ran %d deep, want %d", got, maxCallDepth+1)
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

func TestProgressAndCurrentInvocation(t *testing.T) {
	h := newHost(t)
	var told []ToolProgressed
	must(t, ToolProgress.On(h.Root(), func(_ context.Context, p ToolProgressed) error { told = append(told, p); return nil }))
	must(t, DefineTool(h.Root(), Tool{Name: "x", Traits: Traits{Effect: Read}}, func(ctx context.Context, _ struct{}) (Result, error) {
		inv := CurrentInvocation(ctx)
		inv.Progress(Progress{Done: 1, Total: 2, Message: inv.Name})
		return ErrorResult(CodeFailed, "", "in a way"), nil
	}))
	r := h.Root().Tools().Execute(t.Context(), Call{ID: "7", Name: "x"})
	wantCode(t, r, CodeFailed)
	if r.Err.Tool != "x" || r.Text() != "error: in a way" {
		t.Errorf("result %+v %q", r.Err, r.Text())
	}
	if len(told) != 1 || told[0].Call.ID != "7" || told[0].Progress.Message != "x" {
		t.Errorf("told %+v", told)
	}
	if CurrentInvocation(t.Context()) != nil {
		t.Error("an invocation outside of a call")
	}
}
