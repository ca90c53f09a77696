package core

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/agentd-host/agentd/core/pattern"
)

// restrictions are what tools.policy takes away while no [Decider] is active:
// that the plugin which weighs rules is gone, or restarts, lifts none of them.
// Nobody looks at arguments then: a rule that is strict about some calls of a
// tool makes all of them a question, and nobody can be asked. They are
// immutable.
type restrictions struct {
	of      *PolicyConfig
	sources []restrictingSource
	err     error // the rules can't be read: nothing may run
}

// restrictingSource is one source of rules, for the agents at or below path.
type restrictingSource struct {
	path  string
	rules []restrictingRule
}

type restrictingRule struct {
	pattern.Pattern
	value Policy
	id    string
}

// restrictions are those of the policy in force.
func (h *Host) restrictions() *restrictions {
	prov := h.root.active(PolicyRules.h)
	if prov == nil {
		return nil
	}
	var cfg *PolicyConfig
	if err := prov.act.fiber.guard("", &prov.node, func() error {
		cfg = (*prov.value.(*PolicyFeed)).Current()
		return nil
	}); err != nil {
		return &restrictions{err: err}
	}
	if r := h.restricted.Load(); r != nil && r.of == cfg {
		return r
	}
	r := restrict(cfg)
	h.restricted.Store(r)
	return r
}

func restrict(cfg *PolicyConfig) *restrictions {
	r := &restrictions{of: cfg}
	r.add("", cfg.Rules)
	for _, g := range cfg.Groups {
		r.add(g.Path, g.Rules)
	}
	r.add("", cfg.Overrides)
	return r
}

func (r *restrictions) add(path string, lines []PolicyRule) {
	source := restrictingSource{path: path}
	for _, line := range lines {
		p, err := pattern.Parse(line.Pattern)
		if err != nil {
			r.err = cmp.Or(r.err, fmt.Errorf("tools.policy: pattern %.100q: %w", line.Pattern, err))
		}
		id := fmt.Sprintf("tools.policy: %s = %s", line.Pattern, line.Value)
		source.rules = append(source.rules, restrictingRule{p, line.Value, id})
	}
	r.sources = append(r.sources, source)
}

// on returns the strictest that the sources say about a tool, and which rule
// says so. An empty policy is no restriction.
func (r *restrictions) on(v Viewer, t *Tool, needs []Permission) (value Policy, rule string) {
	if r == nil {
		return "", ""
	}
	if r.err != nil {
		return Off, r.err.Error()
	}
	subjects := subjectsOf(t, needs)
	path := v.Path()
	for _, source := range r.sources {
		if !isBelow(path, source.path) {
			continue
		}
		for i := range subjects {
			if p, id := source.on(&subjects[i]); p.rank() > value.rank() {
				value, rule = p, id
			}
		}
	}
	if value == Auto {
		return "", ""
	}
	return value, rule
}

// isBelow tells whether an agent is in a group. Everybody is in the group
// without a path.
func isBelow(path, group string) bool {
	rest, ok := strings.CutPrefix(path, group)
	return ok && (group == "" || rest == "" || rest[0] == '/')
}

// on gives the most precise rule that is about all calls, among equals the
// strictest. One that is strict about some of them asks.
func (source *restrictingSource) on(s *pattern.Subject) (value Policy, rule string) {
	precision, some := -1, ""
	for i := range source.rules {
		r := &source.rules[i]
		switch n := r.Precision(); {
		case !r.Covers(s):
		case len(r.Args) > 0:
			if r.value != Auto {
				some = r.id
			}
		case n > precision || n == precision && r.value.rank() > value.rank():
			precision, value, rule = n, r.value, r.id
		}
	}
	if some != "" && Ask.rank() > value.rank() {
		return Ask, some
	}
	return value, rule
}

// subjectsOf are what rules may be about in a call of t.
func subjectsOf(t *Tool, needs []Permission) []pattern.Subject {
	s := pattern.Subject{Name: t.Name, Effect: string(t.believedEffect()), Groups: t.Groups}
	if t.Source.Kind == FromMCP {
		s.Server = t.Source.Name
	}
	all := []pattern.Subject{s}
	for _, p := range needs {
		if name := strings.TrimPrefix(p.Name, "tool:"); name != t.Name {
			all = append(all, pattern.Subject{Name: name, Effect: s.Effect, Server: s.Server, Permission: true})
		}
	}
	return all
}
