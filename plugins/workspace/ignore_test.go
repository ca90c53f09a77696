package workspace

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestIgnoreRulesMatchAsGitDoes(t *testing.T) {
	for _, tt := range []struct {
		rules, base string
		ignored     []string // a slash at the end is a folder
		kept        []string
	}{
		{"*.log", "", []string{"a.log", "d/a.log", "x.log/"}, []string{"a.log.txt", "log"}},
		{"/build", "", []string{"build", "build/"}, []string{"a/build"}},
		{"build/", "", []string{"build/", "a/build/"}, []string{"build"}},
		{"a/b", "", []string{"a/b"}, []string{"x/a/b", "b"}},
		{"a/**/b", "", []string{"a/b", "a/x/b", "a/x/y/b"}, []string{"x/a/b", "ab"}},
		{"**/b", "", []string{"b", "a/b", "a/x/b"}, []string{"ab"}},
		{"a/**", "", []string{"a/x", "a/x/y"}, []string{"a/", "b/a"}},
		{"*\n!keep", "", []string{"a"}, []string{"keep", "d/keep"}},
		{"!a\na", "", []string{"a"}, nil},
		{"# a\n\\#b\n\\!c", "", []string{"#b", "!c"}, []string{"# a", "a"}},
		{"a \nb\\ ", "", []string{"a", "b "}, []string{"a ", "b"}},
		{"[ab].c\n[!x]y", "", []string{"a.c", "zy"}, []string{"c.c", "xy"}},
		{"a?c", "", []string{"abc"}, []string{"a/c", "ac"}},
		{"{a,b}", "", []string{"{a,b}"}, []string{"a"}}, // no alternatives here
		{"*.o", "sub", []string{"sub/a.o", "sub/d/a.o"}, []string{"a.o", "subx/a.o"}},
		{"/x", "sub", []string{"sub/x"}, []string{"x", "sub/d/x"}},
		{"[\n/\n\n \n!", "", nil, []string{"[", "a", "!"}},
		{"\ufeffa\r\nb\r\n", "", []string{"a", "b"}, []string{"a\r"}},
	} {
		rules := parseIgnore(tt.base, tt.rules)
		for _, name := range tt.ignored {
			if name, isDir := strings.CutSuffix(name, "/"); !rules.match(name, isDir) {
				t.Errorf("%q in %q keeps %q", tt.rules, tt.base, name)
			}
		}
		for _, name := range tt.kept {
			if name, isDir := strings.CutSuffix(name, "/"); rules.match(name, isDir) {
				t.Errorf("%q in %q ignores %q", tt.rules, tt.base, name)
			}
		}
	}
}

// What git itself lists in the same folder is what a listing shows.
func TestIgnoreAgreesWithGit(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not installed")
	}
	files := map[string]string{
		".gitignore":     "*.log\n!keep.log\n/out/\nnode_modules/\ndoc/**/*.tmp\n*.sw[op]\na\\ b\nt?st\n/deep/*\n!/deep/keep/\n",
		"sub/.gitignore": "!special.log\nlocal\n/only-here\n",
	}
	for _, name := range []string{
		"a.log", "keep.log", "sub/a.log", "sub/special.log", "sub/local", "sub/x/local", "sub/only-here", "sub/x/only-here",
		"out/x", "sub/out/x", "node_modules/p/i.js", "sub/node_modules/i.js", "doc/a.tmp", "doc/x/y/a.tmp", "sub/doc/a.tmp",
		"x.swp", "x.swx", "a b", "ab", "test", "t/st", "deep/x", "deep/keep/y", "local", "README",
	} {
		files[name] = ""
	}
	f := testFolder(t, files)
	run := func(args ...string) string {
		cmd := exec.CommandContext(t.Context(), git, append([]string{"-C", f.path}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	run("init", "-q")
	want := strings.Split(strings.TrimSpace(run("ls-files", "--others", "--exclude-standard", "-z")), "\x00")
	want = slices.DeleteFunc(want, func(s string) bool { return s == "" })
	slices.Sort(want)
	text, err := f.list(t.Context(), ".", listInput{Pattern: "**"})
	must(t, err)
	var got []string
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "[") {
			got = append(got, strings.TrimSuffix(line, "\n"))
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-git +list\n%s", diff)
	}
}

func TestIgnoreFileThatLeadsOutIsNotRead(t *testing.T) {
	f := testFolder(t, map[string]string{"a": ""})
	outside := filepath.Join(filepath.Dir(f.path), "rules")
	must(t, os.WriteFile(outside, []byte("a\n"), 0o644))
	if err := os.Symlink(outside, f.abs(".gitignore")); err != nil {
		t.Skip(err)
	}
	got, err := f.list(t.Context(), ".", listInput{})
	must(t, err)
	wantText(t, got, "a\n")
}

func FuzzIgnore(f *testing.F) {
	f.Add("*.log\n!a/**/b\n[a-z]?\\ ", "a/x/b")
	f.Add("[[:alpha:]]\n[]]\n[!]\n\\", "a")
	f.Add("/**/**/\n***\n{", "x/y")
	f.Fuzz(func(t *testing.T, text, name string) {
		parseIgnore("", text).match(name, false)
		parseIgnore("x", text).match(name, true)
	})
}

func TestGlob(t *testing.T) {
	for _, tt := range []struct {
		glob string
		yes  []string
		no   []string
	}{
		{"*.go", []string{"a.go", "d/a.go"}, []string{"a.gox", "go"}},
		{"src/*.go", []string{"src/a.go"}, []string{"a.go", "src/d/a.go"}},
		{"**/*.go", []string{"a.go", "a/b/c.go"}, []string{"a.g"}},
		{"./src/**", []string{"src/a", "src/a/b"}, []string{"src", "a"}},
		{"*.{ts,tsx}", []string{"a.ts", "x/a.tsx"}, []string{"a.t", "a.{ts,tsx}"}},
		{"a[0-9].t[!x]t", []string{"a1.tut"}, []string{"a1.txt", "ab.tut"}},
		{`\*`, []string{"*"}, []string{"a"}},
		{"é?", []string{"éü"}, []string{"é"}},
		{"}", []string{"}"}, nil},
		{"a,b", []string{"a,b"}, []string{"a"}},
	} {
		match, err := pathGlob(tt.glob)
		must(t, err)
		for _, name := range tt.yes {
			if !match(name) {
				t.Errorf("%s does not match %s", tt.glob, name)
			}
		}
		for _, name := range tt.no {
			if match(name) {
				t.Errorf("%s matches %s", tt.glob, name)
			}
		}
	}
	for _, glob := range []string{"{a", "[a", `a\`, "[z-a]"} {
		if _, err := pathGlob(glob); err == nil {
			t.Errorf("%q is a glob", glob)
		}
	}
}

func FuzzGlob(f *testing.F) {
	f.Add("a/{b,c}/**/[x-z]?", "a/b/q/xx")
	f.Add(`{{,},{\`, "")
	f.Fuzz(func(t *testing.T, glob, name string) {
		if match, err := pathGlob(glob); err == nil {
			match(name)
		}
	})
}
