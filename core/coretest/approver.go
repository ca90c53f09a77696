package coretest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/agentd-host/agentd/core"
)

// An Approver is a person who answers from a list. It registers with a real
// broker as an asker, or answers for a [Policy].
type Approver struct {
	mu      sync.Mutex // guards the fields below
	answers []core.Answer
	replies []core.Reply
	asked   []core.Approval
	posed   []core.Question
	away    bool
}

// NewApprover makes a person who gives these answers, in order, and rejects
// whatever comes after them.
func NewApprover(answers ...core.AnswerKind) *Approver {
	a := &Approver{}
	for _, kind := range answers {
		a.Answer(core.Answer{Kind: kind})
	}
	return a
}

// Answer appends an answer.
func (a *Approver) Answer(answer core.Answer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.answers = append(a.answers, answer)
}

// Reply appends a reply to a free question; without one it is declined.
func (a *Approver) Reply(r core.Reply) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.replies = append(a.replies, r)
}

// SetAway says whether nobody is there to be asked.
func (a *Approver) SetAway(away bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.away = away
}

// Asked returns the questions about calls so far.
func (a *Approver) Asked() []core.Approval {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.asked)
}

// Posed returns the free questions so far.
func (a *Approver) Posed() []core.Question {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.posed)
}

// Name is part of core.Asker.
func (a *Approver) Name() string { return "coretest" }

// Takes is part of core.Asker.
func (a *Approver) Takes(string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return !a.away
}

// Ask is part of core.Asker.
func (a *Approver) Ask(ctx context.Context, q core.Approval) (core.Answer, error) {
	if err := ctx.Err(); err != nil {
		return core.Answer{}, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.away {
		return core.Answer{}, core.ErrNobodyToAsk
	}
	a.asked = append(a.asked, q)
	if len(a.answers) == 0 {
		return core.Answer{Kind: core.AnswerReject, By: a.Name()}, nil
	}
	answer := a.answers[0]
	a.answers = a.answers[1:]
	if answer.By == "" {
		answer.By = a.Name()
	}
	return answer, nil
}

// Question is part of core.Questioner.
func (a *Approver) Question(ctx context.Context, q core.Question) (core.Reply, error) {
	if err := ctx.Err(); err != nil {
		return core.Reply{}, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.away {
		return core.Reply{}, core.ErrNobodyToAsk
	}
	a.posed = append(a.posed, q)
	if len(a.replies) == 0 {
		return core.Reply{Declined: true}, nil
	}
	r := a.replies[0]
	a.replies = a.replies[1:]
	return r, nil
}

// A Policy is a [core.Decider] and [core.Authorizer] with one rule a name. It
// remembers what it decided.
type Policy struct {
	approver *Approver

	mu      sync.Mutex // guards the fields below
	rules   map[string]core.Policy
	epoch   uint64
	decided []core.DecideRequest
}

// NewPolicy makes a policy under which everything runs until [Policy.Set] says
// otherwise. approver answers what is asked; nil means that nobody does.
func NewPolicy(approver *Approver) *Policy {
	return &Policy{approver: approver, rules: map[string]core.Policy{}}
}

// WithPolicy provides p as the host's policy.
func WithPolicy(p *Policy) Option {
	return func(t testing.TB, c *core.Context) {
		t.Helper()
		Provide[core.Decider](core.Deciders, p)(t, c)
		Provide[core.Authorizer](core.Permissions, p)(t, c)
	}
}

// Set gives the tool or permission of that name a policy, from the next call
// on.
func (p *Policy) Set(name string, policy core.Policy) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules[name] = policy
	p.epoch++
}

// Decided returns the requests so far.
func (p *Policy) Decided() []core.DecideRequest {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.decided)
}

func (p *Policy) of(name string) core.Policy {
	p.mu.Lock()
	defer p.mu.Unlock()
	if rule, ok := p.rules[name]; ok {
		return rule
	}
	return core.Auto
}

// Preview is part of core.Decider.
func (p *Policy) Preview(_ core.Viewer, t *core.Tool) (core.Policy, string) {
	return p.of(t.Name), "coretest"
}

// PreviewEpoch is part of core.PreviewEpoch.
func (p *Policy) PreviewEpoch() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.epoch
}

// Decide is part of core.Decider.
func (p *Policy) Decide(ctx context.Context, req core.DecideRequest) core.Decision {
	p.mu.Lock()
	p.decided = append(p.decided, req)
	p.mu.Unlock()
	d := core.Decision{Policy: p.of(req.Tool.Name), Rule: "coretest", Verdict: core.Allow}
	for _, part := range req.Permissions {
		d.Policy = d.Policy.Stricter(p.of(part.Name))
	}
	switch d.Policy {
	case core.Off:
		d.Verdict = core.Hidden
	case core.Ask, core.AskOnce:
		return p.asked(ctx, d, core.Approval{
			ID: req.Call.ID, Tool: req.Tool.Name, Source: req.Tool.Source, Effect: req.Tool.Traits.Effect,
			Args: req.Call.Args, Digest: req.Digest, Permissions: req.Permissions,
			Agent: req.Call.Viewer.Agent, Session: req.Call.Viewer.Session, User: req.Call.Viewer.User, Turn: req.Call.Turn,
		})
	}
	return d
}

func (p *Policy) asked(ctx context.Context, d core.Decision, q core.Approval) core.Decision {
	answer, err := p.ask(ctx, q)
	if err != nil {
		d.Verdict, d.Reason, d.Nobody = core.Deny, err.Error(), errors.Is(err, core.ErrNobodyToAsk)
		return d
	}
	d.Approver, d.Reason, d.Stop = answer.By, answer.Text, answer.Kind == core.AnswerStop
	if !answer.Kind.Allows() {
		d.Verdict = core.Deny
	}
	return d
}

func (p *Policy) ask(ctx context.Context, q core.Approval) (core.Answer, error) {
	if p.approver == nil {
		return core.Answer{}, core.ErrNobodyToAsk
	}
	return p.approver.Ask(ctx, q)
}

// Authorize is part of core.Authorizer.
func (p *Policy) Authorize(ctx context.Context, v core.Viewer, part core.Permission, reason string) error {
	switch p.of(part.Name) {
	case core.Auto:
		return nil
	case core.Off:
		return fmt.Errorf("%s is off", part.Name)
	}
	answer, err := p.ask(ctx, core.Approval{
		Permissions: []core.Permission{part}, Reason: reason, Agent: v.Agent, Session: v.Session, User: v.User,
	})
	if err == nil && !answer.Kind.Allows() {
		err = errors.New("rejected")
	}
	return err
}

var (
	_ core.Questioner   = (*Approver)(nil)
	_ core.Decider      = (*Policy)(nil)
	_ core.Authorizer   = (*Policy)(nil)
	_ core.PreviewEpoch = (*Policy)(nil)
)
