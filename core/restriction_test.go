package core

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
)

// feed is a policy that can be changed.
type feed struct{ now atomic.Pointer[PolicyConfig] }

func (f *feed) Current() *PolicyConfig { return f.now.Load() }

// fed gives the host a policy.
func fed(t testing.TB, h *Host) *feed {
	t.Helper()
	f := &feed{}
	f.now.Store(&PolicyConfig{})
	must(t, PolicyRules.Provide(h.Root(), f))
	return f
}

// policyOf reads "pattern=value, ...".
func policyOf(text string) (rules []PolicyRule) {
	for _, line := range strings.Split(text, ", ") {
		if i := strings.LastIndex(line, "="); i > 0 {
			rules = append(rules, PolicyRule{Pattern: line[:i], Value: Policy(line[i+1:])})
		}
	}
	return rules
}

// What is off or ask stays so while the plugin that weighs rules is away.
func TestE11_WithoutADeciderRestrictionsHold(t *testing.T) {
	h := newHost(t)
	f := fed(t, h)
	theirs := says("mcp__hub__get", "text")
	theirs.Source = Source{Kind: FromMCP, Name: "hub", Trusted: true}
	outside := says("peek", "text")
	outside.Permission = func(json.RawMessage) ([]Permission, error) { return []Permission{{Name: "path:outside"}}, nil }
	mustDefine(t, h.Root(), says("read_file", "text"), theirs, outside)
	for _, tt := range []struct {
		policy                string
		read, theirs, outside ErrorCode
		hidden                string
	}{
		{"", "", "", "", ""},
		{"read_file=auto", "", "", "", ""},
		{"read_file=off", CodeUnknown, "", "", "read_file"},
		{"read_file=ask", CodeDenied, "", "", ""},
		{"read_file=ask!", CodeDenied, "", "", ""},
		{"*=off, read_file=auto", "", CodeUnknown, CodeUnknown, "mcp__hub__get peek"},
		{"read_*=off, *=auto", CodeUnknown, "", "", "read_file"},
		{"read_file=auto, read_file=off", CodeUnknown, "", "", "read_file"},
		{"server:hub=off", "", CodeUnknown, "", "mcp__hub__get"},
		{"effect:read=ask, read_file=auto", "", CodeDenied, CodeDenied, ""},
		{"effect:write=off", "", "", "", ""},
		{"path:outside=off", "", "", CodeUnknown, ""},
		{"path:*=ask", "", "", CodeDenied, ""},
		{"read_file(path=secret/**)=off, read_file=auto", CodeDenied, "", "", ""},
		{"read_file(path=docs/**)=auto, read_file=off", CodeUnknown, "", "", "read_file"},
		{"read_file(=auto", CodeUnknown, CodeUnknown, CodeUnknown, "mcp__hub__get peek read_file"},
	} {
		t.Run(tt.policy, func(t *testing.T) {
			f.now.Store(&PolicyConfig{Rules: policyOf(tt.policy)})
			wantCode(t, run(t, h.Root(), "read_file", ""), tt.read)
			wantCode(t, run(t, h.Root(), "mcp__hub__get", ""), tt.theirs)
			wantCode(t, run(t, h.Root(), "peek", ""), tt.outside)
			var hidden []string
			for _, name := range []string{"mcp__hub__get", "peek", "read_file"} {
				why := h.Root().Tools().Why(Viewer{}, name)
				if listed := strings.Contains(namesOf(h.Root().Tools().List(Viewer{})), name); listed != why.Visible {
					t.Errorf("%s is listed: %v, but %+v", name, listed, why)
				}
				if !why.Visible {
					hidden = append(hidden, name)
				}
			}
			if got := strings.Join(hidden, " "); got != tt.hidden {
				t.Errorf("hidden: %q, want %q", got, tt.hidden)
			}
		})
	}
}

// The rules of a group are for the agents in it.
func TestE11_WithoutADeciderGroupsKeepTheirRestrictions(t *testing.T) {
	h := newHost(t)
	f := fed(t, h)
	mustDefine(t, h.Root(), says("read_file", "text"))
	var in, out *Context
	tooler(t, h.Root(), "research", func(c *Context) error { in = c; return nil })
	tooler(t, h.Root(), "research2", func(c *Context) error { out = c; return nil })
	f.now.Store(&PolicyConfig{Groups: []GroupPolicy{{in.Fiber().Path(), policyOf("read_file=off")}}})
	for c, code := range map[*Context]ErrorCode{in: CodeUnknown, out: ""} {
		v := c.Viewer(Viewer{Agent: "reader"})
		wantCode(t, c.Tools().Execute(t.Context(), Call{Name: "read_file", Viewer: v}), code)
		if listed := len(c.Tools().List(v)) == 1; listed != (code == "") {
			t.Errorf("%s: listed: %v", c.Fiber().Path(), listed)
		}
	}
	f.now.Store(&PolicyConfig{Overrides: policyOf("read_file=off")})
	wantCode(t, run(t, out, "read_file", ""), CodeUnknown)
}

// A restart of the policy plugin opens nothing, not even while it starts.
func TestE13_NoCallSlipsThroughWhileTheDeciderRestarts(t *testing.T) {
	h := newHost(t)
	fed(t, h).now.Store(&PolicyConfig{Rules: policyOf("read_file=off")})
	mustDefine(t, h.Root(), says("read_file", "text"))
	starts := 0
	policy := tooler(t, h.Root(), "policy", func(c *Context) error {
		starts++
		wantCode(t, run(t, h.Root(), "read_file", ""), CodeUnknown)
		return Deciders.Provide(c, &rules{table: map[string]Policy{"read_file": Off}})
	})
	must(t, policy.Restart(t.Context()))
	wantCode(t, run(t, h.Root(), "read_file", ""), CodeUnknown)
	if starts != 2 {
		t.Errorf("started %d times", starts)
	}
}

// BenchmarkRestrictions is what a call costs more without a Decider.
func BenchmarkRestrictions(b *testing.B) {
	for _, n := range []int{10, 1_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			cfg := &PolicyConfig{}
			for i := range n {
				cfg.Rules = append(cfg.Rules, PolicyRule{Pattern: fmt.Sprintf("tool_%d", i), Value: Off})
			}
			r := restrict(cfg)
			tool := says("read_file", "")
			b.ReportAllocs()
			for b.Loop() {
				r.on(Viewer{}, &tool, nil)
			}
		})
	}
}
