package workspace

import (
	"fmt"
	"regexp"
	"strings"
)

// compileGlob makes a matcher for slash-separated paths from a glob: * and ?
// stay within a name, ** crosses folders, [a-z] and [!a-z] are classes,
// {a,b} alternatives, \ takes the next character as it is.
func compileGlob(glob string) (*regexp.Regexp, error) {
	g := globber{in: glob, braces: true}
	expr, err := g.translate()
	if err != nil {
		return nil, fmt.Errorf("glob %q: %w", glob, err)
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return nil, fmt.Errorf("glob %q: not a valid pattern", glob)
	}
	return re, nil
}

// pathGlob is a glob over paths or, if it holds no slash, over names at any
// depth.
func pathGlob(glob string) (func(path string) bool, error) {
	re, err := compileGlob(strings.TrimPrefix(glob, "./"))
	if err != nil {
		return nil, err
	}
	if strings.Contains(glob, "/") {
		return re.MatchString, nil
	}
	return func(path string) bool { return re.MatchString(baseName(path)) }, nil
}

func baseName(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// globber translates a glob into an anchored regular expression.
type globber struct {
	in     string
	braces bool // {a,b} are alternatives
	pos    int
	open   int // braces
	out    strings.Builder
}

func (g *globber) translate() (string, error) {
	g.out.WriteString(`^(?s:`)
	for g.pos < len(g.in) {
		if err := g.step(); err != nil {
			return "", err
		}
	}
	if g.open > 0 {
		return "", fmt.Errorf("{ without }")
	}
	g.out.WriteString(`)$`)
	return g.out.String(), nil
}

func (g *globber) step() error {
	switch c := g.in[g.pos]; {
	case c == '*':
		g.star()
	case c == '?':
		g.emit(`[^/]`, 1)
	case c == '[':
		return g.class()
	case c == '\\':
		return g.escape()
	case c == '{' && g.braces:
		g.open++
		g.emit(`(?:`, 1)
	case c == '}' && g.open > 0:
		g.open--
		g.emit(`)`, 1)
	case c == ',' && g.open > 0:
		g.emit(`|`, 1)
	default:
		g.literal()
	}
	return nil
}

func (g *globber) emit(expr string, read int) {
	g.out.WriteString(expr)
	g.pos += read
}

func (g *globber) literal() {
	end := g.pos + 1
	for end < len(g.in) && !strings.ContainsRune(`*?[\{},`, rune(g.in[end])) {
		end++
	}
	g.emit(regexp.QuoteMeta(g.in[g.pos:end]), end-g.pos)
}

// star reads a run of stars. Two of them that fill a whole part of the path
// cross folders.
func (g *globber) star() {
	end := g.pos
	for end < len(g.in) && g.in[end] == '*' {
		end++
	}
	starts := g.pos == 0 || g.in[g.pos-1] == '/'
	switch whole := end-g.pos == 2 && starts; {
	case whole && end == len(g.in):
		g.emit(`.+`, 2)
	case whole && g.in[end] == '/':
		g.emit(`(?:.*/)?`, 3)
	default:
		g.emit(`[^/]*`, end-g.pos)
	}
}

func (g *globber) escape() error {
	if g.pos+1 >= len(g.in) {
		return fmt.Errorf(`\ at the end`)
	}
	rest := g.in[g.pos+1:]
	size := len(firstRune(rest))
	g.emit(regexp.QuoteMeta(rest[:size]), 1+size)
	return nil
}

func (g *globber) class() error {
	body := g.in[g.pos+1:]
	negated := strings.HasPrefix(body, "!") || strings.HasPrefix(body, "^")
	if negated {
		body = body[1:]
	}
	end := classEnd(body)
	if end < 0 {
		return fmt.Errorf("[ without ]")
	}
	open := `[`
	if negated {
		open = `[^/`
	}
	set := body[:end]
	if strings.HasPrefix(set, "]") {
		set = `\` + set
	}
	g.out.WriteString(open + set + `]`)
	g.pos = len(g.in) - len(body) + end + 1
	return nil
}

// classEnd finds the ] that ends a class; a first ] and an escaped one do not.
func classEnd(body string) int {
	for i := 0; i < len(body); i++ {
		switch {
		case body[i] == '\\':
			i++
		case strings.HasPrefix(body[i:], "[:"):
			if j := strings.Index(body[i:], ":]"); j > 0 {
				i += j + 1
			}
		case body[i] == ']' && i > 0:
			return i
		}
	}
	return -1
}

func firstRune(s string) string {
	for i := range s {
		if i > 0 {
			return s[:i]
		}
	}
	return s
}
