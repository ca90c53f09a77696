package workspace

import (
	"path"
	"regexp"
	"strings"
)

// ignoreRule is one line of a .gitignore file.
type ignoreRule struct {
	base    string // folder of the file, "" for the root
	re      *regexp.Regexp
	name    bool // match the last part only
	negated bool
	dirOnly bool
}

// ignoreRules are ordered from the root down; the last that matches decides.
type ignoreRules []ignoreRule

// parseIgnore reads the text of a .gitignore file that lies in the folder
// base. Lines that git could not match anything with are skipped.
func parseIgnore(base string, text string) ignoreRules {
	if base == "." {
		base = ""
	}
	var rules ignoreRules
	for line := range strings.Lines(strings.TrimPrefix(text, bom)) {
		if rule, ok := parseIgnoreLine(strings.TrimRight(line, "\r\n")); ok {
			rule.base = base
			rules = append(rules, rule)
		}
	}
	return rules
}

func parseIgnoreLine(line string) (rule ignoreRule, ok bool) {
	line = trimSpaces(line)
	if line == "" || line[0] == '#' {
		return rule, false
	}
	line, rule.negated = strings.CutPrefix(line, "!")
	line, rule.dirOnly = strings.CutSuffix(line, "/")
	rule.name = !strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	if line == "" {
		return rule, false
	}
	g := globber{in: line}
	expr, err := g.translate()
	if err != nil {
		return rule, false
	}
	rule.re, err = regexp.Compile(expr)
	return rule, err == nil
}

// trimSpaces drops trailing spaces, but not one that a backslash protects.
func trimSpaces(line string) string {
	trimmed := strings.TrimRight(line, " ")
	slashes := len(trimmed) - len(strings.TrimRight(trimmed, `\`))
	if slashes%2 == 1 && len(trimmed) < len(line) {
		return trimmed + " "
	}
	return trimmed
}

// match reports whether the rules ignore name, whose folder they do not
// ignore: who walks the tree never enters an ignored folder.
func (rules ignoreRules) match(name string, isDir bool) bool {
	for i := len(rules) - 1; i >= 0; i-- {
		if rules[i].match(name, isDir) {
			return !rules[i].negated
		}
	}
	return false
}

func (r ignoreRule) match(name string, isDir bool) bool {
	if r.dirOnly && !isDir {
		return false
	}
	if r.base != "" {
		below, ok := strings.CutPrefix(name, r.base+"/")
		if !ok {
			return false
		}
		name = below
	}
	if r.name {
		name = baseName(name)
	}
	return r.re.MatchString(name)
}

const maxIgnoreFile = 1 << 20

// ignoreIn adds the rules that the ignore files of the folder dir hold. A
// file that cannot be read holds none.
func (f *folder) ignoreIn(dir string, rules ignoreRules) ignoreRules {
	for _, from := range f.limits.ignoreFrom {
		name, err := f.resolve(path.Join(dir, from))
		if err != nil {
			continue
		}
		file, _, err := f.open(name)
		if err != nil {
			continue
		}
		text, err := readAtMost(file, maxIgnoreFile)
		file.Close()
		if err == nil {
			rules = append(rules[:len(rules):len(rules)], parseIgnore(dir, string(text))...)
		}
	}
	return rules
}

// ignoreAbove gathers the rules that hold in dir, its own not included, and
// reports whether they already ignore dir itself.
func (f *folder) ignoreAbove(dir string) (rules ignoreRules, ignored bool) {
	rules = parseIgnore("", strings.Join(f.limits.ignore, "\n"))
	if dir == "." {
		return rules, false
	}
	at := "."
	for part := range strings.SplitSeq(dir, "/") {
		rules = f.ignoreIn(at, rules)
		at = path.Join(at, part)
		ignored = ignored || rules.match(at, true)
	}
	return rules, ignored
}
