package workspace

import (
	"encoding/json"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentd-host/agentd/core"
)

var testCommands = commandLimits{timeout: time.Minute, longest: 10 * time.Minute, output: 10_000}

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
		{commandInput{Command: "sleep 1000 & echo done"}, "done\n[exit code 0; processes that it left behind were ended]\n"},
		{commandInput{Command: "sleep 1000", Timeout: 0.1}, "[ended after its time-out of 100ms]\n"},
	} {
		res, err := f.run(t.Context(), tt.in, testCommands)
		must(t, err)
		if diff := cmp.Diff(tt.want, answerOf(res)); diff != "" {
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

// What is kept or written about a command does not reach another folder or
// another input.
func TestCommandPermissionTellsFolderAndInput(t *testing.T) {
	const abc = "stdin of 3 bytes sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
	need := func(with string, targets ...string) (list []core.Permission) {
		for _, target := range targets {
			list = append(list, core.Permission{Name: "tool:run_command", Target: target, With: with})
		}
		return list
	}
	for args, want := range map[string][]core.Permission{
		`{"argv": ["sh"]}`:                                 need("", "sh"),
		`{"argv": ["sh"], "cwd": "./", "stdin": ""}`:       need("", "sh"),
		`{"argv": ["make"], "cwd": "./sub//a"}`:            need("cwd sub/a", "make"),
		`{"argv": ["make"], "cwd": "link/.."}`:             need("cwd link/..", "make"),
		`{"argv": ["sh"], "stdin": "abc"}`:                 need(abc, "sh", "sh < stdin"),
		`{"command": "a | b", "cwd": "s", "stdin": "abc"}`: need("cwd s, "+abc, "a", "a < stdin", "b", "b < stdin"),
		`{"argv": ["sh", "<", "stdin"]}`:                   need("", "sh '<' stdin"),
		`{"command": "(a)", "cwd": "s"}`: append(need("cwd s, the line "+digest("(a)"), "'(a)'", "a"),
			need("cwd s", "sh -c '(a)'")...),
	} {
		got, err := commandPermission(json.RawMessage(args))
		must(t, err)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", args, diff)
		}
	}
}
