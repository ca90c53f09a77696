package command

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestShellCommandsTellEachProgram(t *testing.T) {
	for _, tt := range []struct {
		line string
		want []string
		ok   bool
	}{
		{"git status", []string{"git status"}, true},
		{"  git   commit -m 'a b'", []string{"git commit -m 'a b'"}, true},
		{`echo "a b" c\ d ''`, []string{"echo 'a b' 'c d' ''"}, true},
		{"git status; rm -rf x", []string{"git status", "rm -rf x"}, true},
		{"a && b || c | d & e\nf", []string{"a", "b", "c", "d", "e", "f"}, true},
		{"git status # ; rm x", []string{"git status"}, true},
		{"git 'status; rm x'", []string{"git 'status; rm x'"}, true},
		{"g\\it st\\\natus", []string{"git status"}, true},
		{"cd sub && go test ./...", []string{"cd sub", "go test ./..."}, true},
		{"git $(rm x)", []string{"git '$' rm x ''"}, false},
		{"git `rm x`", nil, false},
		{`git "$X"`, nil, false},
		{"git $X", nil, false},
		{"git > /etc/x", nil, false},
		{"git < x", nil, false},
		{"(git)", nil, false},
		{"{ git; }", nil, false},
		{"LD_PRELOAD=x git", nil, false},
		{"if git; then rm x; fi", nil, false},
		{"eval git", nil, false},
		{"! git", nil, false},
		{"git *", nil, false},
		{"~/git", nil, false},
		{"git 'open", nil, false},
		{`git "open`, nil, false},
		{`git \`, nil, false},
		{"", nil, false},
		{"# only", nil, false},
	} {
		got, ok := Split(tt.line)
		if ok != tt.ok {
			t.Errorf("%q: ok = %v", tt.line, ok)
		}
		if tt.ok {
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%q: -want +got\n%s", tt.line, diff)
			}
		}
	}
}

// Of a line that Split gives up on it still names whatever its programs may
// be, for rules that forbid some.
func TestEveryProgramOfALineIsNamed(t *testing.T) {
	for _, line := range []string{
		"(rm v)", "( rm v )", "((rm v))", "{ rm v; }", "! rm v", "! { rm v; }", "a && (b; rm v)",
		"if true; then rm v; fi", "if rm v; then a; fi", "if a\nthen rm v\nfi", "if a; then b; elif rm v; then c; fi",
		"if a; then b; else rm v; fi", "while rm v; do a; done", "until a; do rm v; done", "for i in 1; do rm v; done",
		"case x in x) rm v;; esac", "case x in (x) rm v;; esac", "f() { rm v; }; f", "function f { rm v; }", "f() ( rm v )",
		"$(rm v)", "echo $(rm v)", `echo "$(rm v)"`, `echo "a; $(echo "b"; rm v) c"`, "echo `rm v`", "echo \"`rm v`\"",
		`echo "it's $(rm v)"`, "x=$(rm v)", "cat <(rm v)", "cat <<E\nit's $(rm v)\nE", "x=1 rm v", "x=1 y=2 rm v",
		"rm v > f", "rm v >f 2>&1", ">f rm v", "> f rm v", "2>f rm v", ">&2 rm v", "<f rm v", "a >f; rm v", "&>f rm v",
		"r''m v >f", `r\m v >f`, `"rm" v >f`, "rm  \t v > f", "{rm,v}", "a; {rm,v}", "rm${IFS}v", "rm$IFS'v'", "$'rm' v", `$"rm" v`,
		"time rm v", "time -p rm v", "command rm v", "command -p rm v", "exec rm v", "exec -a x rm v", "builtin rm v", "eval rm v",
		"eval 'rm v'", `eval "a; rm v"`, "trap 'rm v' EXIT", "alias r='rm v'; r", "coproc rm v", "then rm v", "do ! time rm v",
		"rm v 'open", `rm v "open`, "rm v \\", "*; rm v", "a | (rm v)", "a & (rm v) &",
	} {
		got, ok := Split(line)
		if ok {
			t.Errorf("%q is taken for a plain line", line)
		}
		if !slices.ContainsFunc(got, func(c string) bool { return c == "rm" || strings.HasPrefix(c, "rm ") }) {
			t.Errorf("%q: rm is not in %q", line, got)
		}
	}
	for line, not := range map[string]string{
		"echo 'a; rm v' > f": "rm v", `echo "a; rm v" > f`: "rm v", "ls *.go # rm v": "rm v", "echo rm v > f": "rm v", "a > rm": "rm",
	} {
		if got, _ := Split(line); slices.Contains(got, not) {
			t.Errorf("%q: %q is none of its programs: %q", line, not, got)
		}
	}
}

// Each command that a line was told into is a line of its own that says the
// same.
func FuzzShellCommands(f *testing.F) {
	f.Add("a b; c 'd e' \"f\\\"g\" && h\\ i #x")
	f.Add("a\n\nb|c\\\nd")
	f.Fuzz(func(t *testing.T, line string) {
		commands, ok := Split(line)
		if !ok {
			return
		}
		for _, command := range commands {
			again, ok := Split(command)
			if !ok && !strings.Contains(command, "=") || ok && (len(again) != 1 || again[0] != command) {
				t.Fatalf("%q holds %q, which is %q", line, command, again)
			}
		}
	})
}
