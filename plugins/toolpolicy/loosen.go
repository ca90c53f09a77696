package toolpolicy

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/agentd-host/agentd/core"
)

// holdLoosening keeps the old policy in force beside the new one where the
// new one is milder and a running call may be the reason: the agent must not
// loosen its own policy. A person is asked; until then, and after a no, the
// stricter of both holds. changing is held.
func (p *policing) holdLoosening(old, next *policy) {
	if old == nil {
		return
	}
	base := old
	if len(old.held) > 0 {
		base = old.held[0]
	}
	call, suspect := p.busy.culprit()
	looser := base.looserIn(next)
	if len(looser) == 0 || !suspect && len(old.held) == 0 {
		return
	}
	if !suspect {
		call = old.heldFor
	}
	next.held, next.heldFor = []*policy{base}, call
	p.c.Logger().Warn("a milder policy waits for a person", "tool", call.Name, "changes", looser)
	err := p.c.Go("confirm policy", func(ctx context.Context) error {
		p.confirm(ctx, next, looser)
		return nil
	})
	if err != nil {
		p.c.Logger().Error("nobody could be asked about the policy", "err", err)
	}
}

// confirm asks a person about a milder policy and lets go of the old one.
func (p *policing) confirm(ctx context.Context, next *policy, looser []string) {
	args, err := json.Marshal(map[string]any{"milder": looser})
	if err != nil {
		return
	}
	call := next.heldFor
	_, err = p.askOnce(ctx, core.Approval{
		Tool: "policy", Effect: core.Exec, Args: args,
		Reason:  fmt.Sprintf("the policy was made milder while %s ran", call.Name),
		Rule:    "an agent may not loosen its own policy",
		Session: call.Viewer.Asks(), Agent: call.Viewer.Agent, User: call.Viewer.User, Turn: call.Turn,
	})
	if err != nil {
		p.c.Logger().Warn("the milder policy is not taken", "err", err)
		return
	}
	p.changing.Lock()
	defer p.changing.Unlock()
	if p.policy.Load() != next {
		return // another change came, with a question of its own
	}
	free := *next
	free.held = nil
	p.publish(&free)
}

// askOnce asks with the answers once and reject; an error is a no.
func (p *policing) askOnce(ctx context.Context, a core.Approval) (core.Answer, error) {
	a.Answers = []core.AnswerKind{core.AnswerOnce, core.AnswerReject}
	about := inquiryOf(a)
	about.asks, about.plain = []opinion{{core.AskOnce, a.Rule}}, true
	a.Digest = core.ArgsDigest(a.Tool, a.Args)
	ans, err := p.broker.request(ctx, a, about)
	if err == nil && !ans.Kind.Allows() {
		err = fmt.Errorf("%s", refusedText(ans))
	}
	return ans, err
}

// looserIn lists what next may allow that p does not. It reads the rules, not
// the tools, and would rather list too much.
func (p *policy) looserIn(next *policy) []string {
	var found []string
	found = append(found, looserRules(p.file, next.file, p.strictestOpen())...)
	for _, g := range p.groups {
		found = append(found, looserRules(g.set, next.group(g.path), "")...)
	}
	for _, effect := range []core.Effect{core.Read, core.Write, core.Exec} {
		if milder(next.open[effect].value, p.open[effect].value) {
			found = append(found, p.open[effect].rule+" is now "+string(next.open[effect].value))
		}
	}
	if milder(next.fallback.value, p.fallback.value) {
		found = append(found, p.fallback.rule+" is now "+string(next.fallback.value))
	}
	return found
}

// strictestOpen is the strictest of what holds where the file says nothing.
func (p *policy) strictestOpen() core.Policy {
	strictest := p.fallback
	for _, o := range p.open {
		strictest = stricter(strictest, o)
	}
	return strictest.value
}

func (p *policy) group(path string) *ruleSet {
	for _, g := range p.groups {
		if g.path == path {
			return g.set
		}
	}
	return &ruleSet{}
}

// looserRules compares one source before and after: a stricter rule that is
// gone or milder, or a new one that could win over a stricter one. Where the
// old rules say nothing there was something as strict as open.
func looserRules(old, next *ruleSet, open core.Policy) []string {
	var found []string
	strictest := open
	for _, r := range old.rules {
		strictest = strictest.Stricter(r.value)
		if r.value == core.Auto {
			continue
		}
		if now := next.valueOf(r.pattern.Text); milder(now, r.value) {
			found = append(found, fmt.Sprintf("%s, now %s", r.id, orNothing(now)))
		}
	}
	for _, r := range next.rules {
		if old.valueOf(r.pattern.Text) != "" {
			continue
		}
		if r.value == core.Auto || milder(r.value, strictest) {
			found = append(found, "new: "+r.id)
		}
	}
	slices.Sort(found)
	return found
}

func orNothing(v core.Policy) string {
	if v == "" {
		return "gone"
	}
	return string(v)
}

// valueOf returns the strictest value of a pattern, "" if there is none.
func (set *ruleSet) valueOf(pattern string) core.Policy {
	var v core.Policy
	for _, r := range set.rules {
		if r.pattern.Text == pattern && strictness(r.value) > strictness(v) {
			v = r.value
		}
	}
	return v
}
