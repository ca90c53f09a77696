package toolpolicy

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/plugins/toolpolicy/audit"
)

func TestMain(m *testing.M) {
	answerForADaemon()
	goleak.VerifyTestMain(m)
}

func TestThePluginDecides(t *testing.T) {
	h := newHouse(t, t.TempDir(), Config{}, "w = auto", "x(git *) = auto", "x(rm *) = off")
	h.wants(h.call("r", ""), "")
	h.wants(h.call("w", ""), "")
	h.wants(h.call("x", "git status"), "")
	h.wants(h.call("x", "rm x"), core.CodeDenied)
	h.wants(h.call("x", "ls"), core.CodeNobody)
	h.wants(h.call("u", ""), core.CodeNobody)
	if h.times("x") != 1 || h.times("u") != 0 {
		t.Errorf("entered %v", h.entered)
	}
}

func TestH9_H1_OffIsAnUnknownToolAndAskWithoutAnybodyIsRefused(t *testing.T) {
	h := newHouse(t, t.TempDir(), Config{}, "r = off")
	off, unknown := h.call("r", ""), h.call("q", "")
	h.wants(off, core.CodeUnknown)
	h.wants(unknown, core.CodeUnknown)
	if strings.ReplaceAll(off.Err.Message, `"r"`, `"q"`) != unknown.Err.Message {
		t.Errorf("the texts differ: %q, %q", off.Err.Message, unknown.Err.Message)
	}
	for _, tool := range h.c.Tools().List(viewer) {
		if tool.Name == "r" {
			t.Error("off, but listed")
		}
	}
	r := h.call("x", "ls")
	h.wants(r, core.CodeNobody)
	if !strings.Contains(r.Err.Message, "nobody can be asked") {
		t.Errorf("got %q", r.Err.Message)
	}
	if h.times("r")+h.times("x") != 0 {
		t.Error("a refused tool was entered")
	}
}

func TestRule04_ATogglesHoldsFromTheNextCallOn(t *testing.T) {
	h := newHouse(t, t.TempDir(), Config{})
	listed := func() bool {
		return slices.ContainsFunc(h.c.Tools().List(viewer), func(t core.Tool) bool { return t.Name == "r" })
	}
	for range 3 {
		h.wants(h.call("r", ""), "")
		h.set("r = off")
		h.wants(h.call("r", ""), core.CodeUnknown)
		if listed() {
			t.Error("off, but listed")
		}
		h.set()
		if !listed() {
			t.Error("back, but not listed")
		}
	}
	if h.times("r") != 3 {
		t.Errorf("entered %d times, want 3", h.times("r"))
	}
}

func TestRule04_ARunningCallIsNotInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, t.TempDir(), Config{})
		h.block["r"] = make(chan struct{})
		result := make(chan core.Result, 1)
		go func() { result <- h.call("r", "") }()
		synctest.Wait()
		h.set("r = off")
		close(h.block["r"])
		h.wants(<-result, "")
		h.close()
	})
}

func TestE13_TighteningHoldsForQuestionsThatWaitAndLooseningDoesNotSettleThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, t.TempDir(), Config{})
		quiet := says()
		h.must(h.broker.AddAsker(h.c, quiet))
		result := make(chan core.Result, 1)
		go func() { result <- h.call("x", "ls") }()
		synctest.Wait()
		h.set("x = auto")
		synctest.Wait()
		if len(h.broker.Pending("")) != 1 {
			t.Error("a loosening settled the question")
		}
		h.set("x = off")
		h.wants(<-result, core.CodeUnknown)
		if h.times("x") != 0 {
			t.Error("entered")
		}
		h.close()
	})
}

func TestH12_EachRefusalCarriesItsOwnReason(t *testing.T) {
	h := newHouse(t, t.TempDir(), Config{})
	p := &person{answers: []core.Answer{{Kind: core.AnswerReject, Text: "use the test folder"}, {Kind: core.AnswerReject}}}
	h.must(h.broker.AddAsker(h.c, p))
	first, second := h.call("x", "a"), h.call("x", "b")
	if !strings.Contains(first.Err.Message, "use the test folder") || strings.Contains(second.Err.Message, "folder") {
		t.Errorf("got %q and %q", first.Err.Message, second.Err.Message)
	}
}

func TestRule05_WithoutThePluginReadRunsAndItsReturnBringsBackRulesGrantsAndChain(t *testing.T) {
	h := newHouse(t, t.TempDir(), Config{}, "w = auto")
	h.must(h.broker.AddAsker(h.c, says(core.AnswerAlways)))
	h.wants(h.call("x", "ls"), "")
	h.must(h.fiber.Dispose(h.c))
	h.wants(h.call("r", ""), "")
	h.wants(h.call("w", ""), core.CodeDenied)
	h.wants(h.call("x", "ls"), core.CodeDenied)
	h.load(Config{})
	h.wants(h.call("w", ""), "")
	h.wants(h.call("x", "ls"), "") // by the grant: nobody could be asked
	if _, err := audit.Verify(h.admin.AuditFile()); err != nil {
		t.Error(err)
	}
}

func TestRule15_E28_OneDecisionAndOneOutcomeACall(t *testing.T) {
	h := newHouse(t, t.TempDir(), Config{}, "x(rm *) = off", "x = auto")
	h.define(core.Tool{Name: "p", Traits: core.Traits{Effect: core.Read}})
	h.must(h.c.Tools().Replace(core.Tool{Name: "p", Traits: core.Traits{Effect: core.Read},
		Run: func(context.Context, *core.Invocation) (core.Result, error) { panic("broken") }}))
	calls := 0
	for _, name := range []string{"r", "x", "w", "nothing", "p"} {
		h.call(name, "rm x")
		calls++
	}
	ctx, cancel := context.WithCancel(h.c)
	cancel()
	h.callIn(ctx, viewer, "t", "x", "ls")
	calls++
	records, err := audit.Tail(h.admin.AuditFile(), 100)
	h.must(err)
	kinds := map[string][]audit.Kind{}
	for _, r := range records {
		kinds[r.Call] = append(kinds[r.Call], r.Kind)
		if r.Tool == "" || r.Session != "s1" || r.Caller == "" {
			t.Errorf("record lacks something: %+v", r)
		}
	}
	if len(kinds) != calls {
		t.Errorf("got records of %d calls, want %d", len(kinds), calls)
	}
	for call, got := range kinds {
		if !slices.Equal(got, []audit.Kind{audit.Decision, audit.Outcome}) {
			t.Errorf("call %s: got %v, want a decision and an outcome", call, got)
		}
	}
	if report, err := audit.Verify(h.admin.AuditFile()); err != nil || report.Records != uint64(2*calls) {
		t.Errorf("got %+v, %v", report, err)
	}
}

func TestRule15_WithoutAnAuditLogWriteAndExecAreRefused(t *testing.T) {
	h := newHouse(t, t.TempDir(), Config{Audit: AuditConfig{File: "missing/audit.jsonl"}}, "w = auto", "x = auto")
	h.wants(h.call("r", ""), "")
	h.wants(h.call("w", ""), core.CodeDenied)
	h.wants(h.call("x", "ls"), core.CodeDenied)
	if h.times("w")+h.times("x") != 0 {
		t.Error("entered")
	}
}

func TestReconfigureKeepsThePluginAndItsQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, t.TempDir(), Config{})
		quiet := says()
		h.must(h.broker.AddAsker(h.c, quiet))
		result := make(chan core.Result, 1)
		go func() { result <- h.call("x", "ls") }()
		synctest.Wait()
		uid := h.fiber.UID()
		before := h.broker.Pending("s1")
		since := h.fiber.Since()
		h.must(core.Update(h.c, h.fiber, Config{ByEffect: map[core.Effect]core.Policy{core.Read: core.Off}}))
		h.wants(h.call("r", ""), core.CodeUnknown)
		if got := h.broker.Pending("s1"); len(got) != 1 || got[0].ID != before[0].ID {
			t.Errorf("got %v, want the question of before", got)
		}
		if h.fiber.UID() != uid || !h.fiber.Since().Equal(since) {
			t.Error("restarted")
		}
		h.must(h.broker.Answer(before[0].ID, before[0].Digest, core.Answer{Kind: core.AnswerOnce}))
		h.wants(<-result, "")
		h.close()
	})
}

func TestRule06_AuthorizeUsesTheSameRulesPeopleAndAudit(t *testing.T) {
	h := newHouse(t, t.TempDir(), Config{}, "path:outside(/etc/**) = off", "path:outside(/tmp/**) = auto")
	p := says(core.AnswerAlways)
	authorize := func(target string) error {
		var err error
		f, lerr := core.Load(h.c, core.Plugin[struct{}]{Name: "asks", Needs: core.Needs(core.Permissions),
			Apply: func(c *core.Context, _ struct{}) error {
				auth, _ := core.Permissions.Get(c)
				err = auth.Authorize(c, viewer, core.Permission{Name: "path:outside", Target: target}, "a test")
				return nil
			}}, struct{}{})
		h.must(lerr)
		h.must(f.Ready(h.c))
		return err
	}
	if err := authorize("/etc/passwd"); !errors.Is(err, ErrRefused) {
		t.Errorf("off: got %v", err)
	}
	if err := authorize("/tmp/a"); err != nil {
		t.Errorf("auto: got %v", err)
	}
	if err := authorize("/home/a"); !errors.Is(err, core.ErrNobodyToAsk) {
		t.Errorf("ask without anybody: got %v", err)
	}
	h.must(h.broker.AddAsker(h.c, p))
	for range 2 {
		if err := authorize("/home/a"); err != nil {
			t.Errorf("always: got %v", err)
		}
	}
	if p.count() != 1 {
		t.Errorf("asked %d times, want once", p.count())
	}
	records, err := audit.Tail(h.admin.AuditFile(), 10)
	h.must(err)
	if len(records) != 5 || records[0].Kind != audit.Authorize || records[0].Target != "/etc/passwd" {
		t.Errorf("got %+v", records)
	}
}

func TestE12_Rule12_WhatWasApprovedIsWhatRuns(t *testing.T) {
	h := newHouse(t, t.TempDir(), Config{})
	p := says(core.AnswerOnce)
	h.must(h.broker.AddAsker(h.c, p))
	rewrite := func(order int, to string) *core.Scope {
		scope, err := h.c.Scope("rewrite")
		h.must(err)
		h.must(scope.Tools().Use(order, func(next core.Handler) core.Handler {
			return func(ctx context.Context, inv *core.Invocation) core.Result {
				inv.Args, _ = json.Marshal(map[string]string{"command": to})
				return next(ctx, inv)
			}
		}))
		return scope
	}
	outside := rewrite(core.DecisionOrder-1, "outer") // before the question: it is what is asked about
	h.wants(h.call("x", "typed"), "")
	if got := string(p.last().Args); got != `{"command":"outer"}` {
		t.Errorf("asked about %s", got)
	}
	if want := core.ArgsDigest("x", p.last().Args); p.last().Digest != want {
		t.Errorf("digest %s, want %s", p.last().Digest, want)
	}
	h.must(outside.Dispose(h.c))
	rewrite(core.DecisionOrder+1, "rm -rf /") // after it
	before := h.times("x")
	h.call("x", "typed")
	if h.times("x") != before && string(p.last().Args) != `{"command":"rm -rf /"}` {
		t.Errorf("ran with arguments that nobody approved; asked about %s", p.last().Args)
	}
}

func TestRule12_AmbiguousArgumentsAreRefused(t *testing.T) {
	h := newHouse(t, t.TempDir(), Config{}, "* = auto")
	for _, args := range []string{`{"command":"a","command":"b"}`, "{\"command\":\"\xff\"}"} {
		r := h.c.Tools().Execute(h.c, core.Call{Name: "x", Args: json.RawMessage(args), Viewer: viewer})
		if r.Err == nil {
			t.Errorf("%q ran", args)
		}
	}
	if h.times("x") != 0 {
		t.Error("entered")
	}
}
