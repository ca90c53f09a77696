package toolpolicy

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/schema"
	"github.com/google/go-cmp/cmp"
)

func TestRule01_ExplainPrintsTheChain(t *testing.T) {
	h := newHouse(t, t.TempDir(), Config{})
	h.rules.Store(&core.PolicyConfig{
		Rules: []core.PolicyRule{
			{Pattern: "*", Value: core.Auto, Position: "agent.yml:3:5"},
			{Pattern: "x", Value: core.Ask, Position: "agent.yml:4:5"},
			{Pattern: "x(git *)", Value: core.Auto, Position: "agent.yml:5:5"},
		},
		Overrides: []core.PolicyRule{{Pattern: "x(git push*)", Value: core.Off}},
	})
	h.must(core.PolicyChanged.Emit(h.c, h.rules.Load()))
	tool := &core.Tool{Name: "x", Traits: core.Traits{Effect: core.Exec}, Parameters: json.RawMessage(commandSchema)}
	tests := []struct{ args, want string }{
		{`{"command":"git push"}`, `x (exec): off
  by --deny: x(git push*) = off
  * agent.yml: x(git *) = auto at agent.yml:5:5
    agent.yml: x = ask at agent.yml:4:5
    agent.yml: * = auto at agent.yml:3:5
  * --deny: x(git push*) = off
    toolpolicy.byEffect: exec = ask
`},
		{`{"command":"make"}`, `x (exec): ask
  by agent.yml: x = ask
    agent.yml: x(git *) = auto (does not match) at agent.yml:5:5
  * agent.yml: x = ask at agent.yml:4:5
    agent.yml: * = auto at agent.yml:3:5
    --deny: x(git push*) = off (does not match)
    toolpolicy.byEffect: exec = ask
`},
		{``, `x (exec): ask
  by agent.yml: x = ask
    agent.yml: x(git *) = auto (depends on the arguments) at agent.yml:5:5
  * agent.yml: x = ask at agent.yml:4:5
    agent.yml: * = auto at agent.yml:3:5
    --deny: x(git push*) = off (depends on the arguments)
    toolpolicy.byEffect: exec = ask
`},
	}
	for _, tt := range tests {
		var args json.RawMessage
		if tt.args != "" {
			args = json.RawMessage(tt.args)
		}
		e := h.admin.Explain(viewer, tool, args)
		if diff := cmp.Diff(tt.want, e.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.args, diff)
		}
	}
	if got := len(h.admin.Rules()); got != 4 {
		t.Errorf("got %d rules, want 4", got)
	}
}

func TestExplainAgreesWithTheDecision(t *testing.T) {
	h := newHouse(t, t.TempDir(), Config{}, "x(git *) = auto", "w = off", "r(agent*) = ask!")
	for _, name := range []string{"r", "w", "x", "u"} {
		for _, command := range []string{"git log", "agent.yml", "ls"} {
			args, _ := json.Marshal(map[string]string{"command": command})
			var tool core.Tool
			for _, candidate := range []core.Tool{*toolNamed("r", core.Read), *toolNamed("w", core.Write), *toolNamed("x", core.Exec), *toolNamed("u", "")} {
				if candidate.Name == name {
					tool = candidate
				}
			}
			e := h.admin.Explain(viewer, &tool, args)
			r := h.call(name, command)
			want := map[core.Policy]core.ErrorCode{core.Auto: "", core.Ask: core.CodeNobody, core.AskOnce: core.CodeNobody, core.Off: core.CodeUnknown}[e.Policy]
			got := core.ErrorCode("")
			if r.Err != nil {
				got = r.Err.Code
			}
			if got != want {
				t.Errorf("%s %q: explained as %s by %q, came to %q", name, command, e.Policy, e.Rule, got)
			}
		}
	}
}

func TestRule06_AGrantForSomePartsNeedsRulesForTheOthers(t *testing.T) {
	h := newHouse(t, t.TempDir(), Config{}, "sh(git *) = auto")
	h.define(core.Tool{Name: "sh", Traits: core.Traits{Effect: core.Exec}, Permission: func(args json.RawMessage) ([]core.Permission, error) {
		var in struct{ Command string }
		err := json.Unmarshal(args, &in)
		var parts []core.Permission
		for line := range strings.SplitSeq(in.Command, ";") {
			parts = append(parts, core.Permission{Name: "tool:sh", Target: strings.TrimSpace(line)})
		}
		return parts, err
	}})
	p := says(core.AnswerAlways)
	h.must(h.broker.AddAsker(h.c, p))
	asks := func(command string, want bool) {
		t.Helper()
		before := p.count()
		h.wants(h.call("sh", command), "")
		if asked := p.count() > before; asked != want {
			t.Errorf("%q: asked %v, want %v", command, asked, want)
		}
	}
	asks("git log", false)
	asks("make test", true)
	if got := grantScopes(p.last()); !slices.Equal(got, []scope{{pattern: "sh(make test)"}}) {
		t.Errorf("the grant speaks of %q", got)
	}
	asks("make test", false)
	asks("make test; git log", false)
	asks("make test; rm x", true)
	asks("make test; rm x", false)
	asks("rm x", false)
	asks("rm y", true)
}

func TestRulesAboutNoToolAreNoted(t *testing.T) {
	tools := []core.Tool{{Name: "read_file", Traits: core.Traits{Effect: core.Write}}}
	for text, want := range map[string]bool{
		"read_file": false, "mcp__*": true, "effect:write": false, "path:outside": false, "readfile": true, "server:github": true,
	} {
		p, err := parsePattern(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.idle(tools); got != want {
			t.Errorf("%s is idle: %v, want %v", text, got, want)
		}
	}
}

func TestARuleThatIsNoneIsRefusedByItsPosition(t *testing.T) {
	rules := &core.PolicyConfig{Groups: []core.GroupPolicy{{Rules: []core.PolicyRule{{Pattern: "a b", Value: core.Auto, Position: "f:1:2"}}}}}
	cfg := Config{}.withDefaults()
	if _, err := compilePolicy(rules, &cfg); err == nil || !strings.Contains(err.Error(), "f:1:2") {
		t.Errorf("got %v", err)
	}
}

func TestConfigTypesAreSound(t *testing.T) {
	for _, err := range schema.Lint(reflect.TypeFor[Config]()) {
		t.Error(err)
	}
	raw, err := schema.For(reflect.TypeFor[Config]())
	if err != nil {
		t.Fatal(err)
	}
	compiled, err := schema.Compile(raw)
	if err != nil {
		t.Fatal(err)
	}
	for text, ok := range map[string]bool{
		`{}`: true,
		`{"byEffect":{"read":"auto","exec":"ask!"},"default":"ask","approval":{"timeout":"30s"},"audit":{"file":"/x","arguments":"none","rotate":"1MiB"}}`: true,
		`{"default":"maybe"}`:                 false,
		`{"audit":{"arguments":"some"}}`:      false,
		`{"approval":{"timeout":"30 ducks"}}`: false,
		`{"approvals":{}}`:                    false,
	} {
		if issues := compiled.Validate(json.RawMessage(text)); (len(issues) == 0) != ok {
			t.Errorf("%s: got %v", text, issues)
		}
	}
}

func TestConfigIsChecked(t *testing.T) {
	good := []Config{{}, {ByEffect: map[core.Effect]core.Policy{core.Read: core.AskOnce}}, {Audit: AuditConfig{Rotate: "0"}}, {Audit: AuditConfig{Rotate: "64KiB"}},
		{Approval: ApprovalConfig{Webhook: "https://example.com/x"}}, {Approval: ApprovalConfig{Webhook: "http://[::1]:8080/"}}}
	bad := map[string]Config{
		"want read, write or exec":    {ByEffect: map[core.Effect]core.Policy{"delete": core.Ask}},
		"byEffect.read: want auto":    {ByEffect: map[core.Effect]core.Policy{core.Read: "on"}},
		"default: want auto":          {Default: "maybe"},
		"audit.arguments: want":       {Audit: AuditConfig{Arguments: "some"}},
		"audit.rotate: want a size":   {Audit: AuditConfig{Rotate: "16 parsecs"}},
		"approval.timeout: want":      {Approval: ApprovalConfig{Timeout: -1}},
		"approval.webhook: want an":   {Approval: ApprovalConfig{Webhook: "ftp://localhost"}},
		"or an http one on this":      {Approval: ApprovalConfig{Webhook: "http://example.com/x"}},
		"approval.command: the first": {Approval: ApprovalConfig{Command: []string{""}}},
	}
	for _, cfg := range good {
		if err := cfg.Validate(); err != nil {
			t.Errorf("%+v: %v", cfg, err)
		}
	}
	for want, cfg := range bad {
		if err := cfg.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: got %v, want %q", cfg, err, want)
		}
	}
}
