package workspace

import (
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var testCommands = commandLimits{timeout: time.Minute, longest: 10 * time.Minute, output: 10_000, grace: time.Second}

func unixOnly(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("commands are supported on Linux and macOS")
	}
}

func TestCommandAnswersOutputAndExitCode(t *testing.T) {
	unixOnly(t)
	f := testFolder(t, map[string]string{"sub/x": ""})
	for _, tt := range []struct {
		in   commandInput
		want string
	}{
		{commandInput{Command: "echo out; echo err >&2; exit 3"}, "out\nerr\n[exit code 3]\n"},
		{commandInput{Argv: []string{"echo", "$HOME", ";", "*"}}, "$HOME ; *\n[exit code 0]\n"},
		{commandInput{Command: "cat", Stdin: "fed"}, "fed\n[exit code 0]\n"},
		{commandInput{Command: "cat"}, "[exit code 0]\n"},
		{commandInput{Command: "pwd", Cwd: "sub"}, filepath.Join(f.path, "sub") + "\n[exit code 0]\n"},
		{commandInput{Command: `printf 'a\377b'`}, "a\uFFFDb\n[exit code 0]\n"},
		{commandInput{Command: "kill -9 $$"}, "[signal: killed]\n"},
		{commandInput{Command: "tty"}, "not a tty\n[exit code 1]\n"},
	} {
		res, err := f.run(t.Context(), tt.in, testCommands)
		must(t, err)
		if diff := cmp.Diff(tt.want, res.answer()); diff != "" {
			t.Errorf("run(%+v): -want +got\n%s", tt.in, diff)
		}
	}
}

func TestCommandRefusesWhatItCannotRun(t *testing.T) {
	unixOnly(t)
	f := linked(t)
	for _, tt := range []struct {
		in   commandInput
		part string
	}{
		{commandInput{}, "give a command"},
		{commandInput{Command: "a", Argv: []string{"a"}}, "not both"},
		{commandInput{Argv: []string{""}}, "give a command"},
		{commandInput{Argv: []string{"no-such-program-here"}}, `no program "no-such-program-here"`},
		{commandInput{Argv: []string{"./docs/a.txt"}}, "permission denied"},
		{commandInput{Command: "pwd", Cwd: "out"}, "outside the workspace"},
		{commandInput{Command: "pwd", Cwd: "docs/a.txt"}, "not a folder"},
		{commandInput{Command: "pwd", Cwd: "none"}, "does not exist"},
		{commandInput{Command: "pwd", Timeout: -1}, "negative"},
		{commandInput{Command: "pwd", Timeout: 1e9}, "at most 600"},
	} {
		_, err := f.run(t.Context(), tt.in, testCommands)
		wantError(t, err, tt.part)
	}
}

func TestE21_CommandSeesOnlyTheAllowListOfVariables(t *testing.T) {
	unixOnly(t)
	t.Setenv("OPENAI_API_KEY", "sk-canary")
	t.Setenv("AGENTD_TOKEN", "canary")
	t.Setenv("MY_SETTING", "seen")
	t.Setenv("MY_API_KEY", "canary")
	t.Setenv("EXACT_TOKEN", "meant")
	f := testFolder(t, nil)
	l := testCommands
	l.env = []string{"MY_*", "EXACT_TOKEN"}
	res, err := f.run(t.Context(), commandInput{Command: "env"}, l)
	must(t, err)
	wantText(t, res.output, "MY_SETTING=seen", "EXACT_TOKEN=meant", "PATH=", "GIT_TERMINAL_PROMPT=0")
	if strings.Contains(res.output, "canary") {
		t.Errorf("a key came through:\n%s", res.output)
	}
	for line := range strings.Lines(res.output) {
		name, _, _ := strings.Cut(line, "=")
		extra := []string{"MY_SETTING", "EXACT_TOKEN", "PWD", "OLDPWD", "SHLVL", "_"} // the last are the shell's own
		if !allowed(name, passed) && !slices.Contains(extra, name) && !slices.ContainsFunc(quiet, func(q string) bool { return strings.HasPrefix(q, name+"=") }) {
			t.Errorf("%s came through", name)
		}
	}
}

func TestEnvironment(t *testing.T) {
	environ := []string{"B=2", "PATH=/bin", "LC_ALL=C", "A_TOKEN=x", "A_B=y", "=C:=x", "broken", "PAGER=less", "HOME=/h"}
	for _, tt := range []struct {
		allow []string
		want  []string
	}{
		{nil, []string{"GIT_PAGER=cat", "GIT_TERMINAL_PROMPT=0", "HOME=/h", "LC_ALL=C", "NO_COLOR=1", "PAGER=cat", "PATH=/bin", "TERM=dumb"}},
		{[]string{"*"}, []string{"A_B=y", "B=2", "GIT_PAGER=cat", "GIT_TERMINAL_PROMPT=0", "HOME=/h", "LC_ALL=C", "NO_COLOR=1", "PAGER=cat", "PATH=/bin", "TERM=dumb"}},
		{[]string{"A_TOKEN", "PAGER"}, []string{"A_TOKEN=x", "GIT_PAGER=cat", "GIT_TERMINAL_PROMPT=0", "HOME=/h", "LC_ALL=C", "NO_COLOR=1", "PAGER=less", "PATH=/bin", "TERM=dumb"}},
	} {
		if diff := cmp.Diff(tt.want, environment(environ, tt.allow)); diff != "" {
			t.Errorf("allow %q: -want +got\n%s", tt.allow, diff)
		}
	}
	for _, name := range []string{"", "A=B", "[", "a/b"} {
		if checkEnv([]string{name}) == nil {
			t.Errorf("%q is accepted", name)
		}
	}
	must(t, checkEnv([]string{"GOFLAGS", "NPM_*", "PROGRAMFILES(X86)"}))
}

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
		got, ok := shellCommands(tt.line)
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

// Each command that a line was told into is a line of its own that says the
// same.
func FuzzShellCommands(f *testing.F) {
	f.Add("a b; c 'd e' \"f\\\"g\" && h\\ i #x")
	f.Add("a\n\nb|c\\\nd")
	f.Fuzz(func(t *testing.T, line string) {
		commands, ok := shellCommands(line)
		if !ok {
			return
		}
		for _, command := range commands {
			again, ok := shellCommands(command)
			if !ok && !strings.Contains(command, "=") || ok && (len(again) != 1 || again[0] != command) {
				t.Fatalf("%q holds %q, which is %q", line, command, again)
			}
		}
	})
}

func TestCaptureKeepsBothEnds(t *testing.T) {
	c := newCapture(10)
	for _, s := range []string{"abc", "def", "ghi", "jkl", "mno"} {
		c.Write([]byte(s))
	}
	wantText(t, c.text(), "abcde\n[... 5 bytes left out;", "...]\nklmno")
	c = newCapture(10)
	c.Write([]byte("0123456789"))
	if got := c.text(); got != "0123456789" {
		t.Errorf("a whole output became %q", got)
	}
}

// However it is written, a capture keeps the first and the last bytes.
func FuzzCapture(f *testing.F) {
	f.Add(7, 3, "the quick brown fox")
	f.Fuzz(func(t *testing.T, size, piece int, text string) {
		size, piece = 2+max(0, size%50), 1+max(0, piece%9)
		c := newCapture(size)
		for rest := text; rest != ""; {
			n := min(piece, len(rest))
			c.Write([]byte(rest[:n]))
			rest = rest[n:]
		}
		head, tail := string(c.head), string(c.tail[c.at:])+string(c.tail[:c.at])
		if !strings.HasPrefix(text, head) || !strings.HasSuffix(text, tail) || len(head)+len(tail) != min(size, len(text)) {
			t.Fatalf("kept %q and %q of %q", head, tail, text)
		}
	})
}
