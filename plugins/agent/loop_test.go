package agent

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/coretest"
	"github.com/agentd-host/agentd/core/llm"
)

func TestTurnRunsCallsAndComesToAnAnswer(t *testing.T) {
	r := newRig(t, Config{System: "Be brief."},
		coretest.Reply{Text: "Let me see.", Calls: []llm.ToolCall{{ID: "a", Name: "echo", Args: `{"text":"hi"}`}},
			Usage: llm.Usage{Input: 10, Output: 5}},
		coretest.Reply{Text: "It said hi.", Usage: llm.Usage{Input: 20, Output: 6}})
	r.tool("echo", core.Traits{}, echo)
	res := r.say("", "say hi")
	if res.Stop != core.StopDone || res.Text != "It said hi." || res.Steps != 2 || res.Model != "scripted/scripted" {
		t.Errorf("got %+v", res)
	}
	if want := (llm.Usage{Input: 30, Output: 11}); res.Usage != want {
		t.Errorf("usage %+v, want %+v", res.Usage, want)
	}
	req := r.model.Requests()[1]
	want := []llm.Message{
		llm.UserText("say hi"),
		{Role: llm.Assistant, Parts: []llm.Part{llm.Text("Let me see."),
			{Kind: llm.ToolCallPart, Call: &llm.ToolCall{ID: "a", Name: "echo", Args: `{"text":"hi"}`}}}},
		{Role: llm.ToolRole, Parts: []llm.Part{{Kind: llm.ToolResultPart,
			Result: &llm.ToolResult{CallID: "a", Name: "echo", Parts: []llm.Part{llm.Text("hi")}}}}},
	}
	if diff := cmp.Diff(want, req.Messages); diff != "" {
		t.Error(diff)
	}
	if llm.PartsText(req.System) != "Be brief." || len(req.Tools) != 1 || req.Tools[0].Name != "echo" || !req.Cache.Prefix {
		t.Errorf("system %v, tools %v, cache %+v", req.System, req.Tools, req.Cache)
	}
}

func TestTurnTellsOfEverythingInOrder(t *testing.T) {
	r := newRig(t, Config{},
		coretest.Reply{Reasoning: "hm", Calls: []llm.ToolCall{{ID: "a", Name: "echo", Args: `{"text":"x"}`}}, Usage: llm.Usage{Input: 1}},
		coretest.Says("ok"))
	r.tool("echo", core.Traits{}, echo)
	var bus atomic.Int64
	load(t, r.host.Root(), core.Plugin[struct{}]{Name: "bus", Apply: func(c *core.Context, _ struct{}) error {
		return core.AgentEvents.On(c, func(context.Context, core.AgentEvent) error { bus.Add(1); return nil })
	}}, struct{}{})
	res := r.say("", "go")
	var kinds []core.AgentEventKind
	for _, ev := range r.events {
		kinds = append(kinds, ev.Kind)
		if ev.Agent != "agent" || ev.Session != res.Session || ev.Turn == "" || ev.Time.IsZero() {
			t.Errorf("incomplete event %+v", ev)
		}
	}
	want := []core.AgentEventKind{
		core.AgentTurn, core.AgentStep, core.AgentReasoning, core.AgentUsage, core.AgentCallStarted, core.AgentCallFinished,
		core.AgentStep, core.AgentText, core.AgentText, core.AgentUsage, core.AgentFinish,
	}
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Error(diff)
	}
	if int(bus.Load()) != len(kinds) {
		t.Errorf("%d events on the bus, %d at the watcher", bus.Load(), len(kinds))
	}
	if started := r.seen(core.AgentCallStarted)[0]; started.CallID != "a" || started.Args != `{"text":"x"}` {
		t.Errorf("got %+v", started)
	}
}

func TestSessionGoesOnInTheNextTurn(t *testing.T) {
	r := newRig(t, Config{}, coretest.Says("one"), coretest.Says("two"), coretest.Says("three"))
	first := r.say("", "a")
	second := r.say(first.Session, "b")
	third := r.say("last", "c")
	if second.Session != first.Session || third.Session != first.Session {
		t.Errorf("sessions %s, %s, %s", first.Session, second.Session, third.Session)
	}
	var texts []string
	for _, m := range r.model.Requests()[2].Messages {
		texts = append(texts, string(m.Role)+":"+m.Text())
	}
	if diff := cmp.Diff([]string{"user:a", "assistant:one", "user:b", "assistant:two", "user:c"}, texts); diff != "" {
		t.Error(diff)
	}
	if _, err := r.run(t.Context(), core.Turn{Session: "no-such", Message: llm.UserText("x")}); !errors.Is(err, core.ErrSessionUnknown) {
		t.Errorf("got %v", err)
	}
}

func TestE32_SessionsSeeNothingOfEachOther(t *testing.T) {
	r := newRig(t, Config{}, coretest.Says("one"), coretest.Says("two"))
	a, b := r.say("", "secret"), r.say("", "hello")
	if a.Session == b.Session {
		t.Fatal("one session")
	}
	if got := r.model.Requests()[1].Messages; len(got) != 1 || got[0].Text() != "hello" {
		t.Errorf("got %v", got)
	}
}

func TestUnknownToolsAndBrokenArgumentsAreResults(t *testing.T) {
	r := newRig(t, Config{},
		coretest.Calls("ecko", `{}`, "echo", `{"text":`, "echo", `{"text":"x",}`, "echo", ``), coretest.Says("sorry"))
	r.tool("echo", core.Traits{}, echo)
	if res := r.say("", "go"); res.Stop != core.StopDone {
		t.Fatalf("got %+v", res)
	}
	got := r.results()
	for i, want := range []struct {
		text    string
		isError bool
	}{{"did you mean echo", true}, {"JSON", true}, {"repaired: a trailing comma", false}, {"<nil>", false}} {
		text := llm.PartsText(got[i].Parts)
		if !strings.Contains(text, want.text) || got[i].IsError != want.isError {
			t.Errorf("result %d: error %v, %q; want %q", i, got[i].IsError, text, want.text)
		}
	}
	if w := r.seen(core.AgentWarning); len(w) != 1 || !strings.Contains(w[0].Text, "trailing comma") {
		t.Errorf("warnings %+v", w)
	}
}

func TestArgumentsCutAtTheOutputLimitAreNotRepaired(t *testing.T) {
	reply := coretest.Calls("echo", `{"text":"x"`)
	reply.Reason = llm.Length
	r := newRig(t, Config{}, reply, coretest.Says("sorry"))
	r.tool("echo", core.Traits{}, echo)
	r.say("", "go")
	if got := r.results()[0]; !got.IsError {
		t.Errorf("got %+v", got)
	}
}

func TestH11_ParallelNeighboursRunTogetherAndAnswerInOrder(t *testing.T) {
	r := newRig(t, Config{},
		coretest.Calls("slow", `{"text":"1"}`, "slow", `{"text":"2"}`, "alone", `{"text":"3"}`, "slow", `{"text":"4"}`),
		coretest.Says("done"))
	var running atomic.Int64
	both := make(chan struct{})
	r.tool("slow", core.Traits{Parallel: true}, func(ctx context.Context, args map[string]any) (string, error) {
		n := running.Add(1)
		defer running.Add(-1)
		switch args["text"] {
		case "1", "2": // each ends only after the other began
			if n == 2 {
				close(both)
			}
			select {
			case <-both:
			case <-ctx.Done():
				return "", ctx.Err()
			}
		}
		return fmt.Sprint(args["text"]), nil
	})
	r.tool("alone", core.Traits{}, func(_ context.Context, args map[string]any) (string, error) {
		if n := running.Load(); n != 0 {
			t.Errorf("%d others run beside a call that is not parallel", n)
		}
		return fmt.Sprint(args["text"]), nil
	})
	r.say("", "go")
	var order []string
	for _, res := range r.results() {
		order = append(order, llm.PartsText(res.Parts))
	}
	if diff := cmp.Diff([]string{"1", "2", "3", "4"}, order); diff != "" {
		t.Error(diff)
	}
}

func TestE30_ParallelCallsAreBounded(t *testing.T) {
	r := newRig(t, Config{Budgets: Budgets{Parallel: 2}}, coretest.Calls(
		"f", `{"n":1}`, "f", `{"n":2}`, "f", `{"n":3}`, "f", `{"n":4}`, "f", `{"n":5}`), coretest.Says("done"))
	var running atomic.Int64
	r.tool("f", core.Traits{Parallel: true}, func(context.Context, map[string]any) (string, error) {
		if n := running.Add(1); n > 2 {
			t.Errorf("%d calls run together", n)
		}
		runtime.Gosched()
		running.Add(-1)
		return "", nil
	})
	if res := r.say("", "go"); len(r.results()) != 5 || res.Stop != core.StopDone {
		t.Errorf("got %+v", res)
	}
}

func TestE30_BudgetsEndTheTurnByName(t *testing.T) {
	call := func(i int) coretest.Reply {
		r := coretest.Calls("echo", fmt.Sprintf(`{"text":"%d"}`, i))
		r.Usage = llm.Usage{Input: 100, Output: 10}
		return r
	}
	for _, tt := range []struct {
		name    string
		budgets Budgets
		replies []coretest.Reply
		stop    core.StopReason
		steps   int
		detail  string
	}{
		{"steps", Budgets{Steps: 2}, []coretest.Reply{call(1), call(2)}, core.StopSteps, 2, "the budget is 2"},
		{"tokens", Budgets{Tokens: 200}, []coretest.Reply{call(1), call(2)}, core.StopTokens, 2, "220 tokens used"},
		{"repeats", Budgets{Repeats: 3}, []coretest.Reply{call(1), call(1), call(1)}, core.StopRepeats, 3, "echo"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, Config{Budgets: tt.budgets}, append(tt.replies, coretest.Says("and on"))...)
			r.tool("echo", core.Traits{}, echo)
			res := r.say("", "go")
			if res.Stop != tt.stop || res.Steps != tt.steps || !strings.Contains(res.Detail, tt.detail) {
				t.Errorf("got %+v", res)
			}
			if again := r.say(res.Session, "go on"); again.Stop != core.StopDone || again.Text != "and on" {
				t.Errorf("the session is not usable: %+v", again)
			}
		})
	}
}

func TestE30_WallBudgetCancelsWhatRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Config{Budgets: Budgets{Wall: time.Minute}}, coretest.Calls("hang", `{}`), coretest.Says("on"))
		r.tool("hang", core.Traits{}, func(ctx context.Context, _ map[string]any) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		})
		res := r.say("", "go")
		if res.Stop != core.StopWall || res.Elapsed != time.Minute {
			t.Errorf("got %+v", res)
		}
		r.say(res.Session, "go on")
		if got := r.results(); len(got) != 1 || !got[0].IsError {
			t.Errorf("results %+v", got)
		}
		if err := r.host.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestE30_ToolOutputIsCapped(t *testing.T) {
	r := newRig(t, Config{Budgets: Budgets{ToolOutput: 1000}}, coretest.Calls("long", `{}`), coretest.Says("ok"))
	r.tool("long", core.Traits{}, func(context.Context, map[string]any) (string, error) {
		return strings.Repeat("x", 100000), nil
	})
	r.say("", "go")
	if n := len(llm.PartsText(r.results()[0].Parts)); n > 1200 {
		t.Errorf("%d bytes reached the model", n)
	}
}

func TestH24_CancelledCallsGetAnInterruptedResult(t *testing.T) {
	r := newRig(t, Config{}, coretest.Calls("hang", `{}`, "echo", `{"text":"never"}`), coretest.Says("on"))
	r.tool("echo", core.Traits{}, echo)
	ctx, cancel := context.WithCancel(t.Context())
	r.tool("hang", core.Traits{}, func(ctx context.Context, _ map[string]any) (string, error) {
		cancel()
		<-ctx.Done()
		return "", ctx.Err()
	})
	res, err := r.run(ctx, core.Turn{Message: llm.UserText("go")})
	if err != nil || res.Stop != core.StopCancelled {
		t.Fatalf("got %+v, %v", res, err)
	}
	if again := r.say(res.Session, "go on"); again.Text != "on" {
		t.Errorf("got %+v", again)
	}
	got := r.results()
	if len(got) != 2 || !got[0].IsError || !got[1].IsError || !strings.Contains(llm.PartsText(got[1].Parts), "interrupted") {
		t.Errorf("results %+v", got)
	}
}

func TestCancelWhileTheModelSpeaksKeepsItsText(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r := newRig(t, Config{}, coretest.Reply{Events: []llm.Event{{Kind: llm.TextDelta, Text: "half a"}}, Err: context.Canceled},
		coretest.Says("on"))
	load(t, r.host.Root(), core.Plugin[struct{}]{Name: "canceller", Apply: func(c *core.Context, _ struct{}) error {
		return core.AgentEvents.On(c, func(_ context.Context, ev core.AgentEvent) error {
			if ev.Kind == core.AgentText {
				cancel()
			}
			return nil
		})
	}}, struct{}{})
	res, err := r.run(ctx, core.Turn{Message: llm.UserText("go")})
	if err != nil || res.Stop != core.StopCancelled || res.Text != "half a" {
		t.Fatalf("got %+v, %v", res, err)
	}
	r.say(res.Session, "go on")
	if got := r.model.Requests()[1].Messages; len(got) != 3 || got[1].Text() != "half a" {
		t.Errorf("got %+v", got)
	}
}

func TestRequiredToolThatIsMissingEndsTheTurn_T57(t *testing.T) {
	r := newRig(t, Config{Require: []string{"echo", "gone"}}, coretest.Says("fine"))
	r.tool("echo", core.Traits{}, echo)
	res := r.say("", "go")
	if res.Stop != core.StopMissing || res.Detail != "gone" || len(r.model.Requests()) != 0 {
		t.Errorf("got %+v", res)
	}
}

func TestEmptyAnswersAreFlagged(t *testing.T) {
	r := newRig(t, Config{}, coretest.Reply{}, coretest.Says("ok"))
	res := r.say("", "go")
	if res.Stop != core.StopDone || !strings.Contains(res.Detail, "empty") || len(r.seen(core.AgentWarning)) != 1 {
		t.Errorf("got %+v", res)
	}
	r.say(res.Session, "again")
	for _, m := range r.model.Requests()[1].Messages {
		if len(m.Parts) == 0 {
			t.Error("an empty message was sent")
		}
	}
}

func TestModelErrorsEndTheTurnAndLeaveTheSession(t *testing.T) {
	r := newRig(t, Config{}, coretest.Fails(llm.ErrAuth, "wrong key"), coretest.Says("ok"))
	res, err := r.run(t.Context(), core.Turn{Message: llm.UserText("go")})
	var fault *llm.Error
	if !errors.As(err, &fault) || fault.Kind != llm.ErrAuth || res.Stop != core.StopError {
		t.Fatalf("got %+v, %v", res, err)
	}
	if again := r.say(res.Session, "again"); again.Text != "ok" {
		t.Errorf("got %+v", again)
	}
}

func TestReusedCallIDsAreMadeUnique(t *testing.T) {
	same := coretest.Reply{Calls: []llm.ToolCall{{ID: "x", Name: "echo", Args: `{"text":"1"}`}, {ID: "x", Name: "echo", Args: `{"text":"2"}`}}}
	r := newRig(t, Config{}, same, coretest.Reply{Calls: []llm.ToolCall{{ID: "x", Name: "echo", Args: `{"text":"3"}`}}}, coretest.Says("ok"))
	r.tool("echo", core.Traits{}, echo)
	r.say("", "go")
	ids, texts := map[string]bool{}, []string{}
	for _, res := range r.results() {
		ids[res.CallID] = true
		texts = append(texts, llm.PartsText(res.Parts))
	}
	if diff := cmp.Diff([]string{"1", "2", "3"}, texts); diff != "" || len(ids) != 3 {
		t.Errorf("ids %v: %s", ids, diff)
	}
}

func TestOpaqueValuesOfTheProviderComeBack_H24(t *testing.T) {
	r := newRig(t, Config{}, coretest.Reply{Events: []llm.Event{
		{Kind: llm.ReasoningDelta, Text: "hm", Opaque: []byte(`{"sig":"s"}`)},
		{Kind: llm.ToolCallStart, ID: "a", Name: "echo"}, {Kind: llm.ToolCallDelta, Text: `{}`},
		{Kind: llm.ToolCallEnd, Opaque: []byte(`"thought"`)}, {Kind: llm.Finish, Reason: llm.ToolCalls},
	}}, coretest.Says("ok"))
	r.tool("echo", core.Traits{}, echo)
	r.say("", "go")
	parts := r.model.Requests()[1].Messages[1].Parts
	if string(parts[0].Opaque) != `{"sig":"s"}` || string(parts[1].Opaque) != `"thought"` {
		t.Errorf("got %+v", parts)
	}
}

func TestSurfaceAndLLMBeforeHaveTheirSay(t *testing.T) {
	r := newRig(t, Config{}, coretest.Says("ok"))
	r.tool("echo", core.Traits{}, echo)
	r.tool("other", core.Traits{}, echo)
	load(t, r.host.Root(), core.Plugin[struct{}]{Name: "narrow", Apply: func(c *core.Context, _ struct{}) error {
		return errors.Join(
			core.ToolSurface.Around(c, func(ctx context.Context, s core.Surface, next func(context.Context, core.Surface) (core.Surface, error)) (core.Surface, error) {
				s, err := next(ctx, s)
				s.Tools = s.Tools[:1]
				s.Context = append(s.Context, llm.NamedText("listing", "others: other"))
				if s.First != "hello" || s.Viewer.Agent != "agent" || s.Model.Provider != "scripted" {
					t.Errorf("surface %+v", s)
				}
				if _, ok := core.SessionFrom(ctx); !ok {
					t.Error("no session in the context")
				}
				return s, err
			}),
			core.LLMBefore.Around(c, func(ctx context.Context, q *llm.Request, next func(context.Context, *llm.Request) (*llm.Request, error)) (*llm.Request, error) {
				q.System[0].Text = "replaced"
				return next(ctx, q)
			}))
	}}, struct{}{})
	r.say("", "hello")
	req := r.model.Requests()[0]
	if len(req.Tools) != 1 || llm.PartsText(req.System) != "replaced" || llm.PartsText(req.Context) != "others: other" {
		t.Errorf("got %+v", req)
	}
}

func TestH17_TooManyToolsForTheModelAreNamedBySource(t *testing.T) {
	r := newRig(t, Config{}, coretest.Says("ok"))
	r.model.Info.MaxTools = 1
	r.tool("echo", core.Traits{}, echo)
	r.tool("other", core.Traits{}, echo)
	_, err := r.run(t.Context(), core.Turn{Message: llm.UserText("go")})
	if err == nil || !strings.Contains(err.Error(), "plugin tool-echo 1, plugin tool-other 1") {
		t.Errorf("got %v", err)
	}
}

func TestE17_RefusedCallsTellTheModel(t *testing.T) {
	r := newRig(t, Config{}, coretest.Calls("rm", `{}`), coretest.Says("ok"))
	r.tool("rm", core.Traits{Effect: core.Exec}, func(context.Context, map[string]any) (string, error) {
		t.Error("it ran")
		return "", nil
	})
	r.say("", "go")
	if got := r.results()[0]; !got.IsError {
		t.Errorf("got %+v", got)
	}
	if ev := r.seen(core.AgentCallDenied); len(ev) != 1 || ev[0].Tool != "rm" {
		t.Errorf("events %+v", ev)
	}
}

func TestProgressOfACallIsTold(t *testing.T) {
	r := newRig(t, Config{}, coretest.Calls("slow", `{}`), coretest.Says("ok"))
	r.tool("slow", core.Traits{}, func(ctx context.Context, _ map[string]any) (string, error) {
		call := core.CurrentInvocation(ctx)
		call.Progress(core.Progress{Done: 1, Total: 4, Message: "reading"})
		return "", nil
	})
	r.say("", "go")
	if got := r.seen(core.AgentCallProgress); len(got) != 1 || got[0].Text != "1 of 4: reading" || got[0].CallID == "" {
		t.Errorf("got %+v", got)
	}
}

// decider decides by the tool's name.
type decider map[string]core.Decision

func (d decider) Decide(_ context.Context, req core.DecideRequest) core.Decision {
	if out, ok := d[req.Tool.Name]; ok {
		return out
	}
	return core.Decision{Verdict: core.Allow, Policy: core.Auto}
}

func (d decider) Preview(core.Viewer, *core.Tool) (core.Policy, string) { return core.Auto, "" }

// decide lets a decider decide.
func (r *rig) decide(d decider) {
	r.t.Helper()
	load(r.t, r.host.Root(), core.Plugin[struct{}]{Name: "decider", Apply: func(c *core.Context, _ struct{}) error {
		return core.Deciders.Provide(c, d)
	}}, struct{}{})
}

func TestStopEndsWhatHasNotBegun_H11(t *testing.T) {
	r := newRig(t, Config{}, coretest.Calls("ask", `{}`, "echo", `{"text":"never"}`), coretest.Says("on"))
	r.decide(decider{"ask": {Verdict: core.Deny, Policy: core.Ask, Reason: "the person said stop", Stop: true}})
	r.tool("ask", core.Traits{Effect: core.Write}, echo)
	r.tool("echo", core.Traits{}, func(context.Context, map[string]any) (string, error) {
		t.Error("it ran")
		return "", nil
	})
	res := r.say("", "go")
	if res.Stop != core.StopPerson || !strings.Contains(res.Detail, "the person said stop") {
		t.Errorf("got %+v", res)
	}
	r.say(res.Session, "go on")
	got := r.results()
	if len(got) != 2 || !got[1].IsError || !strings.Contains(llm.PartsText(got[1].Parts), "not run") {
		t.Errorf("results %+v", got)
	}
}

func TestH1_ToolsThatNobodyCouldBeAskedAboutAreNamed(t *testing.T) {
	r := newRig(t, Config{}, coretest.Calls("b", `{}`, "a", `{}`, "b", `{"text":"2"}`), coretest.Says("no"))
	nobody := core.Decision{Verdict: core.Deny, Policy: core.Ask, Reason: "nobody can be asked", Nobody: true}
	r.decide(decider{"a": nobody, "b": nobody})
	for _, name := range []string{"a", "b"} {
		r.tool(name, core.Traits{Effect: core.Write}, echo)
	}
	res := r.say("", "go")
	if diff := cmp.Diff([]string{"a", "b"}, res.Denied); diff != "" || res.Stop != core.StopDone {
		t.Errorf("got %+v: %s", res, diff)
	}
	if ev := r.seen(core.AgentCallDenied); len(ev) != 3 || ev[0].Code != core.CodeNobody {
		t.Errorf("events %+v", ev)
	}
}

func TestWhatAPersonAllowedIsTold(t *testing.T) {
	r := newRig(t, Config{}, coretest.Calls("w", `{}`), coretest.Says("ok"))
	r.decide(decider{"w": {Verdict: core.Allow, Policy: core.Ask, Approver: "terminal"}})
	r.tool("w", core.Traits{Effect: core.Write}, echo)
	r.say("", "go")
	if ev := r.seen(core.AgentCallApproved, core.AgentCallStarted); len(ev) != 2 || ev[0].Kind != core.AgentCallApproved {
		t.Errorf("events %+v", ev)
	}
}
