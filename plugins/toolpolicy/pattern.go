package toolpolicy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/pattern"
)

// kind is how precise a pattern's subject is: the order is the order in which
// rules win.
type kind uint8

const (
	kindEffect kind = iota + 1
	kindLabel       // a server or a group
	kindGlob
	kindName
	kindNameArgs
)

var kinds = map[pattern.Kind]kind{
	pattern.Effect: kindEffect, pattern.Server: kindLabel, pattern.Group: kindLabel,
	pattern.Glob: kindGlob, pattern.Name: kindName,
}

// rulePattern is the left side of a rule, compiled: which calls it speaks about.
// Package pattern has the grammar. A glob over an argument that has a slash
// and no space is a path: there * and ? stop at a slash and ** does not. A
// rulePattern is immutable.
type rulePattern struct {
	text   string
	kind   kind
	server bool   // of kindLabel: a server, else a group
	name   string // the name, glob, label or effect
	args   []argument
	rank   uint64
}

// parsePattern reads a pattern. The error says what to write instead.
func parsePattern(text string) (*rulePattern, error) {
	read, err := pattern.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("pattern %.100q: %w", text, err)
	}
	p := &rulePattern{text: text, kind: kinds[read.Kind], name: read.Name, server: read.Kind == pattern.Server}
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

// setRank orders patterns by how precise they are: the kind first, then the
// arguments, then the literal prefix of a glob.
func (p *rulePattern) setRank() {
	if p.kind == kindName && len(p.args) > 0 {
		p.kind = kindNameArgs
	}
	var prefix int
	if p.kind == kindGlob {
		prefix = strings.IndexAny(p.name, "*?")
	}
	tight := 0
	for _, a := range p.args {
		tight += a.weight
	}
	p.rank = uint64(p.kind)<<48 | uint64(prefix)<<36 | uint64(len(p.args))<<24 | uint64(tight)
}

// String returns the pattern as it was written.
func (p *rulePattern) String() string { return p.text }

// covers reports whether the pattern's subject is s, arguments aside.
func (p *rulePattern) covers(s *subject) bool {
	switch p.kind {
	case kindEffect:
		return !s.Permission && string(s.Effect.Or()) == p.name
	case kindLabel:
		if p.server {
			return s.Server == p.name
		}
		return slices.Contains(s.Groups, p.name)
	case kindGlob:
		// Permissions are boundaries of their own: a glob over tools, even
		// a bare *, does not reach them.
		if s.Permission != strings.Contains(p.name, ":") {
			return false
		}
		return core.MatchName(p.name, s.Name)
	}
	return s.Name == p.name
}
