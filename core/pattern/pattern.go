// Package pattern reads the patterns of tools.policy, the left side of its
// rules:
//
//	read_file                  one tool, or a permission that tools compute
//	mcp__github__*             a glob: * any text, ? one character
//	effect:write               every tool with that effect: read, write, exec
//	server:github, group:web   every tool of an MCP server, of a group
//	path:outside               a permission with a colon in its name
//	run_command(git *)         and its first argument, or the target it computes
//	write_file(path=docs/**)   and the argument of that name; several, split by commas
//
// Arguments may follow every kind of subject. In them * and ? are wild and a
// backslash takes the next character literally. The package knows the grammar
// and which subjects a pattern is about; what arguments match, and which rule
// wins, is the business of who decides by it.
package pattern

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/agentd-host/agentd/core/schema"
)

// MaxLen bounds the text of a pattern in bytes.
const MaxLen = 1024

// maxName bounds a name in bytes.
const maxName = 128

// Kind is the class of a pattern's subject.
type Kind uint8

// The kinds, from vague to precise.
const (
	Effect Kind = iota + 1
	Server
	Group
	Glob
	Name
)

// Pattern is a pattern that was read.
type Pattern struct {
	Text string // as it was written
	Kind Kind
	// Name is the name, glob, label or effect, without a prefix. A permission
	// has its colon in it.
	Name string
	Args []Arg
}

// Arg is one glob over one argument of a call.
type Arg struct {
	Key  string // "" is the first argument or the computed target
	Glob string
}

var (
	nameText  = regexp.MustCompile(`^[A-Za-z0-9_.*?-]+$`)
	permText  = regexp.MustCompile(`^[A-Za-z0-9_.-]+(:[A-Za-z0-9_.*?-]+)+$`)
	labelText = regexp.MustCompile(`^[^\s*?()]+$`)
	keyText   = regexp.MustCompile(`^\s*([A-Za-z_][A-Za-z0-9_.-]*)=`)
	effects   = []string{"read", "write", "exec"}
	prefixes  = []string{"effect", "server", "group", "tool"}
)

// Parse reads a pattern. The error says what to write instead; it does not
// repeat the pattern.
func Parse(text string) (Pattern, error) {
	p := Pattern{Text: text}
	if len(text) > MaxLen {
		return p, fmt.Errorf("longer than %d bytes", MaxLen)
	}
	if !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl) {
		return p, errors.New("holds a character that does not print")
	}
	subject, args, hasArgs := strings.Cut(text, "(")
	if err := p.subject(subject); err != nil || !hasArgs {
		return p, err
	}
	inner, closed := strings.CutSuffix(args, ")")
	switch {
	case !closed:
		return p, errors.New("the parenthesis is never closed; want name(arguments)")
	case strings.TrimSpace(inner) == "":
		return p, errors.New("nothing between the parentheses; leave them out, or say which arguments")
	}
	return p, p.arguments(inner)
}

func (p *Pattern) subject(text string) error {
	p.Name = strings.TrimPrefix(text, "tool:")
	prefix, rest, colon := strings.Cut(p.Name, ":")
	switch {
	case p.Name == "":
		return errors.New("want a tool's name, a glob, or one of effect:, server: and group: with a name")
	case colon && prefix == "effect":
		p.Kind, p.Name = Effect, rest
		if !slices.Contains(effects, rest) {
			return fmt.Errorf("want effect:read, effect:write or effect:exec, got %.40q%s", rest, near(rest, effects))
		}
		return nil
	case colon && (prefix == "server" || prefix == "group"):
		p.Kind, p.Name = Group, rest
		if prefix == "server" {
			p.Kind = Server
		}
		if !labelText.MatchString(rest) {
			return fmt.Errorf("want one name after %s:, without spaces and wild cards", prefix)
		}
		return nil
	case colon && near(prefix, prefixes) != "":
		return fmt.Errorf("there is no %.40q%s", prefix+":", near(prefix, prefixes))
	case colon && !permText.MatchString(p.Name):
		return errors.New("want effect:, server:, group:, or a permission such as path:outside")
	case !colon && len(p.Name) > maxName:
		return errors.New("longer than any tool's name")
	case !colon && !nameText.MatchString(p.Name):
		return fmt.Errorf("names of tools are letters, digits, _ - and ., and globs have * and ?; got %q", strange(p.Name))
	}
	p.Kind = Name
	if strings.ContainsAny(p.Name, "*?") {
		p.Kind = Glob
	}
	return nil
}

// strange is the first character that a name must not have.
func strange(name string) rune {
	for _, r := range name {
		if !nameText.MatchString(string(r)) {
			return r
		}
	}
	return 0
}

func (p *Pattern) arguments(text string) error {
	if !keyText.MatchString(text) {
		p.Args = []Arg{{Glob: text}}
		return nil
	}
	for _, piece := range split(text) {
		m := keyText.FindStringSubmatch(piece)
		if m == nil {
			return fmt.Errorf("argument %.40q is not key=glob; write \\, for a comma of the text", piece)
		}
		p.Args = append(p.Args, Arg{m[1], piece[len(m[0]):]})
	}
	return nil
}

// split splits at each comma that no backslash precedes.
func split(text string) []string {
	var parts []string
	start := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case ',':
			parts = append(parts, text[start:i])
			start = i + 1
		}
	}
	return append(parts, text[start:])
}

// Escape returns the glob that means exactly text.
func Escape(text string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `,`, `\,`, `=`, `\=`).Replace(text)
}

func near(name string, candidates []string) string {
	if n := schema.Nearest(name, candidates); n != "" {
		return fmt.Sprintf("; did you mean %q?", n)
	}
	return ""
}
