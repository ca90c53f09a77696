package toolpolicy

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/plugins/toolpolicy/audit"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	answerForADaemon()
	goleak.VerifyTestMain(m)
}

// house is a host with the plugin, tools that count their entries, and rules
// that the test changes.
type house struct {
	t       testing.TB
	host    *core.Host
	c       *core.Context
	fiber   *core.Fiber
	peek    *core.Fiber // looks at the plugin's services
	admin   *Admin
	broker  core.Broker
	state   string
	rules   atomic.Pointer[core.PolicyConfig]
	mu      sync.Mutex
	entered map[string]int
	block   map[string]chan struct{} // a call of the tool waits for it
	secrets []string
}

func (h *house) Secrets() []string { return h.secrets }

func (h *house) Current() *core.PolicyConfig { return h.rules.Load() }

// newHouse starts a host. Tools: r (read), w (write), x (exec), u
// (undeclared), each taking a string "command".
func newHouse(t testing.TB, state string, cfg Config, rules ...string) *house {
	t.Helper()
	h := &house{t: t, state: state, entered: map[string]int{}, block: map[string]chan struct{}{}}
	h.rules.Store(&core.PolicyConfig{Rules: lines(t, rules...)})
	h.host = core.New(&core.Options{Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), Grace: 50 * time.Millisecond})
	h.c = h.host.Root()
	t.Cleanup(h.close)
	h.must(core.Environment.Provide(h.c, core.Paths{
		Config: filepath.Join(state, "project", "agent.yml"), Dir: filepath.Join(state, "project"),
		State: filepath.Join(state, "state"),
	}))
	h.must(os.MkdirAll(filepath.Join(state, "state"), 0o700))
	h.must(core.PolicyRules.Provide(h.c, h))
	h.must(core.Secrets.Provide(h.c, h))
	for name, effect := range map[string]core.Effect{"r": core.Read, "w": core.Write, "x": core.Exec, "u": core.Undeclared} {
		h.define(core.Tool{Name: name, Traits: core.Traits{Effect: effect, Parallel: true}})
	}
	h.load(cfg)
	return h
}

func (h *house) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *house) define(tool core.Tool) {
	h.t.Helper()
	tool.Description = "A tool of the test."
	if tool.Parameters == nil {
		tool.Parameters = json.RawMessage(`{"type":"object","properties":{"command":{"type":"string"},"path":{"type":"string"}}}`)
	}
	tool.Run = func(ctx context.Context, call *core.Invocation) (core.Result, error) {
		h.mu.Lock()
		h.entered[tool.Name]++
		wait := h.block[tool.Name]
		h.mu.Unlock()
		if wait != nil {
			select {
			case <-wait:
			case <-ctx.Done():
				return core.Result{}, ctx.Err()
			}
		}
		return core.TextResult("ran " + tool.Name), nil
	}
	h.must(h.c.Tools().Define(tool))
}

// load starts the plugin and waits for it.
func (h *house) load(cfg Config) {
	h.t.Helper()
	if h.peek != nil {
		h.must(h.peek.Dispose(h.c))
	}
	f, err := core.Load(h.c, Plugin, cfg)
	h.must(err)
	h.must(f.Ready(h.c))
	h.fiber = f
	f2, err := core.Load(h.c, core.Plugin[struct{}]{
		Name: "peek", Needs: core.Needs(Admins, core.Approvals, core.Permissions),
		Apply: func(c *core.Context, _ struct{}) error {
			h.admin, _ = Admins.Get(c)
			h.broker, _ = core.Approvals.Get(c)
			return nil
		},
	}, struct{}{})
	h.must(err)
	h.must(f2.Ready(h.c))
	h.peek = f2
}

func (h *house) close() {
	if err := h.host.Close(context.WithoutCancel(h.t.Context())); err != nil {
		h.t.Errorf("close: %v", err)
	}
}

// set changes the rules as a reload does.
func (h *house) set(rules ...string) {
	h.t.Helper()
	h.rules.Store(&core.PolicyConfig{Rules: lines(h.t, rules...)})
	h.must(core.PolicyChanged.Emit(h.c, h.rules.Load()))
}

func (h *house) times(tool string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.entered[tool]
}

var viewer = core.Viewer{Agent: "a", Session: "s1", User: "me"}

// call runs a tool with a command in a turn of session s1.
func (h *house) call(tool, command string) core.Result {
	return h.callIn(h.c, viewer, "turn1", tool, command)
}

func (h *house) callIn(ctx context.Context, v core.Viewer, turn, tool, command string) core.Result {
	args, _ := json.Marshal(map[string]string{"command": command})
	return h.c.Tools().Execute(ctx, core.Call{Name: tool, Args: args, Viewer: v, Turn: turn})
}

// wants checks a result's code, "" for success.
func (h *house) wants(r core.Result, code core.ErrorCode) {
	h.t.Helper()
	got := core.ErrorCode("")
	if r.Err != nil {
		got = r.Err.Code
	}
	if got != code {
		h.t.Errorf("got %q (%v), want %q", got, r.Err, code)
	}
}

// person is an asker that answers from a list, then with its last answer.
type person struct {
	mu      sync.Mutex
	answers []core.Answer
	asked   []core.Approval
	takes   func(session string) bool
}

func says(kinds ...core.AnswerKind) *person {
	p := &person{}
	for _, k := range kinds {
		p.answers = append(p.answers, core.Answer{Kind: k, By: "tester"})
	}
	return p
}

func (p *person) Name() string { return "person" }

func (p *person) Takes(session string) bool { return p.takes == nil || p.takes(session) }

func (p *person) Ask(ctx context.Context, a core.Approval) (core.Answer, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, a)
	if len(p.answers) == 0 {
		p.mu.Unlock()
		<-ctx.Done()
		p.mu.Lock()
		return core.Answer{}, ctx.Err()
	}
	ans := p.answers[0]
	if len(p.answers) > 1 {
		p.answers = p.answers[1:]
	}
	return ans, nil
}

func (p *person) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.asked)
}

func (p *person) last() core.Approval {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked[len(p.asked)-1]
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

func TestRule10_AnswersLastAsLongAsTheirName(t *testing.T) {
	tests := []struct {
		kind core.AnswerKind
		// Whether a second call in the same turn, one in the next turn, one
		// in another session and one after a restart is asked about.
		again, turn, session, restart bool
		refuses                       bool
	}{
		{core.AnswerOnce, true, true, true, true, false},
		{core.AnswerTurn, false, true, true, true, false},
		{core.AnswerSession, false, false, true, true, false},
		{core.AnswerAlways, false, false, false, false, false},
		{core.AnswerReject, true, true, true, true, true},
		{core.AnswerNever, false, false, false, false, true},
	}
	for _, tt := range tests {
		t.Run("H2_T56_"+string(tt.kind), func(t *testing.T) {
			state := t.TempDir()
			h := newHouse(t, state, Config{})
			p := says(tt.kind, core.AnswerOnce)
			h.must(h.broker.AddAsker(h.c, p))
			code := core.ErrorCode("")
			if tt.refuses {
				code = core.CodeDenied
			}
			h.wants(h.call("x", "ls"), code)
			other := viewer
			other.Session = "s2"
			steps := []struct {
				name  string
				v     core.Viewer
				turn  string
				asked bool
			}{
				{"same turn", viewer, "turn1", tt.again}, {"next turn", viewer, "turn2", tt.turn}, {"other session", other, "turn3", tt.session},
			}
			for _, s := range steps {
				before := p.count()
				h.callIn(h.c, s.v, s.turn, "x", "ls")
				if asked := p.count() > before; asked != s.asked {
					t.Errorf("%s: asked %v, want %v", s.name, asked, s.asked)
				}
			}
			h.close()
			h = newHouse(t, state, Config{})
			p = says(core.AnswerOnce)
			h.must(h.broker.AddAsker(h.c, p))
			h.call("x", "ls")
			if asked := p.count() > 0; asked != tt.restart {
				t.Errorf("after a restart: asked %v, want %v", asked, tt.restart)
			}
		})
	}
}

func TestT17_AskOnceOffersNothingThatLasts(t *testing.T) {
	h := newHouse(t, t.TempDir(), Config{})
	p := says(core.AnswerAlways, core.AnswerOnce)
	h.must(h.broker.AddAsker(h.c, p))
	h.wants(h.call("x", "ls"), "")
	h.set("x = ask!")
	h.wants(h.call("x", "ls"), "")
	h.wants(h.call("x", "ls"), "")
	if p.count() != 3 {
		t.Errorf("asked %d times, want each time", p.count())
	}
	if got := p.last().Answers; !slices.Equal(got, []core.AnswerKind{core.AnswerOnce, core.AnswerReject}) {
		t.Errorf("offered %v", got)
	}
}

func TestRule02_T19_AnAskWrittenAfterAGrantWins(t *testing.T) {
	state := t.TempDir()
	h := newHouse(t, state, Config{})
	p := says(core.AnswerAlways, core.AnswerOnce)
	h.must(h.broker.AddAsker(h.c, p))
	h.wants(h.call("x", "ls"), "")
	h.wants(h.call("x", "ls"), "")
	if p.count() != 1 {
		t.Fatalf("asked %d times, want once", p.count())
	}
	h.set("x = ask")
	h.wants(h.call("x", "ls"), "")
	if p.count() != 2 {
		t.Error("the newer ask did not win over the grant")
	}
	e := h.admin.Explain(viewer, &core.Tool{Name: "x", Traits: core.Traits{Effect: core.Exec}}, nil)
	if grants, err := h.admin.Grants(); err != nil || len(grants) != 1 || !grants[0].Shadowed {
		t.Errorf("the grant is not listed as shadowed: %+v, %v", grants, err)
	}
	if len(e.Shadowed) != 1 || !strings.Contains(e.String(), "shadowed grant") {
		t.Errorf("the grant is not shown as shadowed: %+v", e)
	}
	// Off and back again, also over a restart that nobody saw: still newer.
	h.close()
	h = newHouse(t, state, Config{}, "x = ask")
	p = says(core.AnswerOnce)
	h.must(h.broker.AddAsker(h.c, p))
	h.call("x", "ls")
	if p.count() != 1 {
		t.Error("after a restart the older grant settled the newer ask")
	}
}

func TestH4_GrantsAreListedAndRevokedWithImmediateEffect(t *testing.T) {
	h := newHouse(t, t.TempDir(), Config{})
	p := says(core.AnswerAlways, core.AnswerSession, core.AnswerOnce)
	h.must(h.broker.AddAsker(h.c, p))
	h.call("x", "ls")
	h.call("w", "")
	grants, err := h.admin.Grants()
	h.must(err)
	if len(grants) != 2 || grants[0].Tool != "x" || grants[0].By != "tester" || grants[0].When.IsZero() || grants[1].Session != "s1" {
		t.Fatalf("got %+v", grants)
	}
	if grants[0].Shadowed || grants[1].Shadowed {
		t.Error("a grant in force is listed as shadowed")
	}
	// One from outside, as a command without the host does; one through it.
	h.must(RevokeGrant(h.admin.GrantsFile(), grants[0].ID))
	h.must(h.admin.Revoke(grants[1].ID))
	h.call("x", "ls")
	h.call("w", "")
	if p.count() != 4 {
		t.Errorf("asked %d times, want 4", p.count())
	}
	if err := h.admin.Revoke("nonsense"); !errors.Is(err, ErrNoGrant) {
		t.Errorf("got %v", err)
	}
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

func TestRule05_E17_HooksThatFailRefuseWhatIsNotRead(t *testing.T) {
	fails := func(context.Context, core.DecideRequest) (core.Objection, bool, error) {
		return core.Objection{}, false, errors.New("broken")
	}
	panics := func(context.Context, core.DecideRequest) (core.Objection, bool, error) { panic("broken") }
	hangs := func(ctx context.Context, _ core.DecideRequest) (core.Objection, bool, error) {
		<-ctx.Done()
		return core.Objection{}, false, ctx.Err()
	}
	for name, hook := range map[string]func(context.Context, core.DecideRequest) (core.Objection, bool, error){
		"fails": fails, "panics": panics, "hangs": hangs,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHouse(t, t.TempDir(), Config{}, "w = auto", "x = auto")
				h.must(core.ToolDecide.On(h.c, hook))
				h.wants(h.call("r", ""), "")
				h.wants(h.call("w", ""), core.CodeDenied)
				h.wants(h.call("x", "ls"), core.CodeDenied)
				h.close()
			})
		})
	}
}

func TestRule02_HooksDenyOrAskButNeverAllow(t *testing.T) {
	h := newHouse(t, t.TempDir(), Config{}, "x = auto", "w = off")
	var objection core.Objection
	object := func(context.Context, core.DecideRequest) (core.Objection, bool, error) { return objection, true, nil }
	asks := func(context.Context, core.DecideRequest) (core.Objection, bool, error) {
		return core.Objection{By: "first", Reason: "looks odd"}, true, nil
	}
	h.must(core.ToolDecide.On(h.c, asks))
	h.must(core.ToolDecide.On(h.c, object))
	objection = core.Objection{By: "second"}
	h.wants(h.call("w", ""), core.CodeUnknown)
	h.wants(h.call("x", "ls"), core.CodeNobody)
	objection = core.Objection{By: "second", Deny: true, Reason: "too dangerous"}
	r := h.call("x", "ls") // the deny behind an ask counts
	h.wants(r, core.CodeDenied)
	if !strings.Contains(r.Err.Message, "too dangerous") {
		t.Errorf("got %q", r.Err.Message)
	}
	objection = core.Objection{By: "second"}
	p := says(core.AnswerAlways)
	h.must(h.broker.AddAsker(h.c, p))
	h.wants(h.call("x", "ls"), "")
	h.wants(h.call("x", "ls"), "")
	if p.count() != 1 || p.last().Reason != "looks odd" {
		t.Errorf("asked %d times, reason %q", p.count(), p.last().Reason)
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

func TestRule07_AnAgentDoesNotLoosenItsOwnPolicy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, t.TempDir(), Config{}, "w = off", "x = auto")
		h.block["x"] = make(chan struct{})
		done := make(chan core.Result, 1)
		go func() { done <- h.call("x", "edit the policy") }()
		synctest.Wait()
		h.set("w = auto", "x = auto") // while x runs
		h.wants(h.call("w", ""), core.CodeUnknown)
		if len(h.admin.Held()) == 0 {
			t.Error("the change is not shown as held")
		}
		h.set("w = auto", "x = auto", "r = off") // a tightening counts at once
		h.wants(h.call("r", ""), core.CodeUnknown)
		close(h.block["x"])
		h.wants(<-done, "")
		h.set("w = auto", "x = auto") // within a debounce after it
		h.wants(h.call("w", ""), core.CodeUnknown)
		time.Sleep(time.Minute) // of the bubble's clock
		h.must(h.broker.AddAsker(h.c, says(core.AnswerOnce)))
		h.set("w = auto", "x = auto")
		synctest.Wait()
		h.wants(h.call("w", ""), "") // a person said yes
		if len(h.admin.Held()) != 0 {
			t.Error("still held")
		}
		time.Sleep(time.Minute)
		h.set("w = auto", "x = auto", "u = auto") // nothing runs: a person edits
		h.wants(h.call("u", ""), "")
		h.close()
	})
}

func TestRule07_ALooseningJustAfterACallWaitsToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, t.TempDir(), Config{}, "w = off", "x = auto")
		h.wants(h.call("r", ""), "")
		h.set("x = auto") // nothing but a read call ran
		h.wants(h.call("w", ""), core.CodeNobody)
		h.set("w = off", "x = auto")
		h.wants(h.call("x", "ls"), "")
		h.set("w = auto", "x = auto")
		h.wants(h.call("w", ""), core.CodeUnknown)
		h.close()
	})
}

func TestRule07_WritingAgentdsOwnFilesAsksWhateverThePolicySays(t *testing.T) {
	h := newHouse(t, t.TempDir(), Config{}, "* = auto")
	dir := filepath.Join(h.state, "project")
	tests := []struct {
		tool, command string
		asks          bool
	}{
		{"w", "notes.txt", false},
		{"w", "agent.yml", true},
		{"w", "./sub/../agent.yml", true},
		{"w", filepath.Join(dir, "AGENT.YML"), true},
		{"w", "sub/agent.yml", true},
		{"w", ".agentd/skills/x.md", true},
		{"w", filepath.Join(h.state, "state", "grants.json"), true},
		{"w", filepath.Join(h.state, "state", "new"), true},
		{"w", "text that mentions agent.yml\nand more", false},
		{"x", "sed -i s/ask/auto/ agent.yml", true},
		{"x", "sh -c 'cat > .agentd/x'", true},
		{"x", "ls -l", false},
		{"u", "echo >> Agent.yml", true},
		{"r", "agent.yml", false},
	}
	for _, tt := range tests {
		code := core.ErrorCode("")
		if tt.asks {
			code = core.CodeNobody
		}
		r := h.call(tt.tool, tt.command)
		if got := r.Err; (got == nil) != (code == "") || got != nil && got.Code != code {
			t.Errorf("%s %q: got %v, want %q", tt.tool, tt.command, got, code)
		}
	}
	p := says(core.AnswerOnce)
	h.must(h.broker.AddAsker(h.c, p))
	h.wants(h.call("w", "agent.yml"), "")
	if got := p.last().Answers; !slices.Equal(got, []core.AnswerKind{core.AnswerOnce, core.AnswerReject}) {
		t.Errorf("offered %v", got)
	}
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

func TestRule13_TwoEqualCallsAreAskedOneAfterTheOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, t.TempDir(), Config{})
		p := says()
		h.must(h.broker.AddAsker(h.c, p))
		results := make(chan core.Result, 2)
		for range 2 {
			go func() { results <- h.call("x", "same") }()
		}
		synctest.Wait()
		h.wants(h.call("r", ""), "") // an auto sibling does not wait for them
		for i := range 2 {
			synctest.Wait()
			if p.count() != i+1 {
				t.Fatalf("asked %d times before answer %d", p.count(), i+1)
			}
			a := p.last()
			h.must(h.broker.Answer(a.ID, a.Digest, core.Answer{Kind: core.AnswerOnce}))
		}
		h.wants(<-results, "")
		h.wants(<-results, "")
		h.close()
	})
}

func TestRule14_ASubAgentAsksThroughTheSessionThatBegan(t *testing.T) {
	h := newHouse(t, t.TempDir(), Config{})
	p := says(core.AnswerSession)
	p.takes = func(session string) bool { return session == "s1" }
	h.must(h.broker.AddAsker(h.c, p))
	sub := core.Viewer{Agent: "helper", Session: "sub", Parent: "s1"}
	h.wants(h.callIn(h.c, sub, "subturn", "x", "ls"), "")
	if p.last().Session != "s1" || p.last().Agent != "helper" {
		t.Errorf("asked as %+v", p.last())
	}
	h.wants(h.call("x", "ls"), "") // the same person said yes for the session
	if p.count() != 1 {
		t.Errorf("asked %d times", p.count())
	}
	h.wants(h.callIn(h.c, core.Viewer{Session: "sub"}, "t", "x", "ls"), core.CodeNobody)
}

func TestT79_AGrantIsNeverForgotten(t *testing.T) {
	h := newHouse(t, t.TempDir(), Config{})
	p := says(core.AnswerSession)
	h.must(h.broker.AddAsker(h.c, p))
	for range 1000 {
		if r := h.call("x", "ls"); r.Err != nil {
			t.Fatal(r.Err)
		}
	}
	if p.count() != 1 {
		t.Errorf("asked %d times, want once", p.count())
	}
}
