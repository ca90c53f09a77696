package config_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/agentd-host/agentd/core/config"
)

func TestCommonMistakesGetTheirOwnWords(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"a bare star as key", "tools:\n  policy:\n    *: off\n", `agent.yml:3:6: a name that begins with * must be quoted: "*"`},
		{"a bare variable in a flow mapping", "plugins: {agent: {model: ${X}}}\n",
			`agent.yml:1:27: inside { } and [ ] a variable must be quoted: "${NAME}"`},
		{"a tab", "plugins:\n\tagent: {}\n", `agent.yml:2:1: a tab in the indentation; use spaces`},
		{"a second document", "version: 1\n---\nversion: 1\n",
			`agent.yml:2:1: a second document begins here; put everything into one and remove the ---`},
		{"a second colon", "plugins: a: b\n", `agent.yml:1:11: a second colon on this line; quote the value, or begin a new line`},
		{"an open quote", "version: \"1\nplugins: {}\n", `agent.yml:1:10: this quote is never closed`},
		{"a list at the top", "- a\n", `agent.yml:1:1: want a mapping with the keys plugins, tools and version`},
		{"a number as key", "plugins: {mcp: {servers: {1: {}}}}\n",
			`agent.yml:1:27: plugins.mcp.servers: a key must be text; write "1" in quotes`},
		{"a null key", "plugins: {~: {}}\n", `agent.yml:1:11: plugins: a key must be text; write "~" in quotes`},
		{"a mapping as key", "? {a: b}\n: c\n", `agent.yml:1:3: a key must be text`},
		{"a duplicate key", "version: 1\nversion: 1\n", `agent.yml:2:1: version: this key is here twice, first in line 1`},
		{"a custom tag", "plugins: {agent: {model: !x y}}\n",
			`agent.yml:1:26: plugins.agent.model: the tag !x is not allowed; only !!str is`},
		{"a tagged key", "!!int 1: x\n", `agent.yml:1:1: the tag !!int is not allowed`},
		{"infinity", "plugins: {agent: {budgets: {steps: .inf}}}\n",
			`agent.yml:1:36: plugins.agent.budgets.steps: want a finite number, got .inf`},
		{"a number that is too large", "plugins: {agent: {budgets: {steps: 9223372036854775808}}}\n",
			`agent.yml:1:36: plugins.agent.budgets.steps: the number 9223372036854775808 does not fit into 64 bits`},
		{"an old octal", "plugins: {agent: {budgets: {steps: 017}}}\n",
			`agent.yml:1:36: plugins.agent.budgets.steps: 017 is read as octal by some programs; write it without the leading 0, with 0o, or in quotes`},
		{"an empty item", "plugins: {mcp: {servers: {a: {args: [x, ]}}}}\n", ``},
		{"a null item", "plugins: {mcp: {servers: {a: {args: [x, ~]}}}}\n",
			`agent.yml:1:41: plugins.mcp.servers.a.args[1]: an empty item in a list; remove it`},
		{"an alias to nothing", "plugins: {agent: *x}\n", `agent.yml:1:18: unknown anchor 'x' referenced`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, got := load(t, tt.text); got != tt.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, tt.want)
			}
		})
	}
}

func TestTextThatAnEditorHidesIsRefused(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"UTF-16", "\xff\xfev\x00", "agent.yml: this is UTF-16, save it as UTF-8"},
		{"broken UTF-8", "version: 1\n# \xff\n", "agent.yml:2:3: not valid UTF-8"},
		{"NUL", "version: 1 # \x00", "agent.yml:1:14: a NUL byte"},
		{"escape", "version: 1\n# é\x1b[1m\n", "agent.yml:2:4: a control character"},
		{"C1", "version: 1 # \u0085", "agent.yml:1:14: a control character"},
		{"a lone CR", "version: 1\rplugins: {}\n", "agent.yml:1:11: a lone carriage return; end lines with LF or CRLF"},
		{"U+2028", "version: 1 #\u2028", "agent.yml:1:13: an invisible line break (U+2028 or U+2029)"},
		{"a BOM inside", "version: 1 #\ufeff", "agent.yml:1:13: a byte order mark inside the file"},
		{"a BOM at the beginning", "\ufeffversion: 1\r\n", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, got := load(t, tt.text); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestAliasesAndMergeKeysAreResolved(t *testing.T) {
	doc := mustLoad(t, `
plugins:
  agent:a: &base {model: x, budgets: {steps: 3}}
  agent:b: {<<: *base, model: y}
  agent:c: {<<: [{model: first}, *base]}
  agent:d: *base
`)
	want := map[string]string{
		"b": `{"budgets":{"steps":3},"mode":"fast","model":"y"}`,
		"c": `{"budgets":{"steps":3},"mode":"fast","model":"first"}`,
		"d": string(doc.Entry("a").Config),
	}
	for id, config := range want {
		if got := string(doc.Entry(id).Config); got != config {
			t.Errorf("%s: got %s, want %s", id, got, config)
		}
	}
}

// bombs are inputs at the caps that cost a naive reader gigabytes or minutes.
func bombs() map[string]string {
	var laughs, merges strings.Builder
	laughs.WriteString("a0: &a0 [x,x,x,x,x,x,x,x,x]\n")
	merges.WriteString("a0: &a0 {k: v}\n")
	for i := 1; i < 30; i++ {
		fmt.Fprintf(&laughs, "a%d: &a%d [*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d]\n", i, i, i-1, i-1, i-1, i-1, i-1, i-1, i-1, i-1)
		fmt.Fprintf(&merges, "a%d: &a%d {<<: [*a%d,*a%d,*a%d,*a%d]}\n", i, i, i-1, i-1, i-1, i-1)
	}
	text := "a: &a \"" + strings.Repeat("x", 50<<10) + "\"\nb: [" + strings.Repeat("*a,", 1000) + "]\n"
	under := func(s string) string {
		return "plugins:\n  mcp:\n    servers:\n" + "      " + strings.ReplaceAll(strings.TrimSpace(s), "\n", "\n      ") + "\n"
	}
	return map[string]string{
		"billion laughs":        under(laughs.String()),
		"merge bomb":            under(merges.String()),
		"much text by aliases":  under(text),
		"deep flow":             "plugins: " + strings.Repeat("[", 100_000),
		"deep flow mappings":    "plugins: " + strings.Repeat("{a: ", 60_000),
		"deep block":            deepBlock(600),
		"an alias to itself":    under("a: &a [*a]"),
		"a merge of itself":     under("a: &a {<<: *a}"),
		"a mapping in itself":   under("a: &a {b: *a}"),
		"many values":           "plugins: {mcp: {servers: {a: {args: [" + strings.Repeat("1,", 120_000) + "]}}}}",
		"many errors":           "plugins: {agent: {" + strings.Repeat("!x a: !y b, ", 20_000) + "}}",
		"larger than the limit": strings.Repeat("# comment\n", 30_000),
	}
}

// heavy are inputs that are within all budgets, barely.
func heavy() map[string]string {
	var keys strings.Builder
	keys.WriteString("plugins: {mcp: {servers: {")
	for i := 0; keys.Len() < 250<<10; i++ {
		fmt.Fprintf(&keys, "k%d: , ", i)
	}
	keys.WriteString("}}}")
	return map[string]string{
		"many keys":    keys.String(),
		"many anchors": "plugins: {mcp: {servers: {a: {args: [" + strings.Repeat("&a x,", 45_000) + "]}}}}",
	}
}

func deepBlock(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return b.String()
}

func TestE29_TheBudgetsAreThoseThatAreSaid(t *testing.T) {
	list := func(n int) string { return "plugins: {mcp: {servers: {a: {args: [" + strings.Repeat("x,", n) + "]}}}}" }
	if _, problem := load(t, list(49_000)); problem != "" {
		t.Errorf("49,000 values: %s", problem)
	}
	if _, problem := load(t, list(50_001)); !strings.Contains(problem, "more than 50,000 values") {
		t.Errorf("50,001 values: %s", problem)
	}
	text := "plugins: {agent: {model: \"${X}${X}\"}}"
	if _, problem := load(t, text, "X="+strings.Repeat("x", 500<<10)); problem != "" {
		t.Errorf("1,000 KiB by variables: %s", problem)
	}
	if _, problem := load(t, text, "X="+strings.Repeat("x", 600<<10)); !strings.Contains(problem, "more than 1 MiB of text") {
		t.Errorf("1,200 KiB by variables: %s", problem)
	}
}

func TestE29_BombsAreRefusedWithinBudgets(t *testing.T) {
	s := newSchema(t)
	inputs := heavy()
	maps.Copy(inputs, bombs())
	for name, text := range inputs {
		t.Run(name, func(t *testing.T) {
			path := write(t, text)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := s.Load(config.Sources{File: path, Named: true})
			runtime.ReadMemStats(&after)
			if accepted := heavy()[name] != ""; accepted != (err == nil) {
				t.Errorf("accepted: %v, want %v: %v", err == nil, accepted, err)
			}
			// All that was ever allocated bounds what was in use at a time from
			// above; most of it is garbage of the parser.
			if got := after.TotalAlloc - before.TotalAlloc; got > 96<<20 {
				t.Errorf("%d MiB were allocated in total, want at most 96", got>>20)
			}
		})
	}
}

func TestE27_OnlyRegularFilesOfOurOwnAreRead(t *testing.T) {
	if os.PathSeparator != '/' {
		t.Skip("files have no modes here")
	}
	s := newSchema(t)
	path := write(t, "plugins: {offline: {}}\n")
	named := config.Sources{File: path, Named: true}
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Load(named); err == nil || !strings.Contains(err.Error(), "writable for everybody") {
		t.Errorf("a file that everybody may write: %v", err)
	}
	named.AllowLoose = true
	if doc, err := s.Load(named); err != nil || len(doc.Warnings) != 1 {
		t.Errorf("with AllowLoose: %v, %v", doc, err)
	}
	if os.Geteuid() == 0 {
		if err := errors.Join(os.Chmod(path, 0o600), os.Chown(path, 4711, 4711)); err != nil {
			t.Fatal(err)
		}
		strict := config.Sources{File: path, Named: true}
		if _, err := s.Load(strict); err == nil || !strings.Contains(err.Error(), "belongs to another user") {
			t.Errorf("a file of somebody else: %v", err)
		}
	}
	// What is believed for its content may lie about.
	found := config.Sources{File: path, Trusted: func(string, string) bool { return true }}
	if _, err := s.Load(found); err != nil {
		t.Errorf("a file accepted by its content: %v", err)
	}
	if _, err := s.Load(config.Sources{File: t.TempDir(), Named: true}); err == nil || !strings.Contains(err.Error(), "this is a folder") {
		t.Errorf("a folder: %v", err)
	}
	if _, err := s.Load(config.Sources{File: filepath.Join(t.TempDir(), "no.yml")}); !os.IsNotExist(unwrap(err)) {
		t.Errorf("a missing file: %v", err)
	}
}

func unwrap(err error) error {
	for {
		u, ok := err.(interface{ Unwrap() error })
		if !ok {
			return err
		}
		err = u.Unwrap()
	}
}

func FuzzLoad(f *testing.F) {
	f.Add(example)
	for _, b := range bombs() {
		if len(b) < 256 { // the large ones cost a tenth of a second each
			f.Add(b)
		}
	}
	f.Add("plugins: [{id: dsh-tool-search, config: {preset: dsh}}]")
	f.Add("plugins: {agent: &a {<<: [*a, {x: \"${Y:-$$}\"}]}}")
	s, err := config.NewSchema(plugins()...)
	if err != nil {
		f.Fatal(err)
	}
	path := filepath.Join(f.TempDir(), "agent.yml")
	f.Fuzz(func(t *testing.T, text string) {
		for _, trusted := range []bool{true, false} {
			src := config.Sources{File: path, Named: trusted, Environ: []string{"A=b"},
				Read: func(string) (*config.File, error) { return config.FileOf(path, []byte(text)), nil }}
			doc, err := s.Load(src)
			if err != nil {
				if strings.TrimSpace(err.Error()) == "" {
					t.Error("an error without text")
				}
				continue
			}
			if _, err := doc.Show(); err != nil {
				t.Errorf("show: %v", err)
			}
			if trusted {
				continue
			}
			doc.Walk(func(e *config.Entry) {
				if strings.Contains(string(e.Config), `"b"`) && !strings.Contains(text, "b") {
					t.Errorf("the environment was read: %s", e.Config)
				}
			})
			for _, r := range doc.Policy {
				t.Errorf("a rule without trust: %v", r)
			}
		}
	})
}
