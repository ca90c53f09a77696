package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/coretest"
	"github.com/agentd-host/agentd/core/llm"
)

func TestAgentsAndModelsMayComeBeforeTheHub(t *testing.T) {
	host := core.New(nil)
	defer host.Close(context.WithoutCancel(t.Context()))
	model := coretest.NewModel(coretest.Says("hello"))
	a, err := core.Load(host.Root(), Plugin, Config{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := core.Load(host.Root(), core.Plugin[struct{}]{
		Name: "adapter", Needs: core.Needs(core.Models),
		Apply: func(c *core.Context, _ struct{}) error {
			models, _ := core.Models.Get(c)
			return models.Add(c, "scripted", model)
		},
	}, struct{}{})
	if err != nil {
		t.Fatal(err)
	}
	load(t, host.Root(), Hub, struct{}{})
	if err := errors.Join(a.Ready(t.Context()), p.Ready(t.Context())); err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, host: host, model: model}
	if res := r.say("", "hi"); res.Text != "hello" {
		t.Errorf("got %+v", res)
	}
}

func TestAgentsAreListedInTheOrderOfTheirEntries(t *testing.T) {
	r := newRig(t, Config{})
	load(t, r.host.Root(), Plugin, Config{}, core.Named("agent:second"), core.Order(2))
	load(t, r.host.Root(), Plugin, Config{Name: "boss"}, core.Named("agent:first"), core.Order(1))
	var names []string
	for _, a := range r.runner().List() {
		names = append(names, a.Name)
	}
	if diff := cmp.Diff([]string{"agent", "boss", "second"}, names); diff != "" {
		t.Error(diff)
	}
}

func TestTurnGoesToTheNamedAgent(t *testing.T) {
	r := newRig(t, Config{System: "I am the first."}, coretest.Says("a"), coretest.Says("b"))
	load(t, r.host.Root(), Plugin, Config{System: "I am the reader."}, core.Named("agent:reader"), core.Order(1))
	res, err := r.run(t.Context(), core.Turn{Agent: "reader", Message: llm.UserText("x")})
	if err != nil || res.Agent != "reader" || llm.PartsText(r.model.Requests()[0].System) != "I am the reader." {
		t.Errorf("got %+v, %v", res, err)
	}
	_, err = r.run(t.Context(), core.Turn{Agent: "reder", Message: llm.UserText("x")})
	if err == nil || !strings.Contains(err.Error(), `did you mean "reader"?`) {
		t.Errorf("got %v", err)
	}
}

func TestTwoAgentsOfOneNameAreRefused(t *testing.T) {
	r := newRig(t, Config{})
	f, err := core.Load(r.host.Root(), Plugin, Config{Name: "agent"}, core.Named("agent:x"))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "there is an agent \"agent\" already") {
		t.Errorf("got %v", err)
	}
}

func TestAutoTakesTheFirstReadyProviderAndOfflineLast(t *testing.T) {
	r := newRig(t, Config{})
	offline, second := coretest.NewModel(), coretest.NewModel()
	offline.Info.Model, second.Info.Model = "offline", "big"
	r.provider("offline", offline, core.Order(1))
	r.provider("second", second, core.Order(2))
	models := &registry{hub: r.host.Root()}
	resolve := func(name string) string {
		_, full, err := models.Resolve(name)
		if err != nil {
			return err.Error()
		}
		return full
	}
	if got := resolve("auto"); got != "scripted/scripted" {
		t.Errorf("got %s", got)
	}
	r.model.Lacks = "no key"
	if got := resolve("auto"); got != "second/big" {
		t.Errorf("got %s", got)
	}
	second.Lacks = "no key"
	if got := resolve(""); got != "offline/offline" {
		t.Errorf("got %s", got)
	}
	offline.Lacks = "broken"
	for name, want := range map[string]string{
		"auto":         "no model provider is ready (scripted: no key; second: no key; offline: broken)",
		"scripted/x":   `model "scripted/x": scripted is not ready: no key`,
		"skripted/x":   `did you mean "scripted"?`,
		"other/thing":  "there are offline, scripted, second",
		"unrelatedxyz": "no provider",
	} {
		if got := resolve(name); !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

func TestAProviderNameIsTakenOnce(t *testing.T) {
	r := newRig(t, Config{})
	models := &registry{hub: r.host.Root()}
	for _, name := range []string{"scripted", "auto", "", "a/b"} {
		if err := models.Add(r.host.Root(), name, coretest.NewModel()); err == nil {
			t.Errorf("%q was taken", name)
		}
	}
}

func TestUnloadingAProviderEndsItsStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Config{Model: "slow"})
		speaking := make(chan struct{})
		slow := coretest.NewModel(coretest.Reply{Wait: func(ctx context.Context) { close(speaking); <-ctx.Done() }})
		f := r.provider("slow", slow)
		go func() {
			<-speaking
			if err := f.Dispose(t.Context()); err != nil {
				t.Error(err)
			}
		}()
		_, err := r.run(t.Context(), core.Turn{Message: llm.UserText("x")})
		var fault *llm.Error
		if !errors.As(err, &fault) {
			t.Errorf("got %v", err)
		}
		if err := r.host.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestUnloadingAnAgentCancelsItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		speaking := make(chan struct{})
		r := newRig(t, Config{}, coretest.Reply{Wait: func(ctx context.Context) { close(speaking); <-ctx.Done() }})
		done := make(chan error)
		go func() {
			<-speaking
			done <- r.agent.Dispose(t.Context())
		}()
		res, err := r.run(t.Context(), core.Turn{Message: llm.UserText("x")})
		if err != nil || res.Stop != core.StopCancelled {
			t.Errorf("got %+v, %v", res, err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		if err := r.host.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestAToolMayUnloadItsOwnAgent(t *testing.T) {
	r := newRig(t, Config{}, coretest.Calls("suicide", `{}`), coretest.Says("still here"))
	var got error
	r.tool("suicide", core.Traits{}, func(ctx context.Context, _ map[string]any) (string, error) {
		got = r.agent.Dispose(ctx)
		return "ok", nil
	})
	res, err := r.run(t.Context(), core.Turn{Message: llm.UserText("x")})
	if !errors.Is(got, core.ErrSelfWait) {
		t.Errorf("dispose: %v", got)
	}
	if err != nil || res.Stop != core.StopDone {
		t.Errorf("got %+v, %v", res, err)
	}
}

func TestNewConfigIsTakenInPlace(t *testing.T) {
	r := newRig(t, Config{System: "old", Budgets: Budgets{Steps: 5}}, coretest.Calls("edit", `{}`), coretest.Says("ok"), coretest.Says("next"))
	r.tool("edit", core.Traits{}, func(ctx context.Context, _ map[string]any) (string, error) {
		return "", core.Update(ctx, r.agent, Config{System: "new"})
	})
	uid := r.agent.Since()
	res := r.say("", "x")
	if res.Stop != core.StopDone || r.agent.Since() != uid {
		t.Errorf("got %+v; restarted: %v", res, r.agent.Since() != uid)
	}
	r.say(res.Session, "y")
	var systems []string
	for _, req := range r.model.Requests() {
		systems = append(systems, llm.PartsText(req.System))
	}
	if diff := cmp.Diff([]string{"old", "old", "new"}, systems); diff != "" {
		t.Error(diff)
	}
}

func TestFilterAndGroupsNarrowWhatAnAgentSees(t *testing.T) {
	r := newRig(t, Config{Filter: &Filter{Include: []string{"read_*"}, Exclude: []string{"read_secret"}}},
		coretest.Calls("write_x", `{}`), coretest.Says("ok"))
	for _, name := range []string{"read_a", "read_secret", "write_x"} {
		r.tool(name, core.Traits{}, echo)
	}
	r.say("", "x")
	if tools := r.model.Requests()[0].Tools; len(tools) != 1 || tools[0].Name != "read_a" {
		t.Errorf("got %v", tools)
	}
	if got := r.results()[0]; !got.IsError || !strings.Contains(llm.PartsText(got.Parts), `there is no tool "write_x"`) {
		t.Errorf("got %+v", got)
	}
}

func TestTurnsOfOneSessionRunOneAfterTheOther(t *testing.T) {
	var mu sync.Mutex
	running, most := 0, 0
	reply := coretest.Reply{Text: "ok", Wait: func(context.Context) {
		mu.Lock()
		defer mu.Unlock()
		running++
		most = max(most, running)
		running--
	}}
	r := newRig(t, Config{}, coretest.Says("first"), reply, reply, reply, reply)
	session := r.say("", "x").Session
	runner := r.runner()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if _, err := runner.Run(t.Context(), core.Turn{Session: session, Message: llm.UserText("y")}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	last := r.model.Requests()[4].Messages
	if most != 1 || len(last) != 9 {
		t.Errorf("%d at the same time, %d messages at the end", most, len(last))
	}
}

func TestATurnInItsOwnSessionIsRefused(t *testing.T) {
	r := newRig(t, Config{}, coretest.Calls("again", `{}`), coretest.Says("ok"))
	runner := r.runner()
	r.tool("again", core.Traits{}, func(ctx context.Context, _ map[string]any) (string, error) {
		s, _ := core.SessionFrom(ctx)
		_, err := runner.Run(ctx, core.Turn{Session: s.ID(), Message: llm.UserText("x")})
		return "", err
	})
	r.say("", "x")
	if got := r.results()[0]; !got.IsError || !strings.Contains(llm.PartsText(got.Parts), "is in the turn that asks") {
		t.Errorf("got %+v", got)
	}
}

func TestWaitingForASessionEndsWithTheContext(t *testing.T) {
	var l locks
	release, err := l.acquire(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	if _, err := l.acquire(ctx, "s"); err == nil || err.Error() != "enough" {
		t.Errorf("got %v", err)
	}
	release()
	if len(l.held) != 0 {
		t.Errorf("%d locks are left", len(l.held))
	}
}

func TestSubAgentsWorkInSessionsOfTheirOwn(t *testing.T) {
	r := newRig(t, Config{}, coretest.Calls("agent_reader", `{"task":"read it"}`), coretest.Says("it says x"), coretest.Says("done"))
	load(t, r.host.Root(), Plugin, Config{Offer: &Offer{Description: "Reads."}, System: "reader"}, core.Named("agent:reader"), core.Order(1))
	res := r.say("", "go")
	reqs := r.model.Requests()
	sub := reqs[1]
	if llm.PartsText(sub.System) != "reader" || len(sub.Messages) != 1 || sub.Viewer.Session == res.Session || sub.Viewer.Agent != "reader" {
		t.Errorf("sub-agent's request %+v", sub)
	}
	for _, tool := range sub.Tools {
		if tool.Name == "agent_reader" {
			t.Error("the agent sees itself as a tool")
		}
	}
	if got := r.results()[0]; llm.PartsText(got.Parts) != "it says x" {
		t.Errorf("got %+v", got)
	}
}

func TestSubAgentsCountForTheirCaller(t *testing.T) {
	call := coretest.Calls("agent_reader", `{"task":"read it"}`)
	call.Usage = llm.Usage{Input: 10, Output: 1}
	r := newRig(t, Config{Budgets: Budgets{Tokens: 100}}, call,
		coretest.Reply{Calls: []llm.ToolCall{{Name: "w", Args: `{}`}}, Usage: llm.Usage{Input: 50, Output: 40}},
		coretest.Says("could not"))
	r.decide(decider{"w": {Verdict: core.Deny, Policy: core.Ask, Nobody: true}})
	r.tool("w", core.Traits{Effect: core.Write}, echo)
	load(t, r.host.Root(), Plugin, Config{
		Offer: &Offer{Description: "Reads."}, Prices: map[string]Price{"*": {Input: 1e6}},
	}, core.Named("agent:reader"), core.Order(1))
	res := r.say("", "go")
	if res.Stop != core.StopTokens || res.Usage.Input != 60 || res.Usage.Output != 41 || res.Cost != 50 || len(res.Denied) != 1 {
		t.Errorf("got %+v", res)
	}
	h, _ := hubOf(r)
	events, err := h.local.Read(t.Context(), res.Session)
	if err != nil {
		t.Fatal(err)
	}
	if u, cost, err := Spent(events); err != nil || u.Input != 10 || cost != 0 {
		t.Errorf("the session spent %+v, %v, %v", u, cost, err)
	}
}

func TestE30_DepthOfSubAgentsIsBounded(t *testing.T) {
	r := newRig(t, Config{Budgets: Budgets{Depth: 2}}, coretest.Calls("agent_b", `{"task":"t"}`))
	b := Config{Offer: &Offer{Description: "b"}, Budgets: Budgets{Depth: 2}}
	load(t, r.host.Root(), Plugin, b, core.Named("agent:b"), core.Order(1))
	load(t, r.host.Root(), Plugin, Config{Offer: &Offer{Description: "c"}, Budgets: Budgets{Depth: 2}}, core.Named("agent:c"), core.Order(2))
	r.model.Add(coretest.Calls("agent_c", `{"task":"t"}`), coretest.Calls("agent_b", `{"task":"t"}`), // depth 1, 2; 3 is refused
		coretest.Says("c gives up"), coretest.Says("b gives up"), coretest.Says("done"))
	if res := r.say("", "go"); res.Text != "done" || r.model.Left() != 0 {
		t.Errorf("got %+v, %d replies left", res, r.model.Left())
	}
	var refused string
	for _, req := range r.model.Requests() {
		for _, m := range req.Messages {
			for _, p := range m.Parts {
				if p.Result != nil && p.Result.IsError {
					refused = llm.PartsText(p.Result.Parts)
				}
			}
		}
	}
	if !strings.Contains(refused, "more than 2 deep") {
		t.Errorf("got %q", refused)
	}
}

func TestPriceOfAnAnswer(t *testing.T) {
	prices := map[string]Price{
		"*": {Input: 1}, "openai/*": {Input: 2, Output: 8}, "openai/big": {Input: 10, Output: 40, CacheRead: 1},
	}
	u := llm.Usage{Input: 1_000_000, Output: 500_000, CacheRead: 400_000}
	for model, want := range map[string]float64{
		"openai/big": 6 + 20 + 0.4, "openai/small": 2 + 4, "x": 1, "a/b": 1,
	} {
		if got := price(prices, model, u); got < want-1e-9 || got > want+1e-9 {
			t.Errorf("%s: got %v, want %v", model, got, want)
		}
	}
}

func TestSystemPromptFromAFileIsReadForEachTurn(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "prompt.md")
	r := newRig(t, Config{SystemFile: name}, coretest.Says("a"), coretest.Says("b"))
	for i, text := range []string{"one", "two"} {
		if err := os.WriteFile(name, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		r.say("", "x")
		if got := llm.PartsText(r.model.Requests()[i].System); got != text {
			t.Errorf("got %q, want %q", got, text)
		}
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if _, err := r.run(t.Context(), core.Turn{Message: llm.UserText("x")}); err == nil || !strings.Contains(err.Error(), "systemFile of agent agent") {
		t.Errorf("got %v", err)
	}
}

func TestConfigRefusesWhatCannotWork(t *testing.T) {
	for _, cfg := range []Config{
		{System: "a", SystemFile: "b"}, {Budgets: Budgets{Repeats: 1}}, {Budgets: Budgets{Wall: -time.Second}},
		{Prices: map[string]Price{"[": {}}},
	} {
		if err := cfg.validate(); err == nil {
			t.Errorf("%+v was accepted", cfg)
		}
	}
}

func TestASubAgentSaysWhoseBudgetEndedIt(t *testing.T) {
	inBubble(t, func(t *testing.T) *rig {
		r := newRig(t, Config{Budgets: Budgets{Wall: 10 * time.Second}}, coretest.Calls("agent_sub", `{"task":"x"}`), coretest.Calls("hang", `{}`))
		load(t, r.host.Root(), Plugin, Config{Name: "sub", Offer: &Offer{Description: "d"}, Budgets: Budgets{Wall: time.Hour}})
		r.tool("hang", core.Traits{}, func(ctx context.Context, _ map[string]any) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		})
		ended := r.onBus(core.AgentFinish)
		r.say("", "go")
		var got []string
		for _, ev := range ended() {
			got = append(got, fmt.Sprintf("%s: %s: %s", ev.Agent, ev.Result.Stop, ev.Text))
		}
		want := []string{"sub: wall: the budget of its caller, agent, is 10s", "agent: wall: the budget is 10s"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		return r
	})
}
