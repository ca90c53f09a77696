package pattern

import (
	"slices"
	"strings"
)

// Subject is what a pattern is about, arguments aside: a tool, or a
// permission that a tool computed.
type Subject struct {
	Name       string // canonical name of the tool or permission
	Effect     string // read, write or exec
	Server     string // the MCP server that the tool comes from, else ""
	Groups     []string
	Permission bool // Name is a permission such as path:outside
}

// Covers reports whether the pattern is about s. Permissions are boundaries of
// their own: a glob over tools, even a bare *, does not reach them.
func (p *Pattern) Covers(s *Subject) bool {
	switch p.Kind {
	case Effect:
		return !s.Permission && s.Effect == p.Name
	case Server:
		return s.Server == p.Name
	case Group:
		return slices.Contains(s.Groups, p.Name)
	case Glob:
		return s.Permission == strings.Contains(p.Name, ":") && Match(p.Name, s.Name)
	}
	return s.Name == p.Name
}

// Precision orders patterns by how precise their subjects are: the kind first,
// then the literal prefix of a glob.
func (p *Pattern) Precision() int {
	kind, prefix := p.Kind, 0
	switch kind {
	case Group:
		kind = Server
	case Glob:
		prefix = strings.IndexAny(p.Name, "*?")
	}
	return int(kind)<<12 | prefix
}

// Match reports whether name matches a glob with * and ?.
func Match(glob, name string) bool {
	p, n := 0, 0
	star, mark := -1, 0
	for n < len(name) {
		switch {
		case p < len(glob) && glob[p] == '*':
			star, mark = p, n
			p++
		case p < len(glob) && (glob[p] == '?' || glob[p] == name[n]):
			p++
			n++
		case star >= 0:
			mark++
			p, n = star+1, mark
		default:
			return false
		}
	}
	for p < len(glob) && glob[p] == '*' {
		p++
	}
	return p == len(glob)
}
