package toolpolicy

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentd-host/agentd/core"
)

var policySeed = flag.Uint64("policy.seed", 0, "play only this schedule of the model test")

// model is the plain reading of the rules, one step at a time: which value a
// tool has, which grants there are and what came first.
type model struct {
	rules  map[string]core.Policy
	asking map[string]int // rule that asks -> when it was written
	clock  int
	grants []modelGrant
	halted map[string]string
	open   []*modelCall
}

type modelGrant struct {
	tool, session, turn, rule string
	kind                      core.AnswerKind
	at                        int
}

type modelCall struct {
	tool, session, turn string
	rule                string
	value               core.Policy // when it was asked
	result              chan core.Result
	cancel              context.CancelFunc
}

var modelEffects = map[string]core.Policy{"r": core.Auto, "w": core.Ask, "x": core.Ask}

func newModel() *model {
	return &model{rules: map[string]core.Policy{}, asking: map[string]int{}, halted: map[string]string{}, clock: 1}
}

func (m *model) value(tool string) (core.Policy, string) {
	if v, ok := m.rules[tool]; ok {
		return v, tool + string(v)
	}
	return modelEffects[tool], "default"
}

// toggle sets or ("") removes the rule of a tool.
func (m *model) toggle(tool string, v core.Policy) {
	m.rules[tool] = v
	if v == "" {
		delete(m.rules, tool)
	}
	asking := map[string]int{}
	for name, v := range m.rules {
		if v == core.Ask {
			asking[name+string(v)] = m.clock + 1
		}
	}
	for rule := range asking {
		if at, known := m.asking[rule]; known {
			asking[rule] = at
		}
	}
	if len(asking) != len(m.asking) || slices.ContainsFunc(slices.Collect(maps.Keys(asking)), func(r string) bool { return m.asking[r] == 0 }) {
		m.clock++
	}
	m.asking = asking
}

// expect says what a call comes to: a code, or "asks".
func (m *model) expect(c *modelCall) core.ErrorCode {
	c.value, c.rule = m.value(c.tool)
	switch {
	case c.value == core.Off:
		return core.CodeUnknown
	case m.halted[c.session] == c.turn:
		return core.CodeDenied
	}
	return m.granted(c)
}

func (m *model) granted(c *modelCall) core.ErrorCode {
	allowed := c.value == core.Auto
	for _, g := range m.grants {
		switch {
		case g.tool != c.tool:
		case g.kind == core.AnswerNever:
			return core.CodeDenied
		case c.value != core.Ask, !m.holds(g, c):
		case g.kind == core.AnswerAlways, g.session == c.session && (g.turn == "" || g.turn == c.turn):
			allowed = true
		}
	}
	if allowed {
		return ""
	}
	return "asks"
}

// holds: the rule that asks must not be newer than the grant.
func (m *model) holds(g modelGrant, c *modelCall) bool {
	if c.rule == "default" {
		return true
	}
	if at, configured := m.asking[c.rule]; configured {
		return at <= g.at
	}
	return g.rule == c.rule
}

// answer records what a person said about an open question.
func (m *model) answer(c *modelCall, kind core.AnswerKind) {
	g := modelGrant{tool: c.tool, rule: c.rule, kind: kind, at: m.clock}
	switch kind {
	case core.AnswerTurn:
		g.session, g.turn = c.session, c.turn
	case core.AnswerSession:
		g.session = c.session
	case core.AnswerAlways, core.AnswerNever:
		m.clock++
		g.at = m.clock
	case core.AnswerStop:
		m.halted[c.session] = c.turn
		return
	default:
		return
	}
	m.grants = append(m.grants, g)
}

// still says what an open question has come to.
func (m *model) still(c *modelCall, answered string) core.ErrorCode {
	if v, _ := m.value(c.tool); v == core.Off {
		return core.CodeUnknown
	}
	if answered != c.session && answered != "all" {
		return "asks"
	}
	if m.halted[c.session] == c.turn {
		return core.CodeDenied
	}
	then, now := m.granted(c), *c
	now.value, now.rule = m.value(c.tool)
	if then == "" {
		return m.granted(&now)
	}
	return then
}

// play runs one schedule against the real thing.
type play struct {
	*testing.T
	h       *house
	m       *model
	rng     *rand.Rand
	turns   map[string]int
	entries map[string]int
	log     []string
}

func TestRule04_AgreesWithTheModel(t *testing.T) {
	seeds := []uint64{*policySeed}
	if *policySeed == 0 {
		seeds = nil
		for s := range uint64(60) {
			seeds = append(seeds, s+1)
		}
	}
	for _, seed := range seeds {
		ok := t.Run(fmt.Sprint("seed", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHouse(t, t.TempDir(), Config{Approval: ApprovalConfig{Timeout: time.Hour}})
				h.must(h.broker.AddAsker(h.c, says()))
				p := &play{T: t, h: h, m: newModel(), rng: rand.New(rand.NewPCG(seed, 7)), turns: map[string]int{}, entries: map[string]int{}}
				for range 60 {
					p.step()
					if t.Failed() {
						t.Logf("replay with -policy.seed=%d:\n%v", seed, p.log)
						break
					}
				}
				for _, c := range p.m.open {
					c.cancel()
					<-c.result
				}
				h.close()
			})
		})
		if !ok {
			return
		}
	}
}

func (p *play) note(format string, args ...any) {
	p.log = append(p.log, fmt.Sprintf(format+"\n", args...))
}

func (p *play) pick(from ...string) string { return from[p.rng.IntN(len(from))] }

func (p *play) step() {
	switch n := p.rng.IntN(20); {
	case n < 4:
		p.toggle(p.pick("r", "w", "x"), core.Policy(p.pick("", "auto", "ask", "ask", "ask!", "off")))
	case n < 12:
		session := p.pick("s1", "s2")
		p.call(p.pick("r", "w", "x"), session, fmt.Sprint(session, "-", p.turns[session]))
	case n < 16 && len(p.m.open) > 0:
		p.answer(p.m.open[p.rng.IntN(len(p.m.open))])
	case n < 17 && len(p.m.open) > 0:
		p.cancel(p.rng.IntN(len(p.m.open)))
	case n < 18:
		p.turns[p.pick("s1", "s2")]++
	default:
		p.revoke()
	}
}

func (p *play) toggle(tool string, v core.Policy) {
	p.note("toggle %s %q", tool, v)
	p.m.toggle(tool, v)
	time.Sleep(settleTime) // of the bubble: no call is to blame for the change
	var rules []string
	for _, name := range slices.Sorted(maps.Keys(p.m.rules)) {
		rules = append(rules, name+" = "+string(p.m.rules[name]))
	}
	p.h.set(rules...)
	p.settle("")
}

func (p *play) call(tool, session, turn string) {
	ctx, cancel := context.WithCancel(p.h.c)
	c := &modelCall{tool: tool, session: session, turn: turn, result: make(chan core.Result, 1), cancel: cancel}
	want := p.m.expect(c)
	p.note("call %s %s: %q", tool, turn, want)
	go func() {
		c.result <- p.h.callIn(ctx, core.Viewer{Session: session}, turn, tool, "same")
	}()
	if want == "asks" {
		p.m.open = append(p.m.open, c)
		p.settle("")
		return
	}
	p.check(c, want)
	p.settle("")
}

// check waits for a result; a question where none is expected fails.
func (p *play) check(c *modelCall, want core.ErrorCode) {
	p.Helper()
	synctest.Wait()
	if want == "" {
		p.entries[c.tool]++
	}
	select {
	case r := <-c.result:
		p.h.t = p.T
		p.h.wants(r, want)
	default:
		p.Errorf("%s in %s still waits, want %q", c.tool, c.turn, want)
		c.cancel()
		<-c.result
	}
	c.cancel()
}

// settle looks at every open question after something changed; answered is
// the session in which an answer was given.
func (p *play) settle(answered string) {
	p.Helper()
	synctest.Wait()
	var open []*modelCall
	for _, c := range p.m.open {
		if want := p.m.still(c, answered); want != "asks" {
			p.check(c, want)
			continue
		}
		open = append(open, c)
	}
	p.m.open = open
	for tool, want := range p.entries {
		if got := p.h.times(tool); got != want {
			p.Errorf("%s was entered %d times, want %d", tool, got, want)
		}
	}
	if got := len(p.h.broker.Pending("")); got != len(open) {
		p.Errorf("%d questions wait, want %d", got, len(open))
	}
}

func (p *play) answer(c *modelCall) {
	kinds := []core.AnswerKind{core.AnswerOnce, core.AnswerTurn, core.AnswerSession, core.AnswerAlways, core.AnswerReject, core.AnswerNever, core.AnswerStop}
	if now, _ := p.m.value(c.tool); c.value == core.AskOnce || now == core.AskOnce {
		kinds = []core.AnswerKind{core.AnswerOnce, core.AnswerReject}
	}
	kind := kinds[p.rng.IntN(len(kinds))]
	i := slices.Index(p.m.open, c)
	// Questions of one session stand in the order of their calls.
	before := 0
	for _, o := range p.m.open[:i] {
		if o.session == c.session {
			before++
		}
	}
	pending := p.h.broker.Pending(c.session)
	if before >= len(pending) || pending[before].Tool != c.tool {
		p.Errorf("the question of %s is not at place %d of %v", c.tool, before, pending)
		return
	}
	a := pending[before]
	p.note("answer %s %s: %s", c.tool, c.turn, kind)
	p.h.must(p.h.broker.Answer(a.ID, a.Digest, core.Answer{Kind: kind}))
	p.m.open = slices.Delete(p.m.open, i, i+1)
	want := core.CodeDenied
	if kind.Allows() {
		want = ""
	}
	p.m.answer(c, kind)
	p.check(c, want)
	switch kind {
	case core.AnswerAlways, core.AnswerNever:
		p.settle("all")
	case core.AnswerTurn, core.AnswerSession, core.AnswerStop:
		p.settle(c.session)
	default:
		p.settle("")
	}
}

func (p *play) cancel(i int) {
	c := p.m.open[i]
	p.note("cancel %s %s", c.tool, c.turn)
	c.cancel()
	synctest.Wait()
	if r := <-c.result; r.Err == nil {
		p.Error("a cancelled call ran")
	}
	p.m.open = slices.Delete(p.m.open, i, i+1)
	p.settle("")
}

func (p *play) revoke() {
	grants, err := p.h.admin.Grants()
	p.h.must(err)
	if len(grants) == 0 {
		return
	}
	g := grants[p.rng.IntN(len(grants))]
	p.note("revoke %+v", g)
	p.h.must(p.h.admin.Revoke(g.ID))
	i := slices.IndexFunc(p.m.grants, func(m modelGrant) bool {
		always := m.kind == core.AnswerAlways
		return m.tool == g.Tool && m.session == g.Session && m.turn == g.Turn && m.at == int(g.Seq) &&
			always == (g.Allow && g.Session == "") && (m.kind == core.AnswerNever) == !g.Allow
	})
	if i < 0 {
		p.Errorf("a grant that the model does not know: %+v", g)
		return
	}
	p.m.grants = slices.Delete(p.m.grants, i, i+1)
}

func TestRule04_TogglesBetweenFreeRunningCalls(t *testing.T) {
	h := newHouse(t, t.TempDir(), Config{}, "r = auto", "q = ask")
	h.define(core.Tool{Name: "q", Traits: core.Traits{Effect: core.Read}})
	h.must(h.broker.AddAsker(h.c, says(core.AnswerOnce)))
	// An even generation stands still: at 0, 4, 8 … r runs, at 2, 6 … it is
	// off. An odd one is changing.
	var generation atomic.Int64
	var wg sync.WaitGroup
	done := make(chan struct{})
	for range 3 {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				before := generation.Load()
				r := h.call("r", "")
				h.callIn(h.c, viewer, "t", "q", "ls")
				if before%2 != 0 || generation.Load() != before {
					continue
				}
				if off := before%4 == 2; off != (r.Err != nil) {
					t.Errorf("generation %d: got %v", before, r.Err)
				}
			}
		})
	}
	for range 40 {
		generation.Add(1)
		h.set("r = off", "q = ask")
		generation.Add(1)
		h.call("r", "")
		generation.Add(1)
		h.set("r = auto", "q = ask")
		generation.Add(1)
		h.call("r", "")
	}
	close(done)
	wg.Wait()
	if len(h.broker.Pending("")) != 0 {
		t.Error("questions are left")
	}
}
