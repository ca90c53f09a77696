package toolpolicy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/plugins/toolpolicy/audit"
)

// holdLoosening keeps the old policy in force beside the new one where the
// new one is milder and a running call may be the reason: the agent must not
// loosen its own policy. A person is asked; until then, and after a no, the
// stricter of both holds, and people are asked and calls recorded as before.
// changing is held.
func (p *policing) holdLoosening(next *policy) {
	p.withdraw()
	old := p.before.policy.Load()
	if old == nil {
		return
	}
	base := old
	if len(old.held) > 0 {
		base = old.held[0]
	}
	call, suspect := p.culprit()
	looser := base.looserIn(next)
	if len(looser) == 0 || !suspect && len(old.held) == 0 {
		return
	}
	if !suspect {
		call = old.heldFor
	}
	next.held, next.heldFor = []*policy{base.before(next)}, call
	p.c.Logger().Warn("a milder policy waits for a person", "tool", call.Name, "changes", looser)
	open, withdraw := context.WithCancel(p.c)
	p.withdraw = withdraw
	err := p.c.Go("confirm policy", func(ctx context.Context) error {
		p.confirm(ctx, open, next, looser)
		return nil
	})
	if err != nil {
		p.c.Logger().Error("nobody could be asked about the policy", "err", err)
	}
}

// confirm asks a person about a milder policy and lets go of the old one.
// While there is nobody it waits for somebody to come, and until open ends
// for an answer.
func (p *policing) confirm(ctx, open context.Context, next *policy, looser []string) {
	a, err := milderApproval(next.heldFor, looser)
	if err != nil {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(open, cancel)()
	ans, err := core.Answer{}, core.ErrNobodyToAsk
	for errors.Is(err, core.ErrNobodyToAsk) && open.Err() == nil {
		joined := p.joined.next()
		if ans, err = p.askOnce(ctx, a); errors.Is(err, core.ErrNobodyToAsk) {
			select {
			case <-joined:
			case <-ctx.Done():
			}
		}
	}
	p.changing.Lock()
	defer p.changing.Unlock()
	if open.Err() != nil || p.policy.Load() != next {
		return // another change came, with a question of its own
	}
	if recorded := p.recordChange(&a, next.heldFor, ans, err); err == nil {
		err = recorded
	}
	if err != nil {
		p.c.Logger().Warn("the milder policy is not taken", "err", err)
		return
	}
	free := *next
	free.held = nil
	if err := p.publish(&free); err != nil {
		p.c.Logger().Error("the milder policy is not taken", "err", err)
	}
}

func milderApproval(call core.Call, looser []string) (core.Approval, error) {
	args, err := json.Marshal(map[string]any{"milder": looser})
	return core.Approval{
		Tool: "policy", Effect: core.Exec, Args: args, Digest: core.ArgsDigest("policy", args),
		Reason:  fmt.Sprintf("the policy was made milder while %s ran", call.Name),
		Rule:    "an agent may not loosen its own policy",
		Answers: []core.AnswerKind{core.AnswerOnce, core.AnswerReject},
		Session: call.Viewer.Asks(), Agent: call.Viewer.Agent, User: call.Viewer.User, Turn: call.Turn,
	}, err
}

// askOnce asks those that were there before; an error is a no.
func (p *policing) askOnce(ctx context.Context, a core.Approval) (core.Answer, error) {
	about := inquiryOf(a)
	about.asks, about.plain, about.vouched = []opinion{{core.AskOnce, a.Rule}}, true, true
	ans, err := p.broker.request(ctx, a, about)
	if err == nil && !ans.Kind.Allows() {
		err = errors.New(refusedText(ans))
	}
	return ans, err
}

// recordChange records what was said about a milder policy.
func (p *policing) recordChange(a *core.Approval, call core.Call, ans core.Answer, no error) error {
	d := core.Decision{Verdict: core.Allow, Rule: a.Rule, Approver: ans.By, Reason: ans.Text}
	if no != nil {
		d = refusal(d, no.Error())
	}
	r := audit.Record{
		Kind: audit.Policy, Session: call.Viewer.Session, Parent: call.Viewer.Parent, Turn: call.Turn,
		Agent: call.Viewer.Agent, User: call.Viewer.User, Call: call.ID, Tool: a.Tool,
		Digest: a.Digest, Arguments: p.shownArguments(a.Args),
	}
	p.describe(&r, d)
	return p.log.Load().Append(r)
}

// looserIn lists what next may allow that p does not. It reads the rules, not
// the tools, and would rather list too much.
func (p *policy) looserIn(next *policy) []string {
	var found []string
	found = append(found, looserRules(p.file, next.file, p.strictestOpen())...)
	for _, g := range p.groups {
		found = append(found, looserRules(g.set, next.group(g.path), "")...)
	}
	for _, entry := range p.strangersOf(next) {
		if outside := p.groupWithout(entry); outside != "" {
			found = append(found, fmt.Sprintf("%s is new there, and not in %s", entry, outside))
		}
	}
	for _, effect := range []core.Effect{core.Read, core.Write, core.Exec} {
		if milder(next.open[effect].value, p.open[effect].value) {
			found = append(found, p.open[effect].rule+" is now "+string(next.open[effect].value))
		}
	}
	if milder(next.fallback.value, p.fallback.value) {
		found = append(found, p.fallback.rule+" is now "+string(next.fallback.value))
	}
	return append(found, otherOptions(p.options, next.options)...)
}

// before is p for as long as next waits. Who was elsewhere, or not there at
// all, falls under the rules of every group.
func (p *policy) before(next *policy) *policy {
	held := *p
	held.held, held.strangers = nil, p.strangersOf(next)
	return &held
}

// strangersOf lists the entries of next that p knows nothing of.
func (p *policy) strangersOf(next *policy) []string {
	var found []string
	for _, entry := range next.entries {
		if !slices.Contains(p.entries, entry) {
			found = append(found, entry)
		}
	}
	return found
}

// groupWithout names a group with rules that an entry is not in, "" if there
// is none.
func (p *policy) groupWithout(entry string) string {
	for i := range p.groups {
		if g := &p.groups[i]; len(g.set.rules) > 0 && !below(g.path, entry) {
			return g.path
		}
	}
	return ""
}

// otherOptions lists the options about asking and recording that differ: who
// chooses the one who answers, or what is recorded, has a milder policy.
func otherOptions(old, next *Config) []string {
	var found []string
	for _, o := range []struct {
		name      string
		old, next any
	}{
		{"approval.timeout", old.Approval.Timeout, next.Approval.Timeout},
		{"approval.command", old.Approval.Command, next.Approval.Command},
		{"approval.inbox", old.Approval.Inbox, next.Approval.Inbox},
		{"audit.file", old.Audit.File, next.Audit.File},
		{"audit.arguments", old.Audit.Arguments, next.Audit.Arguments},
		{"audit.rotate", old.Audit.Rotate, next.Audit.Rotate},
	} {
		if was, is := fmt.Sprintf("%q", o.old), fmt.Sprintf("%q", o.next); was != is {
			found = append(found, "toolpolicy."+o.name+" is now "+is)
		}
	}
	if old.Approval.Webhook != next.Approval.Webhook { // it may hold a token
		found = append(found, "toolpolicy.approval.webhook is another one")
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
