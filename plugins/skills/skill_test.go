package skills

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/coretest"
)

func TestMain(m *testing.M) { coretest.Main(m) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestParseReadsNameDescriptionAndText(t *testing.T) {
	for _, tt := range []struct {
		name, file string
		want       core.Skill
	}{
		{"plain", "---\nname: a\ndescription: What it does.\n---\n# A\ntext\n", core.Skill{Name: "a", Description: "What it does.", Text: "# A\ntext\n"}},
		{"name of the folder", "---\ndescription: d\n---\nt", core.Skill{Name: "dir", Description: "d", Text: "t\n"}},
		{"folded", "---\ndescription: >\n  one\n  two\nlicense: MIT\nmetadata: {a: [1]}\n---\n\nt\n\n", core.Skill{Name: "dir", Description: "one two", Text: "t\n"}},
		{"CRLF and byte order mark", "\ufeff---\r\ndescription: d\r\n---\r\na\r\nb\r\n", core.Skill{Name: "dir", Description: "d", Text: "a\nb\n"}},
		{"dashes in the text", "---\ndescription: d\n---\na\n---\nb\n", core.Skill{Name: "dir", Description: "d", Text: "a\n---\nb\n"}},
		{"quoted", "---\nname: 'x'\ndescription: \"a: b\"\n---\nt\n", core.Skill{Name: "x", Description: "a: b", Text: "t\n"}},
		{"number as text", "---\nname: x\ndescription: 1\n---\nt\n", core.Skill{Name: "x", Description: "1", Text: "t\n"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := parse("dir", []byte(tt.file))
			must(t, err)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func TestParseSaysWhatToChange(t *testing.T) {
	for _, tt := range []struct{ name, file, says string }{
		{"nothing", "", "does not begin with"},
		{"no front matter", "# text\n", "does not begin with"},
		{"not closed", "---\ndescription: d\n", "no closing"},
		{"no description", "---\nname: a\n---\nt\n", "no description"},
		{"empty front matter", "---\n---\nt\n", "no description"},
		{"no text", "---\ndescription: d\n---\n", "no text"},
		{"no text, no line", "---\ndescription: d\n---", "no text"},
		{"bad name", "---\nname: a/b\ndescription: d\n---\nt\n", `name "a/b"`},
		{"list", "---\n- a\n---\nt\n", "key: value"},
		{"not a text", "---\nname: x\ndescription: [a]\n---\nt\n", "line 3: description: want a text"},
		{"alias", "---\nx: &a b\ndescription: *a\n---\nt\n", "line 3: description: want a text"},
		{"broken", "---\na: b: c\n---\nt\n", "front matter"},
		{"binary", "---\ndescription: d\n---\n\x00", "UTF-8"},
		{"long description", "---\ndescription: " + strings.Repeat("x", 2000) + "\n---\nt\n", "longer than 1024"},
		{"long front matter", "---\n# " + strings.Repeat("x", 20_000) + "\n---\nt\n", "larger than 16384"},
		{"long file", "---\ndescription: d\n---\n" + strings.Repeat("x", maxFile), "larger than 262144"},
	} {
		_, err := parse("dir", []byte(tt.file))
		if err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v, want an error that says %q", tt.name, err, tt.says)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("---\nname: a\ndescription: >\n  d\n---\nt\n")
	f.Add("---\n&a [*a]\n---\n")
	f.Add("---\r\n? {a: b}\r\n: c\r\n---\r\n")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := parse("dir", []byte(text))
		if err == nil && check(s) != nil {
			t.Fatalf("%q: %v", text, check(s))
		}
	})
}

// write puts files below dir.
func write(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		full := filepath.Join(dir, filepath.FromSlash(name))
		must(t, os.MkdirAll(filepath.Dir(full), 0o755))
		must(t, os.WriteFile(full, []byte(content), 0o644))
	}
}

func skillFile(description string) string {
	return "---\ndescription: " + description + "\n---\ntext of " + description + "\n"
}

func names(list []core.Skill) string {
	var out []string
	for _, s := range list {
		out = append(out, s.Name)
	}
	return strings.Join(out, " ")
}

func TestScanReadsEachFolderAndNamesWhatItLeftOut(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"s/b/SKILL.md": skillFile("b"), "s/a/SKILL.md": skillFile("a"), "s/bad/SKILL.md": "no",
		"s/README": "x", "s/empty/other": "x",
	})
	found, problems := folder{base: dir, sub: "s"}.scan()
	if got := names(found); got != "a b" {
		t.Errorf("found %q", got)
	}
	if len(problems) != 1 || !strings.HasPrefix(problems[0].Error(), filepath.Join(dir, "s", "bad", "SKILL.md")+": does not begin") {
		t.Errorf("problems: %v", problems)
	}
	for _, f := range []folder{{base: dir, sub: "none"}, {base: dir + "/none", sub: "s"}, {base: dir + "/none", sub: "s", confined: true}} {
		if found, problems := f.scan(); found != nil || problems != nil {
			t.Errorf("scan of nothing: %v, %v", found, problems)
		}
	}
}

func TestE14_UntrustedSkillsAreLeftOut(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{".agentd/skills/a/SKILL.md": skillFile("a"), ".agentd/skills/b/SKILL.md": skillFile("b")})
	accepted := skillFile("a")
	f := folder{base: dir, sub: ".agentd/skills", confined: true, trusted: func(path string, content []byte) bool {
		return path == filepath.Join(dir, ".agentd", "skills", "a", "SKILL.md") && string(content) == accepted
	}}
	found, problems := f.scan()
	if got := names(found); got != "a" || len(problems) != 1 || !errors.Is(problems[0], errUntrusted) {
		t.Errorf("found %q, problems %v", got, problems)
	}
	write(t, dir, map[string]string{".agentd/skills/a/SKILL.md": skillFile("a") + "and more"})
	if found, _ := f.scan(); len(found) != 0 {
		t.Errorf("changed content was read: %v", found)
	}
}

func TestE15_SkillsOfAWorkspaceLieInIt(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("symbolic links need a privilege on Windows")
	}
	outside, dir := t.TempDir(), t.TempDir()
	write(t, outside, map[string]string{"x/SKILL.md": skillFile("x")})
	must(t, os.MkdirAll(filepath.Join(dir, "skills"), 0o755))
	must(t, os.Symlink(filepath.Join(outside, "x"), filepath.Join(dir, "skills", "x")))
	found, problems := folder{base: dir, sub: "skills", confined: true}.scan()
	if len(found) != 0 || len(problems) != 1 {
		t.Errorf("a link out of the workspace: %v, %v", found, problems)
	}
	// In one's own home links are how people share skills.
	found, problems = folder{base: dir, sub: "skills"}.scan()
	if names(found) != "x" || len(problems) != 0 {
		t.Errorf("a link out of the home: %v, %v", found, problems)
	}
}

func TestCatalogue(t *testing.T) {
	skill := func(name, d string) core.Skill { return core.Skill{Name: name, Description: d, Text: d} }
	c := newCatalogue([]core.Skill{skill("b", "first")}, []core.Skill{skill("b", "second"), skill("a", "a")})
	want := []core.Skill{skill("a", "a"), skill("b", "first")}
	if diff := cmp.Diff(want, c.all()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if got, err := c.get("b"); err != nil || got.Description != "first" {
		t.Errorf("get = %v, %v", got, err)
	}
	long := newCatalogue([]core.Skill{skill("release", "x"), skill("review", "y")})
	for name, says := range map[string]string{"relaese": `did you mean "release"?`, "zzz": "there are: release, review"} {
		if _, err := long.get(name); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("get(%q): %v", name, err)
		}
	}
	var none *catalogue
	if none.list() != "[there are no skills]" || !none.equal(newCatalogue()) || none.equal(c) {
		t.Error("nil is not an empty catalogue")
	}
	var many []core.Skill
	for i := range 26 {
		many = append(many, skill(strings.Repeat(string(rune('a'+i)), 20), strings.Repeat("d", 900)))
	}
	text := newCatalogue(many).describe()
	if len(text) > maxListed+100 || !strings.HasSuffix(text, "more; skill without a name lists all") {
		t.Errorf("%d bytes, ends %q", len(text), text[len(text)-60:])
	}
}
