package config_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentd-host/agentd/core/config"
)

func TestSetPolicyKeepsEverythingElse(t *testing.T) {
	tests := []struct{ name, before, pattern, value, after string }{
		{"a plain value", "tools:\n  policy:\n    a: auto   # why\n    b: off\n", "a", "off",
			"tools:\n  policy:\n    a: off   # why\n    b: off\n"},
		{"double quotes stay", "tools: {policy: {a: \"auto\"}} # x\n", "a", "ask", "tools: {policy: {a: \"ask\"}} # x\n"},
		{"single quotes stay", "tools:\n  policy:\n    'a*': 'auto'\n", "a*", "off", "tools:\n  policy:\n    'a*': 'off'\n"},
		{"false", "tools:\n  policy:\n    a: false\n", "a", "ask!", "tools:\n  policy:\n    a: \"ask!\"\n"},
		{"nothing", "tools:\n  policy:\n    a:\n    b: off\n", "a", "off", "tools:\n  policy:\n    a: off\n    b: off\n"},
		{"the same value", "tools: {policy: {a: off}}\n", "a", "off", "tools: {policy: {a: off}}\n"},
		{"a new rule", "tools:\n  policy:\n    # first\n    a: auto  # one\n    # b: later\n\nplugins: {}\n", "mcp__x*", "off",
			"tools:\n  policy:\n    # first\n    a: auto  # one\n    \"mcp__x*\": off\n    # b: later\n\nplugins: {}\n"},
		{"a new rule with CRLF", "tools:\r\n  policy:\r\n    a: auto\r\nplugins: {}\r\n", "b", "off",
			"tools:\r\n  policy:\r\n    a: auto\r\n    b: off\r\nplugins: {}\r\n"},
		{"a new rule without a last line break", "tools:\n  policy:\n    a: auto", "b", "off", "tools:\n  policy:\n    a: auto\n    b: off"},
		{"a new rule in a flow mapping", "tools: {policy: {a: auto, }}\n", "b", "off", "tools: {policy: {a: auto, b: off }}\n"},
		{"a new rule in an empty flow mapping", "tools: {policy: { }} # c\n", "b", "off", "tools: {policy: {b: off }} # c\n"},
		{"a flow mapping over several lines", "tools:\n  policy: {\n    \"a}\": auto,\n    'b''}': ask\n  }\nplugins: {}\n", "c", "off",
			"tools:\n  policy: {\n    \"a}\": auto,\n    'b''}': ask, c: off\n  }\nplugins: {}\n"},
		{"a comment before the brace", "tools: {policy: {\n  a: off # b\n  }}\n", "c", "off", ""},
		{"a flow mapping over several lines, fine", "tools:\n  policy: {\n    a: auto,  # }\n    b: ask\n  }\nplugins: {}\n", "c", "off",
			"tools:\n  policy: {\n    a: auto,  # }\n    b: ask, c: off\n  }\nplugins: {}\n"},
		{"no rules yet", "tools:\n  policy:\nplugins: {}\n", "a", "off", "tools:\n  policy:\n    a: off\nplugins: {}\n"},
		{"an explicit null", "tools:\n  policy: ~ # none\nplugins: {}\n", "a", "off", "tools:\n  policy: {a: off} # none\nplugins: {}\n"},
		{"no policy", "tools: {}\n", "a", "off", "tools: {policy: {a: off}}\n"},
		{"no section", "# mine\nplugins:\n    agent: {}\n# end\n", "a", "off",
			"# mine\nplugins:\n    agent: {}\n# end\ntools:\n    policy:\n        a: off\n"},
		{"an empty file", "# nothing\n", "a", "off", "# nothing\ntools:\n  policy:\n    a: off\n"},
		{"a flow mapping at the top", "{plugins: {}}\n", "a", "off", "{plugins: {}, tools: {policy: {a: off}}}\n"},
		{"a byte order mark", "\ufefftools: {policy: {ä: off, a: off}}\n", "a", "ask", "\ufefftools: {policy: {ä: off, a: ask}}\n"},
		{"arguments", "tools: {policy: {}}\n", "run_command(git *)", "auto", "tools: {policy: {\"run_command(git *)\": auto}}\n"},
		{"a variable", "tools: {policy: {a: \"${X}\"}}\n", "a", "off", "tools: {policy: {a: \"off\"}}\n"},
		{"the same words elsewhere", "plugins: {agent: {model: a}}\ntools:\n  policy: {a: ask} # a: ask\n", "a", "off",
			"plugins: {agent: {model: a}}\ntools:\n  policy: {a: off} # a: ask\n"},

		{"an alias", "x: &x {a: off}\ntools: {policy: *x}\n", "a", "ask", ""},
		{"a merge key", "x: &x {a: off}\ntools: {policy: {<<: *x}}\n", "b", "ask", ""},
		{"an anchored mapping", "tools: {policy: &x {a: off}}\ny: *x\n", "a", "ask", ""},
		{"an anchored value", "tools: {policy: {a: &x off, b: *x}}\n", "a", "ask", ""},
		{"a block scalar", "tools:\n  policy:\n    a: |-\n      off\n", "a", "ask", ""},
		{"a value over two lines", "tools:\n  policy:\n    a: \"o\\\n      ff\"\n", "a", "ask", ""},
		{"a broken file", "tools: {policy: {a: off}\n", "a", "ask", ""},
		{"two documents", "tools: {policy: {a: off}}\n---\n", "a", "ask", ""},
		{"a closed document", "plugins: {}\n...\n", "a", "ask", ""},
		{"a list", "tools: {policy: [a]}\n", "a", "ask", ""},
	}
	s := newSchema(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := s.SetPolicy([]byte(tt.before), tt.pattern, tt.value)
			if tt.after == "" {
				if err == nil {
					t.Errorf("it was edited to:\n%s", got)
				}
				return
			}
			if d := cmp.Diff(tt.after, string(got)); err != nil || d != "" {
				t.Errorf("%v %s", err, d)
			}
		})
	}
}

func TestSetEnabledChangesOneByte(t *testing.T) {
	tests := []struct {
		name, before, id string
		on               bool
		after            string
	}{
		{"disable", "plugins:\n  agent: {} # a\n", "agent", false, "plugins:\n  ~agent: {} # a\n"},
		{"enable", "plugins:\n  ~agent: {} # a\n", "agent", true, "plugins:\n  agent: {} # a\n"},
		{"quoted", "plugins: {\"~agent:x\": {}}\n", "x", true, "plugins: {\"agent:x\": {}}\n"},
		{"by name and id", "plugins: {agent:x: {}, agent:y: {}}\n", "agent:y", false, "plugins: {agent:x: {}, ~agent:y: {}}\n"},
		{"an alias of the plugin", "plugins: {'@aalis/plugin-tool-search': {}}\n", "toolsearch", false,
			"plugins: {'~@aalis/plugin-tool-search': {}}\n"},
		{"in a group", "plugins:\n  group:g:\n    plugins: {agent:x: }\n", "x", false, "plugins:\n  group:g:\n    plugins: {~agent:x: }\n"},
		{"a group", "plugins: {~group:g: {}}\n", "g", true, "plugins: {group:g: {}}\n"},
		{"in a list", "plugins:\n- id: agent\n  config: {}\n", "agent", false, "plugins:\n- id: ~agent\n  config: {}\n"},
		{"nothing to do", "plugins: {agent: {}}\n", "agent", true, "plugins: {agent: {}}\n"},
		{"written as an escape", "plugins: {\"\\x7eagent\": {}}\n", "agent", true, ""},
		{"unknown", "plugins: {agent: {}}\n", "agnet", true, ""},
		{"from elsewhere", "x: &x {agent: {}}\nplugins: {<<: *x}\n", "agent", false, ""},
	}
	s := newSchema(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := s.SetEnabled([]byte(tt.before), tt.id, tt.on)
			if (err != nil) != (tt.after == "") || err == nil && string(got) != tt.after {
				t.Errorf("got %q, %v, want %q", got, err, tt.after)
			}
		})
	}
	if _, err := s.SetEnabled([]byte("plugins: {agent: {}}"), "agnet", true); err == nil ||
		err.Error() != `there is no entry "agnet" in this file; did you mean "agent"?` {
		t.Errorf("got %v", err)
	}
}

func TestSetAnyOption(t *testing.T) {
	s := newSchema(t)
	before := "plugins:\n  agent:r: # mine\n    budgets: {steps: 3}\n  ~mcp:\n"
	for _, step := range []struct {
		path  []string
		value any
		after string
	}{
		{[]string{"plugins", "r", "budgets", "steps"}, int64(9), "plugins:\n  agent:r: # mine\n    budgets: {steps: 9}\n  ~mcp:\n"},
		{[]string{"plugins", "agent:r", "model"}, "a ${b} $$", "plugins:\n  agent:r: # mine\n    budgets: {steps: 3}\n    model: \"a $${b} $$$$\"\n  ~mcp:\n"},
		{[]string{"plugins", "mcp", "servers", "x", "disabled"}, true,
			"plugins:\n  agent:r: # mine\n    budgets: {steps: 3}\n  ~mcp:\n    servers:\n      x:\n        disabled: true\n"},
		{[]string{"plugins", "weather", "x"}, "", "plugins:\n  agent:r: # mine\n    budgets: {steps: 3}\n  ~mcp:\n  weather:\n    x: \"\"\n"},
	} {
		got, err := s.Set([]byte(before), step.path, step.value)
		if d := cmp.Diff(step.after, string(got)); err != nil || d != "" {
			t.Errorf("%v: %v %s", step.path, err, d)
		}
	}
	if _, err := s.Set([]byte(before), []string{"plugins", "r", "budgets"}, 1); err == nil {
		t.Error("a mapping was replaced by a number")
	}
}

func TestEditsThatAreWrongInThemselves(t *testing.T) {
	s := newSchema(t)
	if _, err := s.SetPolicy(nil, "a/b", "off"); err == nil {
		t.Error("a bad pattern was written")
	}
	if _, err := s.SetPolicy(nil, "a", "offf"); err == nil || !strings.Contains(err.Error(), `did you mean "off"?`) {
		t.Errorf("a bad value: %v", err)
	}
}

// Whatever the file, an edit is either refused or changes one rule: the bytes
// before and after one place stay, and the file says the same otherwise.
func FuzzSetPolicy(f *testing.F) {
	for _, s := range []string{example, hostile, "tools: {policy: {a: auto, }}", "tools:\n  policy:\n    a: |\n      x\n\n    b: 'it''s'\n",
		"{tools: {policy: {a: [}}", "\ufefftools:\r\n policy:\r\n  a: off # x", "tools:\n  policy: {\n}\n", "- a\n", "tools: &x {policy: *x}"} {
		f.Add(s, "a", byte(3))
	}
	s, err := config.NewSchema(plugins()...)
	if err != nil {
		f.Fatal(err)
	}
	values := []string{"auto", "ask", "ask!", "off"}
	f.Fuzz(func(t *testing.T, text, pattern string, v byte) {
		value := values[int(v)%len(values)]
		out, err := s.SetPolicy([]byte(text), pattern, value)
		if err != nil {
			return
		}
		again, err := s.SetPolicy(out, pattern, value)
		if err != nil || !bytes.Equal(out, again) {
			t.Fatalf("not idempotent:\n%q\n%q\n%q\n%v", text, out, again, err)
		}
		before := 0
		for before < len(text) && before < len(out) && text[before] == out[before] {
			before++
		}
		after := 0
		for after < len(text)-before && after < len(out)-before && text[len(text)-1-after] == out[len(out)-1-after] {
			after++
		}
		if gone := text[before : len(text)-after]; strings.ContainsAny(gone, "\n#") {
			t.Fatalf("more than a value is gone: %q of\n%q\n%q", gone, text, out)
		}
	})
}

func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	real := filepath.Join(dir, "real.yml")
	link := filepath.Join(dir, "agent.yml")
	if err := os.WriteFile(real, []byte("old"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real.yml", link); err != nil {
		t.Skip("no links here")
	}
	if err := config.WriteFile(link, []byte("other"), []byte("new")); !errors.Is(err, config.ErrChanged) {
		t.Errorf("a file that was changed: %v", err)
	}
	if err := config.WriteFile(link, []byte("old"), []byte("new")); err != nil {
		t.Fatal(err)
	}
	if b, _ := os.ReadFile(real); string(b) != "new" {
		t.Errorf("the file behind the link holds %q", b)
	}
	if info, _ := os.Lstat(link); info.Mode()&os.ModeSymlink == 0 {
		t.Error("the link is gone")
	}
	if info, _ := os.Stat(real); info.Mode().Perm() != 0o640 {
		t.Errorf("mode = %v", info.Mode())
	}
	if err := config.WriteFile(filepath.Join(dir, "none.yml"), nil, []byte("first")); err != nil {
		t.Error(err)
	}
	if info, _ := os.Stat(filepath.Join(dir, "none.yml")); info.Mode().Perm() != 0o600 {
		t.Errorf("E27: mode of a new file = %v", info.Mode())
	}
	if err := config.WriteFile(filepath.Join(dir, "none.yml"), nil, []byte("second")); !errors.Is(err, config.ErrChanged) {
		t.Errorf("a file that must not exist: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
