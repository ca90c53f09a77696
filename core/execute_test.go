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
