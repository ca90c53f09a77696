package toolpolicy

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/plugins/toolpolicy/audit"
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

// during runs change while x, an exec call, is under way.
func (h *house) during(change func()) {
	h.t.Helper()
	release := make(chan struct{})
	h.mu.Lock()
	h.block["x"] = release
	h.mu.Unlock()
	done := make(chan core.Result, 1)
	go func() { done <- h.call("x", "edit the policy") }()
	synctest.Wait()
	change()
	synctest.Wait()
	close(release)
	h.wants(<-done, "")
}

func (h *house) held() bool { return len(h.admin.p.policy.Load().held) > 0 }

// changes are the records of what people said about milder policies.
func (h *house) changes() (found []audit.Record) {
	h.t.Helper()
	records, err := audit.Tail(h.admin.AuditFile(), 1000)
	h.must(err)
	for _, r := range records {
		if r.Kind == audit.Policy {
			found = append(found, r)
		}
	}
	return found
}

func TestRule07_AnAgentDoesNotChooseWhoConfirmsItsPolicy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, t.TempDir(), Config{}, "w = off", "x = auto")
		own := Config{Approval: ApprovalConfig{Command: []string{"yes-man"}}}
		newcomer := says(core.AnswerOnce)
		h.during(func() {
			h.must(h.broker.AddAsker(h.c, newcomer))
			h.set("w = auto", "x = auto")
			h.must(core.Update(h.c, h.fiber, own))
		})
		if got := h.admin.p.config.Load().Approval.Command; got != nil || !h.held() {
			t.Errorf("asks %q, held %v", got, h.held())
		}
		if newcomer.count() != 0 {
			t.Errorf("who came with the call was asked %v", newcomer.last())
		}
		h.wants(h.call("w", ""), core.CodeUnknown)
		time.Sleep(time.Minute)
		h.set("w = auto", "x = auto") // again, with no call to blame
		h.wants(h.call("w", ""), core.CodeUnknown)

		person := says(core.AnswerOnce)
		h.must(h.broker.AddAsker(h.c, person))
		synctest.Wait()
		if got := h.admin.p.config.Load().Approval.Command; !slices.Equal(got, own.Approval.Command) || h.held() {
			t.Errorf("after a yes: asks %q, held %v", got, h.held())
		}
		if text := string(person.last().Args); person.count() != 1 || !strings.Contains(text, "approval.command") || !strings.Contains(text, "w = off") {
			t.Errorf("asked %d times, the last time about %s", person.count(), text)
		}
		got := h.changes()
		if len(got) != 1 || got[0].Decision != string(core.Allow) || got[0].Approver != "tester" || got[0].Call == "" {
			t.Errorf("recorded %+v", got)
		}
		h.close()
	})
}

func TestRule07_HowPeopleAreAskedAndCallsRecordedIsPolicyToo(t *testing.T) {
	for name, cfg := range map[string]Config{
		"timeout": {Approval: ApprovalConfig{Timeout: time.Hour}},
		"command": {Approval: ApprovalConfig{Command: []string{"yes"}}},
		"inbox":   {Approval: ApprovalConfig{Inbox: true}},
		"webhook": {Approval: ApprovalConfig{Webhook: "https://example.com/?token=1"}},
		"file":    {Audit: AuditConfig{File: "other.jsonl"}},
		"args":    {Audit: AuditConfig{Arguments: "none"}},
		"rotate":  {Audit: AuditConfig{Rotate: "1kB"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := newHouse(t, t.TempDir(), Config{}, "x = auto")
			before, file := *h.admin.p.config.Load(), h.admin.AuditFile()
			h.during(func() { h.must(core.Update(h.c, h.fiber, cfg)) })
			if now := *h.admin.p.config.Load(); !reflect.DeepEqual(now, before) || h.admin.AuditFile() != file {
				t.Errorf("%s: in force during a call: %+v, %s", name, now, h.admin.AuditFile())
			}
			h.must(h.broker.AddAsker(h.c, says(core.AnswerReject)))
			time.Sleep(time.Minute)
			h.must(h.broker.AddAsker(h.c, says(core.AnswerReject)))
			synctest.Wait()
			if now := *h.admin.p.config.Load(); !reflect.DeepEqual(now, before) {
				t.Errorf("%s: in force after a no: %+v", name, now)
			}
			if got := h.changes(); len(got) != 1 || got[0].Decision != string(core.Deny) {
				t.Errorf("%s: recorded %+v", name, got)
			}
			h.must(core.Update(h.c, h.fiber, Config{}))
			h.must(core.Update(h.c, h.fiber, cfg)) // by a person
			if now := *h.admin.p.config.Load(); reflect.DeepEqual(now, before) {
				t.Errorf("%s: not taken from a person", name)
			}
			h.close()
		})
	}
}

func TestRule07_ARestartOfThePluginDoesNotForgetThePolicy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, t.TempDir(), Config{}, "w = off", "x = auto")
		person, newcomer := says(core.AnswerReject, core.AnswerOnce), says(core.AnswerOnce)
		h.must(h.broker.AddAsker(h.c, person))
		restart := func() {
			h.must(h.fiber.Dispose(h.c))
			h.rules.Store(&core.PolicyConfig{Rules: lines(t, "w = auto", "x = auto")})
			h.load(Config{})
		}
		h.during(func() {
			restart()
			h.must(h.broker.AddAsker(h.c, newcomer))
			synctest.Wait()
			h.wants(h.call("w", ""), core.CodeUnknown)
			h.must(h.broker.AddAsker(h.c, person)) // joins again
		})
		h.wants(h.call("w", ""), core.CodeUnknown)
		if person.count() != 1 || newcomer.count() != 0 {
			t.Errorf("asked the person of before %d times, a newcomer %d times", person.count(), newcomer.count())
		}
		h.must(h.fiber.Dispose(h.c)) // the held policy outlives this one too
		time.Sleep(time.Minute)
		h.load(Config{})
		h.wants(h.call("w", ""), core.CodeUnknown)
		h.must(h.broker.AddAsker(h.c, person))
		synctest.Wait()
		h.wants(h.call("w", ""), "")
		h.close()
	})
}

func TestRule07_WhoStoppedThePluginIsToBlameForWhatItReturnsWith(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, t.TempDir(), Config{}, "w = off", "x = auto")
		h.during(func() { h.must(h.fiber.Dispose(h.c)) })
		time.Sleep(time.Minute)
		h.rules.Store(&core.PolicyConfig{Rules: lines(t, "w = auto", "x = auto")})
		h.load(Config{})
		h.wants(h.call("w", ""), core.CodeUnknown)
		h.must(h.fiber.Dispose(h.c))
		h.close()
	})
}

func TestRule07_LeavingAGroupIsALoosening(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, t.TempDir(), Config{}, "x = auto", "w = auto")
		place := func(entries ...string) {
			h.rules.Store(&core.PolicyConfig{Rules: lines(t, "x = auto", "w = auto"), Groups: group(t, "root/group:g", "w = off"), Entries: entries})
			h.must(core.PolicyChanged.Emit(h.c, h.rules.Load()))
		}
		says := func(path string) core.Policy {
			tool := toolNamed("w", core.Write)
			p := h.admin.p.policy.Load()
			if now, listed := p.judge(&inquiry{tool: tool, path: path}).value, p.preview(tool, path).value; now != listed {
				t.Errorf("%s: decided as %s, listed as %s", path, now, listed)
			}
			return p.judge(&inquiry{tool: tool, path: path}).value
		}
		place("root/agent:b", "root/group:g/agent:a")
		for _, moved := range []string{"root/agent:a", "root/group:h/agent:a", "root/agent:new"} {
			h.during(func() { place("root/agent:b", moved) })
			if got := says(moved + "/sub"); got != core.Off {
				t.Errorf("moved to %s by a call: %s", moved, got)
			}
			if got := says("root/agent:b"); got != core.Auto {
				t.Errorf("one that stayed: %s", got)
			}
		}
		h.during(func() { place("root/agent:b", "root/group:g/agent:a", "root/group:g/agent:new") })
		if h.held() {
			t.Error("an agent that is new in the group is held")
		}
		time.Sleep(time.Minute)
		place("root/agent:b", "root/agent:a") // by a person
		if got := says("root/agent:a"); got != core.Auto {
			t.Errorf("moved by a person: %s", got)
		}
		h.close()
	})
}

func TestRule07_ACallOfTheSameIDHidesNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, t.TempDir(), Config{}, "w = off", "x = auto", "u = auto")
		run := func(tool string) core.Result {
			return h.c.Tools().Execute(h.c, core.Call{ID: "call_0", Name: tool, Viewer: viewer, Turn: "t"})
		}
		h.block["x"] = make(chan struct{})
		done := make(chan core.Result, 1)
		go func() { done <- run("x") }()
		synctest.Wait()
		h.wants(run("u"), "")
		time.Sleep(time.Minute)
		h.set("w = auto", "x = auto", "u = auto")
		h.wants(h.call("w", ""), core.CodeUnknown)
		close(h.block["x"])
		<-done
		h.close()
	})
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
		{"x", "agentd -v trust --yes .", true},
		{"x", "/usr/bin/agen?d trust", true},
		{"x", `ag"en"td 'trust'`, true},
		{"x", "agentd approvals -c a.yml answer q1 once", true},
		{"x", "agentd policy --json set w auto", true},
		{"x", "agentd policy revoke g1", true},
		{"x", "cd /tmp; agentd plugins disable toolpolicy", true},
		{"x", "agentd policy list", false},
		{"x", "grep trust policy.go && set -e", false},
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
