package toolpolicy

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/pattern"
	"github.com/google/go-cmp/cmp"
)

// lines makes rules of "pattern = value" texts.
func lines(t testing.TB, texts ...string) []core.PolicyRule {
	t.Helper()
	var out []core.PolicyRule
	for _, text := range texts {
		pattern, value, ok := cutLast(text, " = ")
		if !ok {
			t.Fatalf("rule %q is not pattern = value", text)
		}
		out = append(out, core.PolicyRule{Pattern: pattern, Value: core.Policy(value)})
	}
	return out
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// policyOf compiles a policy of file rules alone.
func policyOf(t testing.TB, texts ...string) *policy {
	t.Helper()
	return compiled(t, &core.PolicyConfig{Rules: lines(t, texts...)})
}

func compiled(t testing.TB, rules *core.PolicyConfig) *policy {
	t.Helper()
	cfg := Config{}.withDefaults()
	p, err := compilePolicy(rules, &cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

const commandSchema = `{"type":"object","properties":{"cwd":{},"command":{}},"required":["command"]}`

func toolNamed(name string, effect core.Effect) *core.Tool {
	return &core.Tool{Name: name, Traits: core.Traits{Effect: effect}, Parameters: json.RawMessage(commandSchema)}
}

func TestRule01_TheMostPreciseRuleOfASourceDecides(t *testing.T) {
	tool := toolNamed("mcp__github__push", core.Write)
	tool.Source = core.Source{Kind: core.FromMCP, Name: "github", Trusted: true}
	tool.Groups = []string{"web"}
	tests := []struct {
		name  string
		rules []string
		args  string
		want  core.Policy
	}{
		{"nothing said: the effect decides", nil, `{}`, core.Ask},
		{"effect", []string{"effect:write = off"}, `{}`, core.Off},
		{"server over effect", []string{"effect:write = off", "server:github = auto"}, `{}`, core.Auto},
		{"group over effect", []string{"effect:write = off", "group:web = auto"}, `{}`, core.Auto},
		{"server and group are equals: the strictest", []string{"server:github = auto", "group:web = ask"}, `{}`, core.Ask},
		{"glob over server", []string{"server:github = off", "mcp__* = auto"}, `{}`, core.Auto},
		{"the longer literal prefix", []string{"mcp__* = off", "mcp__github__* = auto"}, `{}`, core.Auto},
		{"a question mark ends the prefix too", []string{"mcp__github__* = off", "mcp__github__pus? = auto"}, `{}`, core.Auto},
		{"equal prefixes: the strictest", []string{"mcp__*push = auto", "mcp__*sh = ask"}, `{}`, core.Ask},
		{"name over glob", []string{"mcp__github__pus* = off", "mcp__github__push = auto"}, `{}`, core.Auto},
		{"name with prefix tool:", []string{"* = auto", "tool:mcp__github__push = off"}, `{}`, core.Off},
		{"the same name twice: the strictest", []string{"mcp__github__push = auto", "tool:mcp__github__push = ask"}, `{}`, core.Ask},
		{"arguments over name, also over off", []string{"mcp__github__push = off", "mcp__github__push(main) = auto"}, `{"command":"main"}`, core.Auto},
		{"arguments that do not match leave the name", []string{"mcp__github__push = off", "mcp__github__push(main) = auto"}, `{"command":"dev"}`, core.Off},
		{"tighter arguments first", []string{"mcp__github__push(ma*) = off", "mcp__github__push(main) = auto"}, `{"command":"main"}`, core.Auto},
		{"longer arguments first", []string{"mcp__github__push(m*) = auto", "mcp__github__push(mai*) = ask"}, `{"command":"main"}`, core.Ask},
		{"more arguments first", []string{"mcp__github__push(command=main) = off", "mcp__github__push(command=m*,cwd=/) = auto"}, `{"command":"main","cwd":"/"}`, core.Auto},
		{"arguments on an effect", []string{"effect:write(command=ma*) = off"}, `{"command":"main"}`, core.Off},
		{"another effect says nothing", []string{"effect:exec = off"}, `{}`, core.Ask},
		{"another server says nothing", []string{"server:gitlab = off"}, `{}`, core.Ask},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := policyOf(t, tt.rules...)
			got := p.judge(&inquiry{tool: tool, args: json.RawMessage(tt.args)})
			if got.value != tt.want {
				t.Errorf("rules %q, arguments %s: got %s by %q, want %s", tt.rules, tt.args, got.value, got.rule, tt.want)
			}
		})
	}
}

func TestRule01_BetweenSourcesTheStrictestHolds(t *testing.T) {
	tests := []struct {
		name   string
		config core.PolicyConfig
		path   string
		effect core.Effect
		want   core.Policy
	}{
		{"a group tightens its agents", core.PolicyConfig{Groups: group(t, "root/group:a", "x = off")}, "root/group:a/agent", core.Read, core.Off},
		{"not those outside", core.PolicyConfig{Groups: group(t, "root/group:a", "x = off")}, "root/group:ab/agent", core.Read, core.Auto},
		{"a group without a path is everybody", core.PolicyConfig{Groups: group(t, "", "x = off")}, "root/agent", core.Read, core.Off},
		{"a group does not loosen", core.PolicyConfig{Rules: lines(t, "x = ask"), Groups: group(t, "root/group:a", "x = auto")}, "root/group:a", core.Read, core.Ask},
		{"--deny tightens auto", core.PolicyConfig{Rules: lines(t, "x = auto"), Overrides: lines(t, "x = off")}, "", core.Read, core.Off},
		{"--allow widens what the file leaves open", core.PolicyConfig{Overrides: lines(t, "* = auto")}, "", core.Exec, core.Auto},
		{"--allow leaves a file's ask", core.PolicyConfig{Rules: lines(t, "effect:exec = ask"), Overrides: lines(t, "x = auto")}, "", core.Exec, core.Ask},
		{"--allow is never above off", core.PolicyConfig{Rules: lines(t, "x = off"), Overrides: lines(t, "x = auto")}, "", core.Read, core.Off},
		{"--deny beats a more precise --allow", core.PolicyConfig{Overrides: lines(t, "x = auto", "* = off")}, "", core.Exec, core.Off},
		{"--read-only refuses write", core.PolicyConfig{Overrides: lines(t, "x = auto"), ReadOnly: true}, "", core.Write, core.Off},
		{"--read-only refuses what is undeclared", core.PolicyConfig{Rules: lines(t, "x = auto"), ReadOnly: true}, "", core.Undeclared, core.Off},
		{"--read-only leaves read", core.PolicyConfig{ReadOnly: true}, "", core.Read, core.Auto},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := compiled(t, &tt.config)
			q := &inquiry{tool: toolNamed("x", tt.effect), path: tt.path}
			if got := p.judge(q); got.value != tt.want {
				t.Errorf("got %s by %q, want %s", got.value, got.rule, tt.want)
			}
			if got := p.preview(q.tool, q.path); got.value != tt.want {
				t.Errorf("preview: got %s by %q, want %s", got.value, got.rule, tt.want)
			}
		})
	}
}

func group(t *testing.T, path string, texts ...string) []core.GroupPolicy {
	return []core.GroupPolicy{{Path: path, Rules: lines(t, texts...)}}
}

func TestRule01_ArgumentsLoosenOnlyWhenSure(t *testing.T) {
	tests := []struct {
		pattern string // of a tool with effect exec whose first argument is "command"
		args    string
		auto    bool // matches as a rule that loosens
		off     bool // matches as a rule that tightens
	}{
		{"x(git *)", `{"command":"git status"}`, true, true},
		{"x(git *)", `{"command":"git"}`, true, true},
		{"x(git *)", `{"command":"gitk"}`, false, false},
		{"x(git *)", `{"command":"git log a/b/c"}`, true, true},
		{"x(git *)", `{"command":"GIT status"}`, false, true},
		{"x(git *)", `{"command":"git status; rm -rf /"}`, false, true},
		{"x(git *)", `{"command":"git status && rm x"}`, false, true},
		{"x(git *)", `{"command":"git log $(rm x)"}`, false, true},
		{"x(git *)", "{\"command\":\"git log `rm x`\"}", false, true},
		{"x(git *)", `{"command":"git log\nrm x"}`, false, true},
		{"x(git log > *)", `{"command":"git log > a"}`, true, true},
		{"x(git log > *)", `{"command":"git log > a; b"}`, false, true},
		{"x(git *)", `{"command":["git","status"]}`, true, true},
		{"x(git *)", `{"command":["git status","x"]}`, false, true},
		{"x(git *)", `{"COMMAND":"git status"}`, false, true},
		{"x(git *)", `{"command":"git status","Command":"rm x"}`, false, true},
		{"x(git *)", `{"command":"git status","command":"rm x"}`, false, true},
		{"x(git *)", `{}`, false, false},
		{"x(git *)", `not json`, false, true},
		{"x(path=docs/**)", `{"path":"docs/a/b"}`, true, true},
		{"x(path=docs/**)", `{"path":"./docs//a"}`, true, true},
		{"x(path=docs/**)", `{"path":"docs"}`, false, true},
		{"x(path=docs/**)", `{"path":"docs/../secret"}`, false, false},
		{"x(path=docs/**)", `{"path":"a/../docs/x"}`, false, true},
		{"x(path=docs/**)", `{"path":"/home/me/docs/x"}`, false, true},
		{"x(path=docs/**)", `{"path":"Docs/x"}`, false, true},
		{"x(path=docs/*)", `{"path":"docs/a/b"}`, false, false},
		{"x(path=**/x.md)", `{"path":"x.md"}`, true, true},
		{"x(path=**/x.md)", `{"path":"a/b/x.md"}`, true, true},
		{"x(path=docs/**)", `{"path":["docs/a","etc/b"]}`, false, true},
		{"x(path=docs/**)", `{"path":[]}`, false, false},
		{"x(path=caf\u00e9/**)", `{"path":"cafe\u0301/x"}`, false, true},
		{"x(n=3)", `{"n":3}`, true, true},
		{"x(on=true,n=?)", `{"on":true,"n":7}`, true, true},
		{"x(on=true,n=?)", `{"on":true}`, false, false},
		{"x(url=https://docs.example/**)", `{"url":"https://docs.example/a/b"}`, true, true},
		{"x(url=https://docs.example/**)", `{"url":"https://docs.example.evil/a"}`, false, false},
		{`x(a\*b)`, `{"command":"a*b"}`, true, true},
		{`x(a\*b)`, `{"command":"axb"}`, false, false},
		{`x(k=a\,b)`, `{"k":"a,b"}`, true, true},
		{`x(FOO\=1 make)`, `{"command":"FOO=1 make"}`, true, true},
	}
	for _, tt := range tests {
		for value, want := range map[core.Policy]bool{core.Auto: tt.auto, core.Off: tt.off} {
			other := core.Off
			if value == core.Off {
				other = core.Auto
			}
			p := policyOf(t, "x = "+string(other), tt.pattern+" = "+string(value))
			got := p.judge(&inquiry{tool: toolNamed("x", core.Exec), args: json.RawMessage(tt.args)})
			if (got.value == value) != want {
				t.Errorf("%s = %s on %s: matched %v, want %v", tt.pattern, value, tt.args, got.value == value, want)
			}
		}
	}
}

// A rule that is milder than what holds without it loosens, whatever its
// value and wherever the stricter one comes from.
func TestRule01_WhatLiftsAStricterRuleMustBeSure(t *testing.T) {
	off := Config{ByEffect: map[core.Effect]core.Policy{core.Exec: core.Off}}
	tests := []struct {
		name    string
		cfg     Config
		rules   []string
		command string
		want    core.Policy
	}{
		{"an ask lifts an off", Config{}, []string{"x = off", "x(git *) = ask"}, "git status", core.Ask},
		{"but not for a second command", Config{}, []string{"x = off", "x(git *) = ask"}, "git status; rm -rf /", core.Off},
		{"nor for another case", Config{}, []string{"x = off", "x(git *) = ask"}, "GIT status", core.Off},
		{"nor for a path that only ends like it", Config{}, []string{"x = off", "x(docs/**) = ask"}, "/etc/secret/docs/passwd", core.Off},
		{"an ask lifts an ask!", Config{}, []string{"x = ask!", "x(git *) = ask"}, "git status; rm -rf /", core.AskOnce},
		{"an ask lifts a wider off", Config{}, []string{"x(git *) = off", "x(git s*) = ask"}, "git status; rm -rf /", core.Off},
		{"an ask lifts what byEffect says", off, []string{"x(git *) = ask"}, "git status; rm -rf /", core.Off},
		{"surely", off, []string{"x(git *) = ask"}, "git status", core.Ask},
		{"an ask over auto tightens", Config{}, []string{"x = auto", "x(git *) = ask"}, "GIT status; rm -rf /", core.Ask},
		{"an ask over a sure auto tightens", Config{}, []string{"x = off", "x(git *) = auto", "x(git s*) = ask"}, "git STATUS", core.Ask},
		{"an ask over an unsure auto lifts", Config{}, []string{"x = off", "x(git *) = auto", "x(git s*) = ask"}, "git STATUS; ls", core.Off},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newHouse(t, t.TempDir(), tt.cfg, tt.rules...)
			tool := h.c.Tools().Why(viewer, "x").Tool
			args, _ := json.Marshal(map[string]string{"command": tt.command})
			e := h.admin.Explain(viewer, &tool, args)
			if e.Policy != tt.want {
				t.Errorf("got %s by %q, want %s", e.Policy, e.Rule, tt.want)
			}
			won := slices.IndexFunc(e.Steps, func(s Step) bool { return s.Wins })
			if e.Steps[won].Rule != e.Rule {
				t.Errorf("the chain says %q won, the decision is by %q", e.Steps[won].Rule, e.Rule)
			}
		})
	}
}

// Of a tool that does not say which of its arguments is the first, a rule
// about the first can't be sure of anything.
func TestRule01_AnUnknownFirstArgumentIsTakenForAnything(t *testing.T) {
	for value, other := range map[core.Policy]core.Policy{core.Off: core.Auto, core.Auto: core.Off} {
		p := policyOf(t, "m = "+string(other), "m(rm *) = "+string(value))
		tool := toolNamed("m", core.Exec)
		tool.Parameters = json.RawMessage(`{"type":"object"}`)
		got := p.judge(&inquiry{tool: tool, args: json.RawMessage(`{"command":"rm -rf /"}`)})
		if got.value != core.Off {
			t.Errorf("m(rm *) = %s: got %s by %s", value, got.value, got.rule)
		}
	}
}

func TestH7_RulesByEffectHoldForEveryTool(t *testing.T) {
	p := policyOf(t, "effect:read(path=secrets/**) = off", "effect:exec = off")
	server := toolNamed("mcp__fs__read_file", core.Read)
	server.Source = core.Source{Kind: core.FromMCP, Name: "fs", Trusted: true}
	untrusted := toolNamed("mcp__evil__read", core.Read)
	untrusted.Source = core.Source{Kind: core.FromMCP, Name: "evil"}
	args := json.RawMessage(`{"path":"secrets/key"}`)
	for name, tool := range map[string]*core.Tool{
		"our own tool": toolNamed("read_file", core.Read), "a server's tool": server,
		"an undeclared effect counts as exec": toolNamed("odd", core.Undeclared),
		"an untrusted claim does not loosen":  untrusted,
	} {
		if got := p.judge(&inquiry{tool: tool, args: args}); got.value != core.Off {
			t.Errorf("%s: got %s by %q, want off", name, got.value, got.rule)
		}
	}
	if got := p.judge(&inquiry{tool: server, args: json.RawMessage(`{"path":"docs/a"}`)}); got.value != core.Auto {
		t.Errorf("another path: got %s, want auto", got.value)
	}
}

func TestE20_AnUntrustedClaimMayTighten(t *testing.T) {
	tool := toolNamed("mcp__s__w", core.Write)
	tool.Source = core.Source{Kind: core.FromMCP, Name: "s"}
	p := policyOf(t, "effect:write = off", "effect:exec = auto")
	if got := p.judge(&inquiry{tool: tool}); got.value != core.Off {
		t.Errorf("got %s by %q, want off", got.value, got.rule)
	}
}

func TestE20_AnUntrustedClaimDoesNotLoosen(t *testing.T) {
	tool := toolNamed("mcp__s__r", core.Read)
	tool.Source = core.Source{Kind: core.FromMCP, Name: "s"}
	for trusted, want := range map[bool]core.Policy{false: core.Ask, true: core.Auto} {
		tool.Source.Trusted = trusted
		if got := policyOf(t).judge(&inquiry{tool: tool}); got.value != want {
			t.Errorf("trusted %v: got %s by %q, want %s", trusted, got.value, got.rule, want)
		}
	}
}

func TestRule03_OffHidesUnlessSomeArgumentsMayRun(t *testing.T) {
	tests := []struct {
		rules []string
		want  core.Policy
	}{
		{[]string{"x = off"}, core.Off},
		{[]string{"x = off", "x(git *) = ask"}, core.Ask},
		{[]string{"x = auto", "x(git *) = off"}, core.Auto},
		{[]string{"* = off", "x = auto"}, core.Auto},
	}
	for _, tt := range tests {
		if got := policyOf(t, tt.rules...).preview(toolNamed("x", core.Exec), ""); got.value != tt.want {
			t.Errorf("%q: got %s, want %s", tt.rules, got.value, tt.want)
		}
	}
}

func TestRule03_AnOffOfAnEffectHidesUnlessSomeArgumentsMayRun(t *testing.T) {
	off := Config{ByEffect: map[core.Effect]core.Policy{core.Exec: core.Off}}
	h := newHouse(t, t.TempDir(), off, "x(git *) = auto")
	h.wants(h.call("x", "git status"), "")
	h.wants(h.call("x", "ls"), core.CodeDenied)
	h.wants(h.call("u", "git status"), core.CodeUnknown)
}

func TestRule06_EveryComputedPartMustPass(t *testing.T) {
	parts := func(texts ...string) (ps []core.Permission) {
		for _, text := range texts {
			name, target, _ := strings.Cut(text, " ")
			ps = append(ps, core.Permission{Name: name, Target: target})
		}
		return ps
	}
	tests := []struct {
		name  string
		rules []string
		parts []core.Permission
		want  core.Policy
	}{
		{"no part: the tool", []string{"x = auto"}, nil, core.Auto},
		{"a permission without a rule asks", []string{"x = auto"}, parts("tool:x a", "path:outside /etc"), core.Ask},
		{"a permission with one does not", []string{"x = auto", "path:outside = auto"}, parts("tool:x a", "path:outside /etc"), core.Auto},
		{"each with a rule stand for an unnamed tool", []string{"command(git) = auto"}, parts("command git"), core.Auto},
		{"one without a rule does not", []string{"command(git) = auto"}, parts("command git", "command rm"), core.Ask},
		{"deny beats allow", []string{"command(git) = auto", "command(rm) = off"}, parts("command git", "command rm"), core.Off},
		{"the tool's own off holds", []string{"x = off", "command = auto"}, parts("command git"), core.Off},
		{"the tool's own ask holds", []string{"x = ask", "command = auto"}, parts("command git"), core.Ask},
		{"targets of the tool one by one", []string{"x(git *) = auto", "x(ls *) = auto"}, parts("tool:x git log", "tool:x ls -l"), core.Auto},
		{"one target fails", []string{"x(git *) = auto", "x(ls *) = auto"}, parts("tool:x git log", "tool:x rm -rf"), core.Ask},
		{"a glob over tools reaches no permission", []string{"* = auto", "path:* = off"}, parts("path:outside /etc"), core.Off},
		{"and the other way round", []string{"* = off", "x = auto", "path:outside(/etc/**) = auto"}, parts("path:outside /etc/a"), core.Auto},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			q := &inquiry{tool: toolNamed("x", core.Exec), args: json.RawMessage(`{}`), parts: tt.parts}
			if got := policyOf(t, tt.rules...).judge(q); got.value != tt.want {
				t.Errorf("got %s by %q, want %s", got.value, got.rule, tt.want)
			}
		})
	}
}

func TestRule01_AMalformedPatternIsALoadError(t *testing.T) {
	_, err := compileRules("agent.yml", []core.PolicyRule{
		{Pattern: "x(", Value: core.Auto, Position: "agent.yml:3:5"},
		{Pattern: "y", Value: "offf", Position: "agent.yml:4:8"},
	})
	for _, want := range []string{"agent.yml:3:5", "agent.yml:4:8", `got "offf"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want all issues with positions (%s)", err, want)
		}
	}
}

// naive decides one source by the plain words of the rule: try everything,
// keep the best class, within it the tightest, among equals the strictest.
func naive(rules []core.PolicyRule, s *subject) core.Policy {
	class := func(pattern string) (class, prefix int, matches bool) {
		switch {
		case strings.HasPrefix(pattern, "effect:"):
			return 1, 0, pattern == "effect:"+string(s.Effect)
		case strings.HasPrefix(pattern, "server:"):
			return 2, 0, pattern == "server:"+s.Server
		case strings.HasPrefix(pattern, "group:"):
			return 2, 0, slices.Contains(s.Groups, strings.TrimPrefix(pattern, "group:"))
		case strings.ContainsAny(pattern, "*?"):
			expr := strings.NewReplacer("*", ".*", "?", ".").Replace(pattern)
			return 3, strings.IndexAny(pattern, "*?"), regexp.MustCompile("^" + expr + "$").MatchString(s.Name)
		}
		return 4, 0, pattern == s.Name
	}
	best, bestClass, bestPrefix := core.Policy(""), 0, 0
	for _, r := range rules {
		c, prefix, ok := class(r.Pattern)
		switch {
		case !ok || c < bestClass || c == bestClass && prefix < bestPrefix:
			continue
		case c == bestClass && prefix == bestPrefix && strictness(best) >= strictness(r.Value):
			continue
		}
		best, bestClass, bestPrefix = r.Value, c, prefix
	}
	return best
}

func TestRule01_AgreesWithTheNaiveReading(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	pick := func(from ...string) string { return from[rng.IntN(len(from))] }
	values := []core.Policy{core.Auto, core.Ask, core.AskOnce, core.Off}
	for range 2000 {
		var rules []core.PolicyRule
		for range rng.IntN(8) {
			rules = append(rules, core.PolicyRule{
				Pattern: pick("*", "a*", "ab*", "*b", "a?c", "abc", "abd", "b", "?", "a*c", "ab?", "**",
					"effect:read", "effect:write", "effect:exec", "server:s", "server:t", "group:g", "group:h"),
				Value: values[rng.IntN(len(values))],
			})
		}
		set, err := compileRules("test", rules)
		if err != nil {
			t.Fatal(err)
		}
		for range 4 {
			s := &subject{Name: pick("abc", "abd", "a", "b", "ab"), Effect: core.Effect(pick("read", "write", "exec")),
				Server: pick("", "s", "t"), Groups: [][]string{nil, {"g"}, {"g", "h"}}[rng.IntN(3)]}
			want := naive(rules, s)
			for range 2 { // the second answer comes from the cache
				if got := set.decide(s, &arguments{}, opinion{}); got.value != want {
					t.Fatalf("rules %v\nsubject %+v\ngot %q by %q, want %q", rules, *s, got.value, got.rule, want)
				}
			}
		}
	}
}

func FuzzPattern(f *testing.F) {
	for _, seed := range []string{"read_file", "mcp__*", "effect:read", "server:a.b", "group:web", "x(git *)",
		"write_file(path=docs/**)", `x(a\,b=c\)d)`, "path:outside(/etc/**)", "x(a=1, b=2)", "x(**/a)", "x(\xff)", `x(\)`} {
		f.Add(seed, `{"command":"git status","path":"docs/a"}`)
	}
	f.Fuzz(func(t *testing.T, text, args string) {
		p, err := parsePattern(text)
		if err != nil {
			return
		}
		if again, err := parsePattern(p.String()); err != nil || again.rank != p.rank {
			t.Fatalf("%q does not read back: %v", text, err)
		}
		// What a loosening rule is sure of, a tightening one must see too.
		s := subject{Name: "x", Parameters: json.RawMessage(commandSchema)}
		of := &resolved{subject: s, primary: "command"}
		if len(p.args) == 0 {
			return
		}
		sure := newArguments(json.RawMessage(args)).match(p, of, true)
		perhaps := newArguments(json.RawMessage(args)).match(p, of, false)
		if sure && !perhaps {
			t.Fatalf("%q on %s: sure, but not perhaps", text, args)
		}
	})
}

func TestAnEscapedTextMatchesItselfAlone(t *testing.T) {
	for _, text := range []string{"git status", "a*b?c", `back\slash`, "k=v, w", "rm -rf (x)", "docs/**", "a/b"} {
		p, err := parsePattern("x(" + pattern.Escape(text) + ")")
		if err != nil {
			t.Fatal(err)
		}
		of := &resolved{primary: "command", subject: subject{Effect: core.Read}}
		for _, other := range []string{text, text + "x", "a" + text} {
			args, _ := json.Marshal(map[string]string{"command": other})
			if got := newArguments(args).match(p, of, true); got != (other == text) {
				t.Errorf("%s on %q: got %v", p, other, got)
			}
		}
	}
}

func TestCanonicalJSON(t *testing.T) {
	tests := map[string]string{
		``:                                  `{}`,
		` null `:                            `{}`,
		`{"b":1,"a":[true,null,"x<"]}`:      `{"a":[true,null,"x\u003c"],"b":1}`,
		`{"n":1e3, "m":1.50}`:               `{"m":1.50,"n":1e3}`,
		`{"a":{"d":{},"c":[]}}`:             `{"a":{"c":[],"d":{}}}`,
		strings.Repeat(`{"a":`, 3) + "1}}}": `{"a":{"a":{"a":1}}}`,
	}
	for in, want := range tests {
		v, err := decodeArguments(json.RawMessage(in))
		if err != nil {
			t.Errorf("%s: %v", in, err)
		}
		if diff := cmp.Diff(want, string(appendCanonical(nil, v))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", in, diff)
		}
	}
	for _, in := range []string{`{"a":1,"a":2}`, `{`, `{} {}`, "{\"a\":\"\xff\"}", strings.Repeat("[", 70)} {
		if got, err := decodeArguments(json.RawMessage(in)); err == nil {
			t.Errorf("%s: got %v, want an error", in, got)
		}
	}
}

func TestCanonicalTextIsThatOfTheEncoder(t *testing.T) {
	for c := range rune(0x3000) {
		for _, text := range []string{"a" + string(c) + "b", "a" + string([]byte{byte(c)})} {
			want, err := json.Marshal(text)
			if err != nil {
				t.Fatal(err)
			}
			if got := appendCanonical(nil, text); string(got) != string(want) {
				t.Errorf("%q: got %s, want %s", text, got, want)
			}
		}
	}
}

func manyRules(n int) []core.PolicyRule {
	values := []core.Policy{core.Auto, core.Ask, core.Off}
	rules := make([]core.PolicyRule, 0, n)
	for i := range n {
		pattern := fmt.Sprintf("mcp__server%d__*", i)
		switch i % 4 {
		case 1:
			pattern = fmt.Sprintf("tool_%d", i)
		case 2:
			pattern = fmt.Sprintf("tool_%d(path=docs/**)", i)
		case 3:
			pattern = fmt.Sprintf("server:server%d", i)
		}
		rules = append(rules, core.PolicyRule{Pattern: pattern, Value: values[i%3]})
	}
	return rules
}

func BenchmarkDecision1000Rules(b *testing.B) {
	p := compiled(b, &core.PolicyConfig{Rules: manyRules(1000)})
	q := &inquiry{tool: toolNamed("tool_501", core.Read), path: "root/agent"}
	p.judge(q)
	b.ReportAllocs()
	for b.Loop() {
		p.judge(q)
	}
}

func BenchmarkDecision1000RulesUnseen(b *testing.B) {
	p := compiled(b, &core.PolicyConfig{Rules: manyRules(1000)})
	s := subjectOf(toolNamed("tool_501", core.Read))
	b.ReportAllocs()
	for b.Loop() {
		p.file.work(&s)
	}
}

func BenchmarkDecisionWithArguments(b *testing.B) {
	p := policyOf(b, "run_command = ask", "run_command(git *) = auto")
	q := &inquiry{tool: toolNamed("run_command", core.Exec), args: json.RawMessage(`{"command":"git status"}`)}
	b.ReportAllocs()
	for b.Loop() {
		p.judge(q)
	}
}

func BenchmarkCompile1000Rules(b *testing.B) {
	rules := manyRules(1000)
	b.ReportAllocs()
	for b.Loop() {
		compiled(b, &core.PolicyConfig{Rules: rules})
	}
}

func TestDecisionAllocatesNothingForAKnownName(t *testing.T) {
	p := compiled(t, &core.PolicyConfig{Rules: manyRules(1000)})
	q := &inquiry{tool: toolNamed("tool_501", core.Read), path: "root/agent"}
	p.judge(q)
	p.judge(q)
	if n := testing.AllocsPerRun(100, func() { p.judge(q) }); n != 0 {
		t.Errorf("got %v allocations a decision, want 0", n)
	}
}
