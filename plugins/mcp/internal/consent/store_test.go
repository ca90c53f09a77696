package consent

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func subject(change func(*Subject)) Subject {
	line := Line{Command: "npx", Args: []string{"-y", "server"}, Env: []string{"TOKEN"}, Dir: "/work"}
	s := Subject{Config: "/c/agent.yml", Server: "files", Line: line, Key: "npx", Program: Program{{"/bin/npx", "aa"}, {"/bin/node", "bb"}}}
	change(&s)
	s.Shown = s.Line.String()
	return s
}

func same(*Subject) {}

func check(t *testing.T, s *Store, sub Subject) *Change {
	t.Helper()
	c, err := s.Check(sub)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestE18_TheFirstIsTheBaselineAndAChangeIsAQuestion(t *testing.T) {
	line, program := &Change{Line: true, WasLine: "npx -y server with TOKEN in /work"},
		&Change{Programs: true, WasProgram: Program{{"/bin/npx", "aa"}, {"/bin/node", "bb"}}}
	for name, tt := range map[string]struct {
		change func(*Subject)
		want   *Change
	}{
		"nothing":                    {same, nil},
		"another argument":           {func(s *Subject) { s.Line.Args = []string{"-y", "serve r"} }, line},
		"an argument cut in two":     {func(s *Subject) { s.Line.Args = []string{"-y", "ser", "ver"} }, line},
		"a further variable":         {func(s *Subject) { s.Line.Env = []string{"NODE_OPTIONS", "TOKEN"} }, line},
		"another folder":             {func(s *Subject) { s.Line.Dir = "/tmp" }, line},
		"another command":            {func(s *Subject) { s.Line.Command, s.Key, s.Program = "uvx", "uvx", nil }, line},
		"an interpreter's upgrade":   {func(s *Subject) { s.Program = Program{{"/bin/npx", "aa"}, {"/bin/node", "cc"}} }, program},
		"a program elsewhere":        {func(s *Subject) { s.Program = Program{{"/tmp/npx", "aa"}, {"/bin/node", "bb"}} }, program},
		"a new server":               {func(s *Subject) { s.Server, s.Line.Args = "web", nil }, nil},
		"another file's server":      {func(s *Subject) { s.Config, s.Line.Args = "/d/agent.yml", nil }, nil},
		"a new server, old npx gone": {func(s *Subject) { s.Server, s.Program = "web", Program{{"/tmp/npx", "aa"}} }, program},
	} {
		for _, path := range []string{"", filepath.Join(t.TempDir(), "consent.json")} {
			t.Run(fmt.Sprintf("%s, kept is %v", name, path != ""), func(t *testing.T) {
				s := Open(path)
				if c := check(t, s, subject(same)); c != nil {
					t.Fatalf("the first start is a question: %+v", c)
				}
				next := subject(tt.change)
				for range 2 { // asking does not answer
					if diff := cmp.Diff(tt.want, check(t, s, next)); diff != "" {
						t.Fatal(diff)
					}
				}
				if err := s.Allow(next, "Ada"); err != nil {
					t.Fatal(err)
				}
				if c := check(t, s, next); c != nil {
					t.Errorf("asked again: %+v", c)
				}
				if c := check(t, s, subject(same)); c != nil {
					t.Errorf("going back is a question: %+v", c)
				}
			})
		}
	}
}

func TestE18_AProgramIsOneQuestionForAllServers(t *testing.T) {
	s := Open(filepath.Join(t.TempDir(), "consent.json"))
	upgraded := func(server string) Subject {
		return subject(func(s *Subject) { s.Server, s.Program = server, Program{{"/bin/npx", "aa"}, {"/bin/node", "cc"}} })
	}
	for _, server := range []string{"files", "web"} {
		check(t, s, subject(func(s *Subject) { s.Server = server }))
		if c := check(t, s, upgraded(server)); c == nil || !c.Programs || c.Line {
			t.Fatalf("%s: %+v", server, c)
		}
	}
	if err := s.Allow(upgraded("files"), "Ada"); err != nil {
		t.Fatal(err)
	}
	if c := check(t, s, upgraded("web")); c != nil {
		t.Errorf("asked for each server: %+v", c)
	}
}

func TestE18_WhatWasShownWithTheFileIsNotAskedAgain(t *testing.T) {
	s := Open(filepath.Join(t.TempDir(), "consent.json"))
	check(t, s, subject(same))
	next := subject(func(s *Subject) { s.Line.Args, s.Program = []string{"new"}, Program{{"/bin/npx", "xx"}} })
	if err := s.Adopt("Ada", next); err != nil {
		t.Fatal(err)
	}
	// The file does not say what the program holds.
	c := check(t, s, next)
	if c == nil || c.Line || !c.Programs {
		t.Errorf("after trust: %+v", c)
	}
	// A program that was not there when the file was shown is no baseline.
	absent := subject(func(s *Subject) { s.Server, s.Line.Command, s.Key, s.Program = "py", "uvx", "uvx", nil })
	if err := s.Adopt("Ada", absent); err != nil {
		t.Fatal(err)
	}
	absent.Program = Program{{"/bin/uvx", "ee"}}
	if c := check(t, s, absent); c != nil {
		t.Errorf("a program that was installed later: %+v", c)
	}
}

func TestStore_IsSharedBetweenProcessesAndBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mcp", "consent.json")
	one, two := Open(path), Open(path)
	check(t, one, subject(same))
	next := subject(func(s *Subject) { s.Line.Args = nil })
	if c := check(t, two, next); c == nil {
		t.Fatal("the other process does not know the baseline")
	}
	if err := one.Allow(next, "Ada"); err != nil {
		t.Fatal(err)
	}
	if c := check(t, two, next); c != nil {
		t.Errorf("the answer is not seen: %+v", c)
	}
	for i := range kept {
		if err := one.Allow(subject(func(s *Subject) { s.Line.Args = []string{fmt.Sprint(i)} }), "Ada"); err != nil {
			t.Fatal(err)
		}
	}
	if c := check(t, two, next); c == nil {
		t.Error("more is kept than should be")
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
}

func TestE18_ARecordThatCannotBeReadAllowsNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "consent.json")
	for text, want := range map[string]string{
		"{":                 "repair or remove it",
		`{"version":2}`:     "newer than this program",
		`{"serversX":null}`: "unknown field",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if c, err := Open(path).Check(subject(same)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v", text, c, err)
		}
	}
	if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path).Check(subject(same)); err == nil || !strings.Contains(err.Error(), "others may write it") {
		t.Errorf("a file that others may write: %v", err)
	}
}

func TestLine_ShowsExactlyWhatRuns(t *testing.T) {
	l := Line{Command: "npx", Args: []string{"-y", "a b", "$(id)", "", "\u202e\x1b"}, Env: []string{"A", "B"}, Dir: "/w"}
	want := `npx -y "a b" "$(id)" "" "\u202e\x1b" with A, B in /w`
	if got := l.String(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
