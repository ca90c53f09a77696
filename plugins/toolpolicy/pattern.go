package toolpolicy

import (
	"fmt"

	"github.com/agentd-host/agentd/core/pattern"
)

// rulePattern is the left side of a rule, compiled: which calls it speaks about.
// Package pattern has the grammar. A glob over an argument that has a slash
// and no space is a path: there * and ? stop at a slash and ** does not. A
// rulePattern is immutable.
type rulePattern struct {
	pattern.Pattern
	args []argument
	rank uint64 // the higher, the more precise
}

// parsePattern reads a pattern. The error says what to write instead.
func parsePattern(text string) (*rulePattern, error) {
	read, err := pattern.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("pattern %.100q: %w", text, err)
	}
	p := &rulePattern{Pattern: read}
	for _, arg := range read.Args {
		a, err := newArgument(arg.Key, arg.Glob)
		if err != nil {
			return nil, fmt.Errorf("pattern %.100q: %w", text, err)
		}
		p.args = append(p.args, a)
	}
	p.setRank()
	return p, nil
}

// setRank orders patterns by how precise they are: the subject first, then
// the arguments.
func (p *rulePattern) setRank() {
	tight := 0
	for _, a := range p.args {
		tight += a.weight
	}
	p.rank = uint64(p.Precision())<<36 | uint64(len(p.args))<<24 | uint64(tight)
}

// String returns the pattern as it was written.
func (p *rulePattern) String() string { return p.Text }

// covers reports whether the pattern's subject is s, arguments aside.
func (p *rulePattern) covers(s *subject) bool {
	return p.Covers(&pattern.Subject{
		Name: s.Name, Effect: string(s.Effect.Or()), Server: s.Server, Groups: s.Groups, Permission: s.Permission,
	})
}
