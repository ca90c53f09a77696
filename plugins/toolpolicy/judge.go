package toolpolicy

import (
	"encoding/json"
	"strings"

	"github.com/agentd-host/agentd/core"
)

// inquiry is a call as the rules see it.
type inquiry struct {
	tool  *core.Tool
	path  string // of the agent's fiber
	args  json.RawMessage
	parts []core.Permission // what the tool computed; nil: the tool itself
	asks  []opinion         // once the rules were read: what has to be settled
	ruled bool              // the first of asks is what the rules said then
	plain bool              // the permissions alone: no tool call stands behind them

	// vouched: only askers are asked that no call can have brought along.
	vouched bool
}

// judge returns what the rules say about a call: the strictest of what they
// say about the tool and about every permission that it computed. Policies
// that are held count too.
func (p *policy) judge(q *inquiry) opinion {
	if q.plain {
		return p.authorized(q)
	}
	s := subjectOf(q.tool)
	o := p.judgeAs(&s, q)
	if claimed := q.tool.Traits.Effect; s.Effect != claimed.Or() {
		// An untrusted server's claim may tighten but not loosen.
		s.Effect = claimed
		o = stricter(o, p.judgeAs(&s, q))
	}
	for _, h := range p.held {
		o = stricter(o, h.judge(q))
	}
	return o
}

// subjectOf describes a tool for the rules. What an untrusted server says
// about effects is not believed.
func subjectOf(t *core.Tool) subject {
	s := subject{Name: t.Name, Effect: t.Traits.Effect.Or(), Groups: t.Groups, Parameters: t.Parameters}
	if t.Source.Kind == core.FromMCP {
		s.Server = t.Source.Name
		if !t.Source.Trusted {
			s.Effect = core.Exec
		}
	}
	return s
}

func (p *policy) judgeAs(s *subject, q *inquiry) opinion {
	open := p.openFor(s.Effect)
	if len(q.parts) == 0 {
		args := arguments{raw: q.args}
		return p.decide(s, q.path, &args, open)
	}
	computed, all := p.judgeParts(s, q)
	if all {
		// Every part has a rule of its own: together they stand for the
		// tool where the file says nothing about it.
		open = computed
	}
	for _, target := range toolTargets(s.Name, q.parts) {
		computed = stricter(computed, p.decide(s, q.path, newArguments(q.args, target...), open))
	}
	return computed
}

// judgeParts returns the strictest opinion about the computed permissions
// other than the tool itself, and whether there are only such and rules speak
// about each.
func (p *policy) judgeParts(s *subject, q *inquiry) (strictest opinion, all bool) {
	all = true
	for _, part := range q.parts {
		if strings.TrimPrefix(part.Name, "tool:") == s.Name {
			all = false
			continue
		}
		o := p.decide(permissionSubject(part, s.Effect), q.path, newArguments(q.args, part.Target), p.fallback)
		all = all && o != p.fallback
		strictest = stricter(strictest, o)
	}
	return strictest, all
}

func permissionSubject(part core.Permission, effect core.Effect) *subject {
	return &subject{Name: part.Name, Effect: effect, Permission: true}
}

// toolTargets returns the targets under which the tool itself is decided,
// one by one; a tool that computed none is decided once without.
func toolTargets(name string, parts []core.Permission) [][]string {
	var targets [][]string
	for _, part := range parts {
		if strings.TrimPrefix(part.Name, "tool:") == name && part.Target != "" {
			targets = append(targets, []string{part.Target})
		}
	}
	if targets == nil {
		return [][]string{nil}
	}
	return targets
}

// preview returns what is known about a tool before there is a call: off
// only if no arguments could bring about anything else.
func (p *policy) preview(t *core.Tool, path string) opinion {
	s := subjectOf(t)
	o := p.previewAs(&s, path)
	if claimed := t.Traits.Effect; s.Effect != claimed.Or() {
		s.Effect = claimed
		o = stricter(o, p.previewAs(&s, path))
	}
	for _, h := range p.held {
		o = stricter(o, h.preview(t, path))
	}
	return o
}

func (p *policy) previewAs(s *subject, path string) opinion {
	open := p.openFor(s.Effect)
	o := p.file.outlook(s, p.opened(open, p.allow.outlook(s, open)))
	for i := range p.groups {
		if g := &p.groups[i]; p.covers(g, path) {
			o = stricter(o, g.set.outlook(s, opinion{}))
		}
	}
	o = stricter(o, p.deny.outlook(s, opinion{}))
	return stricter(o, p.readOnlyOpinion(s))
}
