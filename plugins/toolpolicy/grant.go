package toolpolicy

import (
	"strings"
	"time"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/pattern"
)

// Grant is an answer that outlives its question.
type Grant struct {
	ID      string    `json:"id"`
	Tool    string    `json:"tool"`
	Pattern string    `json:"pattern"` // which of the tool's calls, as in tools.policy
	Allow   bool      `json:"allow"`   // false: never
	When    time.Time `json:"when"`
	By      string    `json:"by,omitempty"`
	Rule    string    `json:"rule"`             // that asked
	Config  string    `json:"config,omitempty"` // the agent.yml that it belongs to
	// Seq orders grants and changes of rules, whatever the clock says.
	Seq uint64 `json:"seq"`
	// Session and Turn are set on grants that are not saved.
	Session string `json:"session,omitempty"`
	Turn    string `json:"turn,omitempty"`
	// Shadowed is set in lists: a rule that asks is newer than the grant.
	Shadowed bool `json:"shadowed,omitempty"`

	compiled *rulePattern
}

// grantPatterns returns what an answer that is kept would cover: every
// permission that the tool computed with its exact target, or the tool with
// any arguments if it computed none.
func grantPatterns(a core.Approval) []string {
	if len(a.Permissions) == 0 {
		return []string{a.Tool}
	}
	patterns := make([]string, 0, len(a.Permissions))
	for _, p := range a.Permissions {
		text := strings.TrimPrefix(p.Name, "tool:")
		if p.Target != "" {
			text += "(" + pattern.Escape(p.Target) + ")"
		}
		patterns = append(patterns, text)
	}
	return patterns
}

// about reports whether the grant's pattern is about the call as a whole.
func (g *Grant) about(q *inquiry, sure bool) bool {
	if g.Tool != q.tool.Name {
		return false
	}
	s := subjectOf(q.tool)
	if !g.compiled.covers(&s) {
		return false
	}
	of := resolved{subject: s, primary: primaryArgument(s.Parameters)}
	if len(g.compiled.args) == 0 {
		return true
	}
	for _, target := range toolTargets(s.Name, q.parts) {
		ok := newArguments(q.args, target...).match(g.compiled, &of, sure)
		if ok != sure {
			return ok
		}
	}
	return sure
}

// aboutPart reports whether the grant is about one computed permission.
func (g *Grant) aboutPart(q *inquiry, part core.Permission, sure bool) bool {
	if g.Tool != q.tool.Name {
		return false
	}
	effect := subjectOf(q.tool).Effect
	s := permissionSubject(part, effect)
	if name := strings.TrimPrefix(part.Name, "tool:"); name == q.tool.Name {
		s.Name, s.Permission = name, false
	}
	if !g.compiled.covers(s) {
		return false
	}
	var targets []string
	if part.Target != "" {
		targets = []string{part.Target}
	}
	return newArguments(nil, targets...).match(g.compiled, &resolved{subject: *s}, sure)
}

// refuses reports whether a "never" speaks about any part of the call.
func (g *Grant) refuses(q *inquiry) bool {
	if g.Allow {
		return false
	}
	if g.about(q, false) {
		return true
	}
	for _, part := range q.parts {
		if g.aboutPart(q, part, false) {
			return true
		}
	}
	return false
}

// covered returns the grant that lets the call run: one about the whole, or
// grants that together cover every part which no rule runs anyway.
func covered(grants []*Grant, q *inquiry, auto func(core.Permission) bool) *Grant {
	for _, g := range grants {
		if g.Allow && g.about(q, true) {
			return g
		}
	}
	var by *Grant
	for _, part := range q.parts {
		g := coveringPart(grants, q, part)
		if g == nil && !auto(part) {
			return nil
		}
		if g != nil {
			by = g
		}
	}
	return by
}

func coveringPart(grants []*Grant, q *inquiry, part core.Permission) *Grant {
	for _, g := range grants {
		if g.Allow && g.aboutPart(q, part, true) {
			return g
		}
	}
	return nil
}
