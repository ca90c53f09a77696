package toolpolicy

import (
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/agentd-host/agentd/core"
)

// guard knows the files that an agent must not change unasked: the
// configuration, the user's agentd folder, the state folder, and the
// .agentd folders beside the configuration and in the workspace.
type guard struct {
	files []string // absolute
	dirs  []string // absolute
	words []string // what a program's arguments must not name, in lower case
	root  func() string
}

// newGuard guards the files of the environment.
func newGuard(p *policing) *guard {
	g := &guard{root: p.workspace, words: []string{"agent.yml", "agent.yaml", ".agentd", "grants.json"}}
	add := func(list *[]string, path string) {
		if path != "" {
			real, _ := realPaths{}.of(path)
			*list = append(*list, real)
		}
	}
	add(&g.files, p.paths.Config)
	add(&g.dirs, p.paths.Home)
	add(&g.dirs, p.paths.State)
	if p.paths.Dir != "" {
		add(&g.dirs, filepath.Join(p.paths.Dir, ".agentd"))
	}
	for _, path := range []string{p.paths.Config, p.paths.State} {
		if base := filepath.Base(path); path != "" && len(base) > 3 {
			g.words = append(g.words, strings.ToLower(base))
		}
	}
	return g
}

// workspace is the folder that relative paths start from.
func (p *policing) workspace() string {
	if root, ok := core.Workspace.Get(p.c); ok {
		return root.Path()
	}
	if p.paths.Dir != "" {
		return p.paths.Dir
	}
	here, _ := os.Getwd()
	return here
}

// touches names the guarded file that a call with these decoded arguments may
// change, "" if none. For tools that write it looks at paths, for those that
// run programs also at the words of their arguments. It errs on the side of
// asking.
func (g *guard) touches(q *inquiry, args any) string {
	effect := subjectOf(q.tool).Effect
	if effect == core.Read {
		return ""
	}
	root, real := g.root(), realPaths{}
	for _, text := range textsOf(args, q.parts) {
		if what := g.hit(root, text, real); what != "" {
			return what
		}
		if effect == core.Exec {
			if word := g.named(text); word != "" {
				return word
			}
		}
	}
	return ""
}

// textsOf returns every string of a call: arguments at any depth, targets.
func textsOf(args any, parts []core.Permission) []string {
	var out []string
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			out = append(out, v)
		case []any:
			for _, e := range v {
				walk(e)
			}
		case object:
			for _, f := range v {
				walk(f.value)
			}
		}
	}
	walk(args)
	for _, part := range parts {
		if part.Target != "" {
			out = append(out, part.Target)
		}
	}
	return out
}

func (g *guard) named(text string) string {
	text = strings.ToLower(text)
	for _, word := range g.words {
		if strings.Contains(text, word) {
			return word
		}
	}
	return consentIn(text)
}

// consents are commands by which a person consents, word by word: that is not
// the agent's to do. They are found as they are usually typed; the daemon
// refuses them to the programs of tools by itself.
var consents = split(
	"agentd trust", "agentd policy set", "agentd policy revoke", "agentd plugins",
	"approvals answer", "mcp allow", "mcp accept", "mcp import",
)

func split(lines ...string) (words [][]string) {
	for _, line := range lines {
		words = append(words, strings.Fields(line))
	}
	return words
}

var unquoted = strings.NewReplacer(`"`, "", "'", "", `\`, "")

// consentIn names the command whose words a command line has, in their order
// and whatever stands between them, "" if there is none.
func consentIn(line string) string {
	words := strings.FieldsFunc(unquoted.Replace(line), func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune(";|&()<>`$,", r)
	})
	for _, consent := range consents {
		rest := consent
		for _, word := range words {
			if len(rest) > 0 && becomes(word, rest[0]) {
				rest = rest[1:]
			}
		}
		if len(rest) == 0 {
			return strings.Join(consent, " ")
		}
	}
	return ""
}

// becomes reports whether a word of a command line, which may be a path or a
// glob, is or becomes want.
func becomes(word, want string) bool {
	base := word[strings.LastIndexByte(word, '/')+1:]
	if base == want || !strings.ContainsAny(base, "*?[") {
		return base == want
	}
	match, _ := path.Match(base, want)
	return match
}

// maxPath is the longest path that a system takes.
const maxPath = 4096

// hit reports whether text, taken as a path, is or lies in what is guarded.
func (g *guard) hit(root, text string, real realPaths) string {
	path := filepath.FromSlash(pathOf(text))
	if len(path) > maxPath {
		path = filepath.Clean(path) // as a program may before it opens it
	}
	if path == "" || len(path) > maxPath || strings.Contains(path, "\x00") {
		return ""
	}
	if rest, ok := strings.CutPrefix(path, "~"); ok {
		if home, err := os.UserHomeDir(); err == nil {
			path = home + rest
		}
	}
	if !filepath.IsAbs(path) {
		path = root + string(filepath.Separator) + path
	}
	if what := g.holds(root, path, real); what != "" {
		return what
	}
	// Some programs take .. for the folder before it, whatever links are there.
	if clean := filepath.Clean(path); clean != path && strings.Contains(path, "..") {
		return g.holds(root, clean, real)
	}
	return ""
}

// pathOf is the path that a text names: itself, or that of a file URL.
func pathOf(text string) string {
	const scheme = "file://"
	if len(text) < len(scheme) || !strings.EqualFold(text[:len(scheme)], scheme) {
		return text
	}
	path := strings.TrimPrefix(text[len(scheme):], "localhost")
	if decoded, err := url.PathUnescape(path); err == nil {
		return decoded
	}
	return path
}

// holds reports whether a path is or lies in what is guarded.
func (g *guard) holds(root, path string, real realPaths) string {
	path, there := real.of(path)
	base := strings.ToLower(filepath.Base(path))
	if base == "agent.yml" || base == "agent.yaml" {
		return base
	}
	for _, file := range g.files {
		if strings.EqualFold(path, file) || there && sameFile(path, file) {
			return file
		}
	}
	if dir, _ := real.of(filepath.Join(root, ".agentd")); within(dir, path) {
		return dir
	}
	for _, dir := range g.dirs {
		if within(dir, path) {
			return dir
		}
	}
	return ""
}

func sameFile(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// within reports whether path is dir or below it, whatever the case.
func within(dir, path string) bool {
	if len(path) < len(dir) || !strings.EqualFold(path[:len(dir)], dir) {
		return false
	}
	return len(path) == len(dir) || os.IsPathSeparator(path[len(dir)])
}
