package toolpolicy

import (
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// argument is one glob over one argument of a call. It is matched in two
// ways. A rule that is milder than what holds without it must be sure: every
// value has to match exactly, a path may not climb, and in an exec tool a
// wild card does not swallow shell operators. Any other rule is generous: one
// value is enough, case and Unicode form do not matter, and an absolute path
// matches where its end does.
type argument struct {
	key    string // "" is the first argument or the computed target
	strict *regexp.Regexp
	shell  *regexp.Regexp // strict, for exec tools
	loose  *regexp.Regexp
	isPath bool // values are cleaned as paths first
	rel    bool // a path glob that begins with a plain name
	weight int  // how tight it is: literal characters, more without wild cards
}

// shellOperators are the characters that let one command line become two,
// or reach beyond its words.
const shellOperators = ";|&<>$`(){}\n\r"

// exactWeight is what a glob without wild cards weighs over any with them.
const exactWeight = 1 << 16

func newArgument(key, glob string) (argument, error) {
	a := argument{key: key, isPath: isPathGlob(glob)}
	if a.isPath {
		glob = strings.TrimPrefix(glob, "./")
	}
	a.rel = a.isPath && glob != "" && !strings.ContainsAny(glob[:1], "/*?~")
	text, shell := globExpr(glob, a.isPath, ""), globExpr(glob, a.isPath, shellOperators)
	var err error
	if a.strict, err = regexp.Compile(`(?s)\A` + text.expr + `\z`); err != nil {
		return a, err
	}
	if a.shell, err = regexp.Compile(`(?s)\A` + shell.expr + `\z`); err != nil {
		return a, err
	}
	a.loose, err = regexp.Compile(`(?si)\A` + norm.NFC.String(text.expr) + `\z`)
	a.weight = min(text.literals, exactWeight-1)
	if !text.wild {
		a.weight += exactWeight
	}
	return a, err
}

// isPathGlob tells paths from text: a slash and no space.
func isPathGlob(glob string) bool {
	return strings.Contains(glob, "/") && !strings.Contains(glob, " ") && !strings.Contains(glob, "://")
}

// expr is a glob as a regular expression.
type expr struct {
	expr     string
	literals int
	wild     bool
}

// globExpr translates a glob into a regular expression whose wild cards
// match none of the characters of not.
func globExpr(glob string, isPath bool, not string) expr {
	any := "."
	if not != "" {
		any = "[^" + not + "]"
	}
	one := any
	if isPath {
		one = "[^/" + not + "]"
	}
	many := one + "*"
	var e expr
	for i := 0; i < len(glob); {
		rest := glob[i:]
		switch {
		case rest[0] == '\\' && len(rest) > 1:
			i += 1 + e.literal(firstRune(rest[1:]))
		case isPath && strings.HasPrefix(rest, "**/") && (i == 0 || glob[i-1] == '/'):
			i += e.wildcard("**/", "(?:"+any+"*/)?")
		case strings.HasPrefix(rest, "**"):
			i += e.wildcard("**", any+"*")
		case rest == " *" && !isPath: // "git *" speaks about a bare "git" too
			i += e.wildcard(rest, "(?: "+many+")?")
		case rest[0] == '*':
			i += e.wildcard("*", many)
		case rest[0] == '?':
			i += e.wildcard("?", one)
		default:
			i += e.literal(firstRune(rest))
		}
	}
	return e
}

// literal adds a character that stands for itself, and tells its length.
func (e *expr) literal(r string) int {
	e.expr += regexp.QuoteMeta(r)
	e.literals++
	return len(r)
}

// wildcard adds what a wild card matches, and tells the card's length.
func (e *expr) wildcard(card, matches string) int {
	e.expr += matches
	e.wild = true
	return len(card)
}

func firstRune(s string) string {
	for i := range s {
		if i > 0 {
			return s[:i]
		}
	}
	return s
}

// surely reports whether all values match, as a rule that loosens needs it.
func (a *argument) surely(values []string, exec bool) bool {
	re := a.strict
	if exec {
		re = a.shell
	}
	for _, v := range values {
		if a.isPath {
			v = filepath.ToSlash(v)
			if climbs(v) {
				return false
			}
			v = path.Clean(v)
		}
		if !re.MatchString(v) {
			return false
		}
	}
	return len(values) > 0
}

// perhaps reports whether any value may match, as a rule that tightens
// wants it.
func (a *argument) perhaps(values []string) bool {
	for _, v := range values {
		if a.loosely(norm.NFC.String(v)) {
			return true
		}
	}
	return false
}

func (a *argument) loosely(v string) bool {
	if !a.isPath {
		return a.loose.MatchString(v)
	}
	v = path.Clean(strings.ReplaceAll(v, `\`, "/"))
	for {
		// The folder itself belongs to what is said about its contents.
		if a.loose.MatchString(v) || a.loose.MatchString(v+"/") {
			return true
		}
		if !a.rel {
			return false
		}
		_, rest, ok := strings.Cut(v, "/")
		if !ok {
			return false
		}
		v = rest
	}
}

// climbs reports whether a path has a ".." in it. What that means depends
// on links, so that no rule can be sure of it.
func climbs(p string) bool {
	for part := range strings.SplitSeq(p, "/") {
		if part == ".." {
			return true
		}
	}
	return false
}
