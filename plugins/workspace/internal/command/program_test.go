package command

import (
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentd-host/agentd/core/coretest"
)

func TestMain(m *testing.M) { coretest.Main(m) }

// shell is a command line with limits that a test does not reach.
func shell(t *testing.T, line string) Program {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("commands are supported on Linux and macOS")
	}
	return Program{Argv: Shell(line), Dir: t.TempDir(), Timeout: time.Minute, Grace: time.Second, Output: 10_000}
}

// output is what a program that runs well says.
func output(t *testing.T, p Program) string {
	t.Helper()
	res, err := p.Run(t.Context())
	if err != nil || res.Code != 0 {
		t.Fatalf("%q: %+v, %v", p.Argv, res, err)
	}
	return res.Output
}

func TestE21_AProgramSeesOnlyTheAllowListOfVariables(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-canary")
	t.Setenv("AGENTD_TOKEN", "canary")
	t.Setenv("MY_SETTING", "seen")
	t.Setenv("MY_API_KEY", "canary")
	t.Setenv("EXACT_TOKEN", "meant")
	p := shell(t, "env")
	p.Env = []string{"MY_*", "EXACT_TOKEN"}
	out := output(t, p)
	for _, want := range []string{"MY_SETTING=seen", "EXACT_TOKEN=meant", "PATH=", "GIT_TERMINAL_PROMPT=0"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %s in:\n%s", want, out)
		}
	}
	if strings.Contains(out, "canary") {
		t.Errorf("a key came through:\n%s", out)
	}
	for line := range strings.Lines(out) {
		name, _, _ := strings.Cut(line, "=")
		extra := []string{"MY_SETTING", "EXACT_TOKEN", "PWD", "OLDPWD", "SHLVL", "_"} // the last are the shell's own
		if !allowed(name, passed) && !slices.Contains(extra, name) && !isQuiet(name) {
			t.Errorf("%s came through", name)
		}
	}
}

func TestAProgramEndsAtItsTimeout(t *testing.T) {
	p := shell(t, "echo begun; sleep 1000")
	p.Timeout = 300 * time.Millisecond
	res, err := p.Run(t.Context())
	if err != nil || res.Code != -1 || res.Ended != "ended after its time-out of 300ms" {
		t.Errorf("%+v, %v", res, err)
	}
}

func TestOutputIsCapped(t *testing.T) {
	p := shell(t, "i=0; while [ $i -lt 5000 ]; do echo line $i; i=$((i+1)); done")
	p.Output = 200
	out := output(t, p)
	if !strings.HasPrefix(out, "line 0\n") || !strings.Contains(out, "bytes left out") || !strings.HasSuffix(out, "line 4999\n") || len(out) > 400 {
		t.Errorf("%d bytes: %s", len(out), out)
	}
}

// The words of a line are those that the shell itself makes of it.
func TestSplitAgreesWithTheShell(t *testing.T) {
	const said = "\nprintf '<%s>' \"$@\""
	for _, line := range []string{
		"a b  c", `'a b' "c d" e\ f`, `"a\"b" "c\\d" "e\xf" 'g\h' '' ""`, "a'b'\"c\"d", "a \\\n b\\\nc", "a#b #c d",
		"\"a\\\nb\"", `\\a \'b \"c`, "é 'ü' \"ö\"", "a=b c=d", "-x --y=z %1 @a +b ^c a,b",
	} {
		commands, ok := Split("echo " + line)
		if !ok || len(commands) != 1 {
			t.Errorf("%q was not told: %q", line, commands)
			continue
		}
		want := output(t, shell(t, "set -- "+line+said))
		if got := output(t, shell(t, "set -- "+strings.TrimPrefix(commands[0], "echo ")+said)); got != want {
			t.Errorf("%q is %s for the shell, told as %s", line, want, got)
		}
	}
}
