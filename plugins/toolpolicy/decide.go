package toolpolicy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/agentd-host/agentd/core"
)

// Decide says whether a call may run; see core.Decider. The order is: off, a
// deny of a hook or of the tool's own permission, an ask, a grant, auto.
func (p *policing) Decide(ctx context.Context, req core.DecideRequest) core.Decision {
	for {
		policy := p.policy.Load()
		r := p.decide(ctx, policy, &req)
		// Whoever tightened the policy in the meantime expects it to hold.
		if r.Verdict != core.Allow || p.policy.Load() == policy || r.asked {
			return r.Decision
		}
	}
}

// ruling is a decision, and whether a person made it.
type ruling struct {
	core.Decision
	asked bool
}

// harmless reports whether a tool may run where things are not as they should.
func harmless(t *core.Tool) bool { return subjectOf(t).Effect == core.Read }

func refusal(d core.Decision, reason string) core.Decision {
	d.Verdict, d.Reason = core.Deny, reason
	return d
}

func (p *policing) decide(ctx context.Context, policy *policy, req *core.DecideRequest) ruling {
	q := &inquiry{tool: &req.Tool, path: req.Call.Viewer.Path(), args: req.Call.Args, parts: computed(req)}
	o := policy.judge(q)
	if o.value == core.Off {
		return ruling{Decision: p.off(policy, q, o)}
	}
	d := core.Decision{Verdict: core.Deny, Policy: o.value, Rule: o.rule}
	if p.broker.stopped(req.Call.Viewer.Asks(), req.Call.Turn) {
		d.Stop = true
		return ruling{Decision: refusal(d, "a person stopped this turn")}
	}
	args, err := decodeArguments(q.args)
	if err != nil {
		return ruling{Decision: refusal(d, "the arguments are ambiguous: "+err.Error())}
	}
	q.asks, q.ruled = []opinion{o}, true
	objection, err := p.objections(ctx, req)
	switch {
	case err != nil && (!harmless(q.tool) || o.value != core.Auto):
		p.c.Logger().Error("call refused: a hook failed", "tool", q.tool.Name, "err", err)
		return ruling{Decision: refusal(d, "a check of this call failed")}
	case objection.Deny:
		d.Rule = objection.rule()
		return ruling{Decision: refusal(d, objection.Reason)}
	case objection.By != "":
		q.asks = append(q.asks, opinion{core.Ask, objection.rule()})
	}
	if what := p.guard.touches(q, args); what != "" {
		q.asks = append(q.asks, opinion{core.AskOnce, "agentd's own files: " + what})
	}
	return p.ask(ctx, req, q, objection.Reason)
}

// computed returns the permissions that the tool computed; one that only
// names the tool itself says nothing new.
func computed(req *core.DecideRequest) []core.Permission {
	if len(req.Permissions) == 1 && req.Permissions[0] == (core.Permission{Name: "tool:" + req.Tool.Name}) {
		return nil
	}
	return req.Permissions
}

// off refuses: as an unknown tool if no arguments would be taken.
func (p *policing) off(policy *policy, q *inquiry, o opinion) core.Decision {
	d := core.Decision{Verdict: core.Deny, Policy: core.Off, Rule: o.rule}
	if policy.preview(q.tool, q.path).value == core.Off {
		d.Verdict = core.Hidden
		return d
	}
	return refusal(d, "the policy does not allow this call with these arguments")
}

// ask settles what asks: by grants, or by a person.
func (p *policing) ask(ctx context.Context, req *core.DecideRequest, q *inquiry, reason string) ruling {
	o := strictest(q.asks)
	d := core.Decision{Verdict: core.Allow, Policy: o.value, Rule: o.rule}
	grant, refused := p.granted(q, req.Call.Viewer.Asks(), req.Call.Turn)
	switch {
	case refused != nil:
		d.Rule, d.Approver = "grant "+refused.ID+": never "+refused.String(), refused.By
		return ruling{Decision: refusal(d, "a person refused this for good")}
	case o.value == core.Auto:
		return ruling{Decision: d}
	case grant != nil:
		d.Rule, d.Approver = "grant "+grant.ID+": "+grant.String(), grant.By
		return ruling{Decision: d}
	}
	out := p.broker.resolve(ctx, p.approval(req, o, reason), q)
	return ruling{p.answered(q, d, out.answer, out.err), !out.granted}
}

func strictest(all []opinion) opinion {
	o := all[0]
	for _, other := range all[1:] {
		o = stricter(o, other)
	}
	return o
}

// granted looks for the grants about a call. One that lets it run must hold
// against everything that asks.
func (p *policing) granted(q *inquiry, session, turn string) (by, refused *Grant) {
	auto := func(part core.Permission) bool { return p.policy.Load().runs(q, part) }
	settled := true
	for _, o := range q.asks {
		rule := o.rule
		if o.value != core.Ask {
			rule = "" // nothing to settle, or nothing that may
			settled = settled && o.value == core.Auto
		}
		grant, never, err := p.grants.look(q, session, turn, rule, auto)
		if err != nil {
			p.c.Logger().Error("grants cannot be read", "err", err)
		}
		if never != nil {
			return nil, never
		}
		if o.value == core.Ask {
			settled = settled && grant != nil
			by = grant
		}
	}
	if !settled {
		return nil, nil
	}
	return by, nil
}

// runs reports whether the rules alone run one part of a call.
func (p *policy) runs(q *inquiry, part core.Permission) bool {
	s := subjectOf(q.tool)
	subject, open := &s, p.openFor(s.Effect)
	if strings.TrimPrefix(part.Name, "tool:") != s.Name {
		subject, open = permissionSubject(part, s.Effect), p.fallback
	}
	return p.decide(subject, q.path, newArguments(q.args, part.Target), open).value == core.Auto
}

// approval is the question about a call.
func (p *policing) approval(req *core.DecideRequest, o opinion, reason string) core.Approval {
	v := req.Call.Viewer
	a := core.Approval{
		Tool: req.Tool.Name, Source: req.Tool.Source, Effect: req.Tool.Traits.Effect,
		Args: req.Call.Args, Digest: req.Digest, Permissions: computed(req),
		Reason: reason, Rule: o.rule, Agent: v.Agent, Session: v.Asks(), User: v.User, Turn: req.Call.Turn,
		Saved: p.grants.path,
	}
	if o.value == core.AskOnce {
		onlyOnce(&a, o)
	}
	return a
}

// onlyOnce makes an approval one that takes no answer that lasts.
func onlyOnce(a *core.Approval, o opinion) {
	a.Answers, a.Saved, a.Rule = []core.AnswerKind{core.AnswerOnce, core.AnswerReject}, "", o.rule
}

// asNow is the approval of a question that waits, narrowed if the rules of
// now take less than those that asked. Nothing widens it.
func (p *policing) asNow(q *question) core.Approval {
	a := q.Approval
	if !q.about.ruled {
		return a
	}
	if o := p.policy.Load().judge(q.about); o.value == core.AskOnce {
		onlyOnce(&a, o)
	}
	return a
}

// answered turns what a person said, or that nobody did, into a decision.
// What was allowed is looked at once more: a policy that became stricter in
// the meantime holds.
func (p *policing) answered(q *inquiry, d core.Decision, ans core.Answer, err error) core.Decision {
	d.Approver = ans.By
	switch {
	case errors.Is(err, core.ErrNobodyToAsk):
		d.Nobody = true
		return refusal(d, "it needs a person's approval and nobody can be asked")
	case errors.Is(err, core.ErrApprovalExpired):
		return refusal(d, "it needs a person's approval and nobody answered in time")
	case err != nil:
		return refusal(d, "the question was withdrawn: "+err.Error())
	}
	policy := p.policy.Load()
	if now := policy.judge(q); now.value == core.Off {
		return p.off(policy, q, now)
	}
	if ans.Kind.Allows() {
		d.Verdict, d.Reason = core.Allow, ans.Text
		return d
	}
	d.Stop = ans.Kind == core.AnswerStop
	return refusal(d, refusedText(ans))
}

func refusedText(ans core.Answer) string {
	text := "a person refused this call"
	switch ans.Kind {
	case core.AnswerNever:
		text = "a person refused this for good"
	case core.AnswerStop:
		text = "a person stopped this turn"
	}
	if ans.Text != "" {
		text += ": " + ans.Text
	}
	return text
}

// keep stores an answer that outlives its question.
func (p *policing) keep(q *question, ans core.Answer) error {
	if q.free != nil || ans.Kind == core.AnswerOnce || ans.Kind == core.AnswerReject || ans.Kind == core.AnswerStop {
		return nil
	}
	err := p.grants.add(q.Approval, ans)
	if err != nil {
		err = fmt.Errorf("the answer holds once, it could not be kept: %w", err)
		p.c.Logger().Error("answer not kept", "tool", q.Tool, "err", err)
	}
	return err
}

// refusedNow refuses a question that waits if the policy of now says off.
// Rules that became milder settle nothing.
func (p *policing) refusedNow(q *question) (core.Answer, bool) {
	o := p.policy.Load().judge(q.about)
	return core.Answer{Kind: core.AnswerReject, By: o.rule}, o.value == core.Off
}

// settled answers a question that waits if grants of now do: against what
// asked, and against the rules of now.
func (p *policing) settled(q *question) (core.Answer, bool) {
	if ans, off := p.refusedNow(q); off {
		return ans, true
	}
	about := *q.about
	if about.ruled {
		about.asks = append(slices.Clip(about.asks), p.policy.Load().judge(q.about))
	}
	grant, refused := p.granted(&about, q.Session, q.Turn)
	switch {
	case refused != nil:
		return core.Answer{Kind: core.AnswerNever, By: refused.By}, true
	case grant != nil:
		return core.Answer{Kind: core.AnswerOnce, By: grant.By}, true
	}
	return core.Answer{}, false
}

// Preview answers from the rules alone; see core.Decider.
func (p *policing) Preview(v core.Viewer, t *core.Tool) (core.Policy, string) {
	o := p.policy.Load().preview(t, v.Path())
	return o.value, o.rule
}

var _ core.Decider = (*policing)(nil)
