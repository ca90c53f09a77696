package toolpolicy

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/plugins/toolpolicy/audit"
)

// ErrRefused is matched by the errors of Authorize.
var ErrRefused = errors.New("not allowed")

// Authorize asks the same rules, grants and people about something that is
// no tool call; see core.Authorizer.
func (p *policing) Authorize(ctx context.Context, v core.Viewer, perm core.Permission, reason string) error {
	d := p.authorize(ctx, v, perm, reason)
	r := audit.Record{
		Kind: audit.Authorize, Session: v.Session, Parent: v.Parent, Agent: v.Agent, User: v.User,
		Tool: perm.Name, Target: p.redact.Load().Text(perm.Target),
	}
	p.describe(&r, d)
	if err := p.log.Load().Append(r); err != nil {
		p.c.Logger().Error("permission refused: audit cannot be written", "permission", perm.Name, "err", err)
		return fmt.Errorf("%s: %w: the decision could not be recorded", perm.Name, ErrRefused)
	}
	if d.Verdict == core.Allow {
		return nil
	}
	if d.Nobody {
		return fmt.Errorf("%s: %w: %w", perm.Name, ErrRefused, core.ErrNobodyToAsk)
	}
	return fmt.Errorf("%s: %w: %s", perm.Name, ErrRefused, d.Reason)
}

func (p *policing) authorize(ctx context.Context, v core.Viewer, perm core.Permission, reason string) core.Decision {
	policy := p.policy.Load()
	name := strings.TrimPrefix(perm.Name, "tool:")
	a := core.Approval{
		Tool: name, Effect: core.Exec, Permissions: []core.Permission{perm}, Reason: reason,
		Agent: v.Agent, Session: v.Asks(), User: v.User, Saved: p.grants.path,
	}
	q := inquiryOf(a)
	q.path, q.plain = v.Path(), true
	o := policy.judge(q)
	a.Rule, a.Digest = o.rule, core.ArgsDigest(a.Tool, nil)
	d := core.Decision{Verdict: core.Deny, Policy: o.value, Rule: o.rule}
	if o.value == core.Off {
		return refusal(d, "the policy does not allow it")
	}
	if o.value == core.AskOnce {
		onlyOnce(&a, o)
	}
	q.asks, q.ruled = []opinion{o}, true
	grant, refused := p.granted(q, v.Asks(), "")
	switch {
	case refused != nil:
		d.Approver = refused.By
		return refusal(d, "a person refused this for good")
	case o.value == core.Auto || grant != nil:
		d.Verdict = core.Allow
		return d
	}
	ans, err := p.broker.request(ctx, a, q)
	return p.answered(q, d, ans, err)
}

// authorized is what the rules say about a permission that no tool call
// stands behind.
func (p *policy) authorized(q *inquiry) opinion {
	var o opinion
	for _, part := range q.parts {
		s := permissionSubject(part, core.Exec)
		if name, ok := strings.CutPrefix(part.Name, "tool:"); ok {
			s.Name, s.Permission = name, false
		}
		o = stricter(o, p.decide(s, q.path, newArguments(q.args, part.Target), p.fallback))
	}
	for _, h := range p.held {
		o = stricter(o, h.authorized(q))
	}
	return o
}

var _ core.Authorizer = (*policing)(nil)
