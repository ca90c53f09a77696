package core

import (
	"context"
	"encoding/json"
	"fmt"
)

// Policy is what people set for a tool.
type Policy string

// The policies. AskOnce ("ask!") offers no answer that would be remembered.
const (
	Auto    Policy = "auto"
	Ask     Policy = "ask"
	AskOnce Policy = "ask!"
	Off     Policy = "off"
)

// Stricter gives the stricter of two policies; an empty one gives way.
func (p Policy) Stricter(q Policy) Policy {
	if p.rank() >= q.rank() {
		return p
	}
	return q
}

func (p Policy) rank() int {
	switch p {
	case Auto:
		return 1
	case Ask:
		return 2
	case AskOnce:
		return 3
	case Off:
		return 4
	}
	return 0
}

// ParsePolicy reads a policy's name.
func ParsePolicy(s string) (Policy, error) {
	if p := Policy(s); p.rank() > 0 {
		return p, nil
	}
	return "", fmt.Errorf("want auto, ask, ask! or off, got %q", s)
}

// Verdict is the outcome of a decision.
type Verdict string

// The verdicts. Hidden makes the call fail as that of an unknown tool.
const (
	Allow  Verdict = "allow"
	Deny   Verdict = "deny"
	Hidden Verdict = "hidden"
)

// DecideRequest is a call about to run: the arguments are final and must not
// be changed.
type DecideRequest struct {
	Call        Call
	Tool        Tool
	Digest      string // SHA-256 over the tool's name and the canonical arguments
	Permissions []Permission
}

// Decision says whether a call may run and why.
type Decision struct {
	Verdict  Verdict
	Policy   Policy
	Rule     string // the rule that decided, as a person would find it
	Approver string // who answered, if somebody was asked
	Reason   string // for the model and the log
	Nobody   bool   // denied, since nobody could be asked
	Stop     bool   // begin no further call of this turn
}

// Decider decides about calls. [Tools.Execute] asks it once for each call, and
// again only if the tool was replaced meanwhile; it may wait for a person and
// returns soon after ctx is cancelled. Preview
// answers from rules alone, for lists: quick, no side effect. Both are called
// from many goroutines.
type Decider interface {
	Decide(ctx context.Context, req DecideRequest) Decision
	Preview(v Viewer, t *Tool) (Policy, string)
}

// Deciders is the service of the one Decider. Without it tools that read run,
// all others are refused.
var Deciders = NewService[Decider]("decider")

// Objection is a hook's answer to [ToolDecide]: Deny, or ask. There is no way
// to allow.
type Objection struct {
	Deny   bool
	Reason string
	By     string // the plugin that objects
}

// ToolDecide asks all plugins for objections to a call. A listener that fails
// or panics counts as one that denies.
var ToolDecide = NewQuery[DecideRequest, Objection]("tool:decide")

// Authorizer gives any plugin the rules, the broker and the audit of tool
// calls for something that is no tool call. Nil = allowed; the error says why
// not. It may wait for a person.
type Authorizer interface {
	Authorize(ctx context.Context, v Viewer, p Permission, reason string) error
}

// Permissions is the service of the Authorizer.
var Permissions = NewService[Authorizer]("permissions")

// PolicyRule is one line of tools.policy.
type PolicyRule struct {
	Pattern  string `json:"pattern"`
	Value    Policy `json:"value"`
	Position string `json:"position,omitempty"` // file:line:column
}

// GroupPolicy holds the rules of a group of agents; they only tighten. Path
// is the group's fiber, "root/group:research"; the empty one covers everybody.
type GroupPolicy struct {
	Path  string       `json:"path"`
	Rules []PolicyRule `json:"rules"`
}

// PolicyConfig is what the configuration and the command line say about
// policy. It is immutable.
type PolicyConfig struct {
	Rules  []PolicyRule  `json:"rules"`
	Groups []GroupPolicy `json:"groups,omitempty"`
	// Entries are the paths of the fibers that the configuration has, groups
	// aside: who appears in another place may leave a group's rules behind.
	Entries []string `json:"entries,omitempty"`
	// Overrides come from the command line of one run.
	Overrides []PolicyRule `json:"overrides,omitempty"`
	// ReadOnly refuses whatever is not of effect read.
	ReadOnly bool `json:"readOnly,omitempty"`
}

// PolicyFeed hands out the policy in force and tells of new ones. Current
// never returns nil and does not block.
type PolicyFeed interface {
	Current() *PolicyConfig
}

// PolicyRules is the service of the PolicyFeed, provided by the program.
var PolicyRules = NewService[PolicyFeed]("policy:rules")

// PolicyChanged is emitted after PolicyRules has a new policy and before the
// plugins of the same reload are touched.
var PolicyChanged = NewEvent[*PolicyConfig]("policy:changed")

// ArgsDigest is the identity of a call for approvals and audit: the SHA-256,
// in hex, over the tool's name and the arguments in canonical form.
func ArgsDigest(name string, args json.RawMessage) string { return argsDigest(name, args) }
