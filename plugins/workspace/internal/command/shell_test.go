package command

import (
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
