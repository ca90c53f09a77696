package toolpolicy

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// maxPattern bounds the text of one pattern in bytes.
const maxPattern = 1024

// kind is the class of a pattern's subject, from vague to precise: the
// order is the order in which rules win.
type kind uint8

const (
	kindEffect kind = iota + 1
	kindLabel       // a server or a group
	kindGlob
	kindName
	kindNameArgs
)

// Pattern is the left side of a rule: which calls it speaks about.
//
//	read_file                  one tool
//	mcp__github__*             a glob: * any text, ? one character
//	effect:write               every tool with that effect
//	server:github, group:web   every tool of an MCP server, of a group
//	workspace:outside          a permission that a tool computes
//	run_command(git *)         a tool whose first argument (or computed target) matches
//	write_file(path=docs/**)   a tool with that argument; several, split by commas
//
// Arguments may follow every kind of subject. In them * and ? are wild, and
// a backslash takes the next character literally. A glob with a slash and
// without a space is a path: there * and ? stop at a slash and ** does not.
//
// A Pattern is immutable.
type Pattern struct {
	text   string
	kind   kind
	server bool   // of kindLabel: a server, else a group
	name   string // the name, glob, label or effect
	args   []argument
	rank   uint64
}

var (
	nameText  = regexp.MustCompile(`^[A-Za-z0-9_.*?-]+$`)
	permText  = regexp.MustCompile(`^[A-Za-z0-9_.-]+(:[A-Za-z0-9_.*?-]+)+$`)
	labelText = regexp.MustCompile(`^[^\s*?()]+$`)
	keyText   = regexp.MustCompile(`^\s*([A-Za-z_][A-Za-z0-9_.-]*)=`)
)

// ParsePattern reads a pattern. The error says what to write instead.
func ParsePattern(text string) (*Pattern, error) {
	p := &Pattern{text: text}
	if err := p.parse(); err != nil {
		return nil, fmt.Errorf("pattern %q: %w", text, err)
	}
	return p, nil
}

func (p *Pattern) parse() error {
	if len(p.text) > maxPattern {
		return fmt.Errorf("longer than %d bytes", maxPattern)
	}
	subject, args, hasArgs := strings.Cut(p.text, "(")
	if hasArgs {
		inner, ok := strings.CutSuffix(args, ")")
		if !ok {
			return fmt.Errorf("the arguments do not end with \")\"")
		}
		if err := p.parseArgs(inner); err != nil {
			return err
		}
	}
	if err := p.parseSubject(subject); err != nil {
		return err
	}
	p.setRank()
	return nil
}

func (p *Pattern) parseSubject(subject string) error {
	p.name = strings.TrimPrefix(subject, "tool:")
	prefix, rest, colon := strings.Cut(p.name, ":")
	switch {
	case p.name == "":
		return fmt.Errorf("empty; write a tool's name, a glob, effect:, server: or group:")
	case colon && prefix == "effect":
		return p.parseEffect(rest)
	case colon && (prefix == "server" || prefix == "group"):
		p.kind, p.name, p.server = kindLabel, rest, prefix == "server"
		if !labelText.MatchString(rest) {
			return fmt.Errorf("%s: wants one plain name, without wild cards", prefix)
		}
		return nil
	case colon && !permText.MatchString(p.name):
		return fmt.Errorf("unknown prefix or character; known are effect:, server:, group:, or a permission such as workspace:outside")
	case !colon && !nameText.MatchString(p.name):
		return fmt.Errorf("a tool's name holds letters, digits, _ - and .; wild cards are * and ?")
	}
	p.kind = kindName
	if strings.ContainsAny(p.name, "*?") {
		p.kind = kindGlob
	}
	return nil
}

func (p *Pattern) parseEffect(effect string) error {
	if !slices.Contains([]string{"read", "write", "exec"}, effect) {
		return fmt.Errorf("want effect:read, effect:write or effect:exec")
	}
	p.kind, p.name = kindEffect, effect
	return nil
}

func (p *Pattern) parseArgs(text string) error {
	if text == "" {
		return fmt.Errorf("empty arguments; leave out the parentheses")
	}
	if !keyText.MatchString(text) {
		arg, err := newArgument("", text)
		p.args = []argument{arg}
		return err
	}
	for _, piece := range splitUnescaped(text, ',') {
		m := keyText.FindStringSubmatch(piece)
		if m == nil {
			return fmt.Errorf("argument %q is not key=glob; write \\, for a literal comma", piece)
		}
		arg, err := newArgument(m[1], piece[len(m[0]):])
		if err != nil {
			return err
		}
		p.args = append(p.args, arg)
	}
	return nil
}

// setRank orders patterns by how precise they are: the kind first, then the
// arguments, then the literal prefix of a glob.
func (p *Pattern) setRank() {
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
func (p *Pattern) String() string { return p.text }

// covers reports whether the pattern's subject is s, arguments aside.
func (p *Pattern) covers(s *Subject) bool {
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
		return matchGlob(p.name, s.Name)
	}
	return s.Name == p.name
}

// matchGlob reports whether name matches a glob of * and ?.
func matchGlob(glob, name string) bool {
	g, n, star, mark := 0, 0, -1, 0
	for n < len(name) {
		switch {
		case g < len(glob) && glob[g] == '*':
			star, mark = g, n
			g++
		case g < len(glob) && (glob[g] == '?' || glob[g] == name[n]):
			g++
			n++
		case star >= 0:
			mark++
			g, n = star+1, mark
		default:
			return false
		}
	}
	return strings.Trim(glob[g:], "*") == ""
}
