package toolpolicy

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentd-host/agentd/core"
)

func TestRule07_AnAgentDoesNotLoosenItsOwnPolicy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, t.TempDir(), Config{}, "w = off", "x = auto")
		h.block["x"] = make(chan struct{})
		done := make(chan core.Result, 1)
		go func() { done <- h.call("x", "edit the policy") }()
		synctest.Wait()
		h.set("w = auto", "x = auto") // while x runs
		h.wants(h.call("w", ""), core.CodeUnknown)
		if len(h.admin.p.policy.Load().held) == 0 {
			t.Error("the change is not held")
		}
		h.set("w = auto", "x = auto", "r = off") // a tightening counts at once
		h.wants(h.call("r", ""), core.CodeUnknown)
		close(h.block["x"])
		h.wants(<-done, "")
		h.set("w = auto", "x = auto") // within a debounce after it
		h.wants(h.call("w", ""), core.CodeUnknown)
		time.Sleep(time.Minute) // of the bubble's clock
		h.must(h.broker.AddAsker(h.c, says(core.AnswerOnce)))
		h.set("w = auto", "x = auto")
		synctest.Wait()
		h.wants(h.call("w", ""), "") // a person said yes
		if len(h.admin.p.policy.Load().held) != 0 {
			t.Error("still held")
		}
		time.Sleep(time.Minute)
		h.set("w = auto", "x = auto", "u = auto") // nothing runs: a person edits
		h.wants(h.call("u", ""), "")
		h.close()
	})
}

func TestRule07_ALooseningJustAfterACallWaitsToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, t.TempDir(), Config{}, "w = off", "x = auto")
		h.wants(h.call("r", ""), "")
		h.set("x = auto") // nothing but a read call ran
		h.wants(h.call("w", ""), core.CodeNobody)
		h.set("w = off", "x = auto")
		h.wants(h.call("x", "ls"), "")
		h.set("w = auto", "x = auto")
		h.wants(h.call("w", ""), core.CodeUnknown)
		h.close()
	})
}

func TestRule07_ALooseningOfWhatOnlyAnEffectHeldWaitsToo(t *testing.T) {
	tests := []struct {
		cfg   Config
		rules []string // once x ran
	}{
		{Config{ByEffect: map[core.Effect]core.Policy{core.Write: core.Off, core.Exec: core.Auto}}, []string{"w = ask"}},
		{Config{ByEffect: map[core.Effect]core.Policy{core.Exec: core.Auto}, Default: core.AskOnce}, []string{"w = ask"}},
		{Config{ByEffect: map[core.Effect]core.Policy{core.Exec: core.Auto}, Default: core.Off}, []string{"path:outside(/tmp/**) = ask"}},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			h := newHouse(t, t.TempDir(), tt.cfg)
			h.wants(h.call("x", "edit the policy"), "")
			h.set(tt.rules...)
			if len(h.admin.p.policy.Load().held) == 0 {
				t.Errorf("%+v, then %q: not held", tt.cfg, tt.rules)
			}
			h.close()
		})
	}
}

func TestRule07_WritingAgentdsOwnFilesAsksWhateverThePolicySays(t *testing.T) {
	h := newHouse(t, t.TempDir(), Config{}, "* = auto")
	dir := filepath.Join(h.state, "project")
	tests := []struct {
		tool, command string
		asks          bool
	}{
		{"w", "notes.txt", false},
		{"w", "agent.yml", true},
		{"w", "./sub/../agent.yml", true},
		{"w", filepath.Join(dir, "AGENT.YML"), true},
		{"w", "sub/agent.yml", true},
		{"w", ".agentd/skills/x.md", true},
		{"w", filepath.Join(h.state, "state", "grants.json"), true},
		{"w", filepath.Join(h.state, "state", "new"), true},
		{"w", "text that mentions agent.yml\nand more", false},
		{"x", "sed -i s/ask/auto/ agent.yml", true},
		{"x", "agentd mcp  allow --yes files", true},
		{"x", "agentd trust --yes .", true},
		{"x", "sh -c 'cat > .agentd/x'", true},
		{"x", "ls -l", false},
		{"u", "echo >> Agent.yml", true},
		{"r", "agent.yml", false},
	}
	for _, tt := range tests {
		code := core.ErrorCode("")
		if tt.asks {
			code = core.CodeNobody
		}
		r := h.call(tt.tool, tt.command)
		if got := r.Err; (got == nil) != (code == "") || got != nil && got.Code != code {
			t.Errorf("%s %q: got %v, want %q", tt.tool, tt.command, got, code)
		}
	}
	p := says(core.AnswerOnce)
	h.must(h.broker.AddAsker(h.c, p))
	h.wants(h.call("w", "agent.yml"), "")
	if got := p.last().Answers; !slices.Equal(got, []core.AnswerKind{core.AnswerOnce, core.AnswerReject}) {
		t.Errorf("offered %v", got)
	}
}

func TestRule07_ALinkToAgentdsOwnFilesIsOneOfThem(t *testing.T) {
	h := newHouse(t, t.TempDir(), Config{}, "* = auto")
	dir := filepath.Join(h.state, "project")
	h.must(os.MkdirAll(filepath.Join(dir, ".agentd"), 0o700))
	h.must(os.WriteFile(filepath.Join(dir, "agent.yml"), nil, 0o600))
	for name, target := range map[string]string{"alias": "agent.yml", "door": ".agentd", "way": "."} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Skip("no links here: ", err)
		}
	}
	if err := os.Link(filepath.Join(dir, "agent.yml"), filepath.Join(dir, "twin")); err != nil {
		t.Skip("no second names here: ", err)
	}
	for path, asks := range map[string]bool{
		"alias": true, "twin": true, "door": true, "door/new.md": true, "way/door/deep/new.md": true, "way/alias": true, "way/new.md": false,
	} {
		if got := h.call("w", path).Err; (got != nil) != asks {
			t.Errorf("%s: got %v, asked %v", path, got, asks)
		}
	}
}
