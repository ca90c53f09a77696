package toolpolicy

import (
	"slices"
	"strings"
	"time"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/pattern"
)

// Grant is an answer that outlives its question.
type Grant struct {
	ID      string    `json:"id"`
	Tool    string    `json:"tool"`
	Pattern string    `json:"pattern"`        // which of the tool's calls, as in tools.policy
	With    string    `json:"with,omitempty"` // what the target has to go with; "" of a never is anything
	Allow   bool      `json:"allow"`          // false: never
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

// scope is what a grant covers.
type scope struct{ pattern, with string }

// String is the scope as people read it.
func (s scope) String() string {
	if s.with == "" {
		return s.pattern
	}
	return s.pattern + " with " + s.with
}

// grantScopes returns what an answer that is kept would cover: every
// permission that the tool computed with its exact target, or the tool with
// any arguments if it computed none.
func grantScopes(a core.Approval) []scope {
	if len(a.Permissions) == 0 {
		return []scope{{pattern: a.Tool}}
	}
	scopes := make([]scope, 0, len(a.Permissions))
	for _, p := range a.Permissions {
		text := strings.TrimPrefix(p.Name, "tool:")
		if p.Target != "" {
			text += "(" + pattern.Escape(p.Target) + ")"
		}
		scopes = append(scopes, scope{text, p.With})
	}
	return scopes
}

// answerScopes is grantScopes, or the pattern that the answer brings: to
// allow, with whatever the call's own targets went with.
func answerScopes(a core.Approval, ans core.Answer) []scope {
	if ans.Pattern == "" {
		return grantScopes(a)
	}
	var scopes []scope
	for _, p := range a.Permissions {
		s := scope{ans.Pattern, p.With}
		if ans.Kind.Allows() && ownPart(a.Tool, p) && !slices.Contains(scopes, s) {
			scopes = append(scopes, s)
		}
	}
	if scopes == nil {
		scopes = []scope{{pattern: ans.Pattern}}
	}
	return scopes
}

// ownPart reports whether a permission is that of the tool itself.
func ownPart(tool string, p core.Permission) bool { return strings.TrimPrefix(p.Name, "tool:") == tool }

// String is what the grant covers, as people read it.
func (g *Grant) String() string { return scope{g.Pattern, g.With}.String() }

// about reports whether the grant is about the call as a whole.
func (g *Grant) about(q *inquiry, sure bool) bool {
	if g.Tool != q.tool.Name || !g.goesWith(q) {
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

// goesWith reports whether all targets of the tool go with what the grant's do.
func (g *Grant) goesWith(q *inquiry) bool {
	return !slices.ContainsFunc(q.parts, func(p core.Permission) bool { return ownPart(q.tool.Name, p) && !g.with(p) })
}

func (g *Grant) with(p core.Permission) bool { return g.With == p.With || !g.Allow && g.With == "" }

// aboutPart reports whether the grant is about one computed permission.
func (g *Grant) aboutPart(q *inquiry, part core.Permission, sure bool) bool {
	if g.Tool != q.tool.Name || !g.with(part) {
		return false
	}
	s := subjectOf(q.tool)
	of := resolved{subject: s}
	if ownPart(s.Name, part) {
		of.primary = primaryArgument(s.Parameters)
	} else {
		of.subject = *permissionSubject(part, s.Effect)
	}
	if !g.compiled.covers(&of.subject) {
		return false
	}
	if part.Target == "" && ownPart(s.Name, part) {
		return newArguments(q.args).match(g.compiled, &of, sure)
	}
	return newArguments(q.args, part.Target).match(g.compiled, &of, sure)
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

// covered returns a grant that lets the call run, together with others and
// with the rules: every part that no rule runs anyway needs a grant about it.
// Where all of them run anyway, or there are none, one about the tool counts.
func covered(grants []*Grant, q *inquiry, auto func(core.Permission) bool) *Grant {
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
	if by != nil {
		return by
	}
	for _, g := range grants {
		if g.Allow && g.about(q, true) {
			return g
		}
	}
	return nil
}

func coveringPart(grants []*Grant, q *inquiry, part core.Permission) *Grant {
	for _, g := range grants {
		if g.Allow && g.aboutPart(q, part, true) {
			return g
		}
	}
	return nil
}
