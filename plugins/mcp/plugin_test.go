package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/coretest"
	"github.com/agentd-host/agentd/plugins/mcp/internal/fake"
	"github.com/google/go-cmp/cmp"
)

// fakeServer is the entry of a fake server with these defects. Its era is
// legacy, which spares most tests a second process.
func fakeServer(flags ...string) ServerConfig {
	name, args, env := fake.Command(flags...)
	return ServerConfig{Command: name, Args: args, Env: env, Era: eraLegacy}
}

func with(cfg ServerConfig, f func(*ServerConfig)) ServerConfig {
	f(&cfg)
	return cfg
}

// rig is a host with the plugin and what it keeps in a folder.
type rig struct {
	*coretest.Fixture
	t       *testing.T
	state   string
	policy  *coretest.Policy
	service *service
}

func start(t *testing.T, servers map[string]ServerConfig, opts ...coretest.Option) *rig {
	t.Helper()
	return startIn(t, t.TempDir(), servers, opts...)
}

func startIn(t *testing.T, state string, servers map[string]ServerConfig, opts ...coretest.Option) *rig {
	t.Helper()
	r := &rig{t: t, state: state, policy: coretest.NewPolicy(coretest.NewApprover())}
	opts = append([]coretest.Option{
		coretest.Provide(core.Environment, core.Paths{State: state}), coretest.WithPolicy(r.policy),
	}, opts...)
	r.Fixture = coretest.Start(t, Plugin, Config{Servers: servers}, opts...)
	user := core.Plugin[struct{}]{Name: "user", Needs: core.Needs(core.MCP), Apply: func(c *core.Context, _ struct{}) error {
		provided, _ := core.MCP.Get(c)
		r.service = provided.(*service)
		return nil
	}}
	f, err := core.Load(r.Host.Root(), user, struct{}{})
	if err == nil {
		err = f.Ready(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// neverRun is a tool's function that is never called.
func neverRun(context.Context, *core.Invocation) (core.Result, error) { panic("called") }

// eventually waits for a condition that other goroutines and processes bring
// about. It does not measure time: the limit is for a test that hangs.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(60 * time.Second); !ok(); runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
		time.Sleep(time.Millisecond)
	}
}

func (r *rig) status(server string) core.MCPStatus {
	r.t.Helper()
	for _, s := range r.service.Status(r.t.Context()) {
		if s.Name == server {
			return s
		}
	}
	return core.MCPStatus{}
}

func (r *rig) ready(server string) core.MCPStatus {
	r.t.Helper()
	eventually(r.t, server+" is ready", func() bool { return r.status(server).State == core.SourceReady && r.status(server).Tools > 0 })
	return r.status(server)
}

func (r *rig) names(prefix string) []string {
	var out []string
	for _, tool := range r.Tools() {
		if strings.HasPrefix(tool.Name, prefix) {
			out = append(out, tool.Name)
		}
	}
	return out
}

func (r *rig) text(tool string, args any) string {
	r.t.Helper()
	res := r.Call(tool, args)
	if res.Err != nil {
		r.t.Fatalf("%s: %v", tool, res.Err)
	}
	return res.Text()
}

func TestPlugin(t *testing.T) { coretest.CheckPlugin(t, Plugin) }

func TestRule1_ServersAreProjectedAndGo(t *testing.T) {
	r := start(t, map[string]ServerConfig{"a": fakeServer(), "b": fakeServer()})
	r.ready("a")
	r.ready("b")
	if got := r.text("mcp__a__echo", map[string]any{"text": "hi"}); got != "echo: hi" {
		t.Errorf("echo = %q", got)
	}
	tool := r.Tool("mcp__a__echo")
	want := core.Source{Kind: core.FromMCP, Name: "a", Raw: "echo"}
	if tool.Source != want || tool.Title != "Echo" || string(tool.Meta["execution"]) != `{"taskSupport":"forbidden"}` {
		t.Errorf("tool = %+v", tool)
	}
	pid := r.text("mcp__b__pid", nil)
	only := Config{Servers: map[string]ServerConfig{"b": fakeServer()}}
	if err := core.Update(t.Context(), r.Fiber, only); err != nil {
		t.Fatal(err)
	}
	if got := r.names("mcp__a__"); len(got) > 0 {
		t.Errorf("left of a: %q", got)
	}
	if again := r.text("mcp__b__pid", nil); again != pid {
		t.Errorf("b has another process: %s, then %s", pid, again)
	}
}

func TestRule1_OneBadServerHurtsNobody(t *testing.T) {
	r := start(t, map[string]ServerConfig{
		"crash": fakeServer("-crash-at-start"),
		"gone":  {Command: "no-such-program-here"},
		"list":  fakeServer("-list-error"),
		"mute":  with(fakeServer("-silent"), func(c *ServerConfig) { c.StartTimeout = 300 * time.Millisecond }),
		"good":  fakeServer(),
	})
	r.ready("good")
	for name, want := range map[string]string{
		"crash": "left-pad",
		"gone":  "not found in PATH",
		"list":  "the backend is down",
		"mute":  "startTimeout",
	} {
		eventually(t, name+" says why", func() bool { return strings.Contains(r.status(name).Error, want) })
		if got := r.status(name).State; got != core.SourceUnavailable && got != core.SourceConnecting {
			t.Errorf("%s is %s", name, got)
		}
	}
	if got := r.text("mcp__good__echo", map[string]any{"text": "x"}); got != "echo: x" {
		t.Errorf("good says %q", got)
	}
}

func TestRule1_BothNamesOfServersAtOnceAreRefused(t *testing.T) {
	pasted := `{"mcpServers":{"a":{"command":"x","args":["-y"],"disabled":true,"autoApprove":["t"],"type":"stdio"}}}`
	if err := core.CheckConfig(Plugin, json.RawMessage(pasted)); err != nil {
		t.Errorf("a pasted block: %v", err)
	}
	for in, want := range map[string]string{
		`{"servers":{"a":{"command":"x"}},"mcpServers":{"b":{"command":"y"}}}`: "keep one",
		`{"servers":{"a":{}}}`:                                         "servers.a: want command",
		`{"servers":{"a":{"command":"x","url":"https://x"}}}`:          "exclude each other",
		`{"servers":{"a":{"url":"ftp://x"}}}`:                          "http or https",
		`{"servers":{"a":{"command":"x","comand":"y"}}}`:               "comand",
		`{"servers":{"a":{"command":"x","era":"future"}}}`:             "era",
		`{"servers":{"a":{"url":"https://x","allow":["http://y/z"]}}}`: "allow",
		`{"servers":{"a":{"command":"x","tools":{"include":["["]}}}}`:  "no pattern",
	} {
		if err := core.CheckConfig(Plugin, json.RawMessage(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("config %s: %v, want %q", in, err, want)
		}
	}
}

func TestRule4_ACrashFailsTheCallAndHeals(t *testing.T) {
	r := start(t, map[string]ServerConfig{"a": fakeServer()})
	first := r.ready("a")
	res := r.Call("mcp__a__crash", nil)
	if res.Err == nil || !strings.Contains(res.Err.Message, "exit status 7") || !strings.Contains(res.Err.Message, "out of cheese") {
		t.Fatalf("crash = %+v", res.Err)
	}
	// The next call does not wait for the delay.
	pid := r.text("mcp__a__pid", nil)
	if pid == strconv.Itoa(first.PID) {
		t.Errorf("the dead process %s answered", pid)
	}
	if s := r.status("a"); s.State != core.SourceReady || s.Error != "" {
		t.Errorf("status after healing = %+v", s)
	}
}

func TestM16_HealsByItself(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "server")
	name, _, env := fake.Command()
	r := start(t, map[string]ServerConfig{"a": {Command: script, Env: env, Era: eraLegacy}})
	eventually(t, "it fails", func() bool { return r.status("a").Error != "" })
	if err := os.Symlink(name, script); err != nil {
		t.Fatal(err)
	}
	if s := r.ready("a"); s.Error != "" {
		t.Errorf("the error outlives its cause: %+v", s)
	}
}

func TestRule4_AnIdleServerThatDiesIsMarkedAndRestarted(t *testing.T) {
	r := start(t, map[string]ServerConfig{"a": fakeServer()})
	first := r.ready("a")
	if err := syscall.Kill(first.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "another process", func() bool {
		s := r.status("a")
		return s.State == core.SourceReady && s.PID != 0 && s.PID != first.PID
	})
}

func TestRule3_LazyStartsWithTheFirstCall(t *testing.T) {
	state, count := t.TempDir(), filepath.Join(t.TempDir(), "starts")
	starts := func() int {
		data, _ := os.ReadFile(count)
		return len(data)
	}
	cfg := map[string]ServerConfig{"a": with(fakeServer("-state", count), func(c *ServerConfig) { c.Lazy = true })}
	// The first time nothing is known about it: it is asked once.
	first := startIn(t, state, cfg)
	first.ready("a")
	if err := first.Host.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if starts() != 1 {
		t.Fatalf("%d starts to learn the tools", starts())
	}
	second := startIn(t, state, cfg)
	if s := second.ready("a"); s.PID != 0 || starts() != 1 {
		t.Fatalf("started without a call: %+v, %d starts", s, starts())
	}
	if got := second.text("mcp__a__echo", map[string]any{"text": "x"}); got != "echo: x" || starts() != 2 {
		t.Errorf("echo = %q after %d starts", got, starts())
	}
	files, _ := filepath.Glob(filepath.Join(state, "mcp", "*", "*.json"))
	if len(files) != 2 {
		t.Errorf("kept: %q, want what is remembered and what is pinned", files)
	}
	for _, f := range files {
		if info, err := os.Stat(f); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", f, info, err)
		}
	}
}

func TestRule3_IdleStop(t *testing.T) {
	r := start(t, map[string]ServerConfig{"a": with(fakeServer(), func(c *ServerConfig) { c.IdleStop = 50 * time.Millisecond })})
	pid := r.ready("a").PID
	eventually(t, "it is stopped", func() bool { return r.status("a").PID == 0 })
	if s := r.status("a"); s.State != core.SourceReady || s.Error != "" || s.Tools == 0 {
		t.Errorf("status at rest = %+v", s)
	}
	if again := r.text("mcp__a__pid", nil); again == strconv.Itoa(pid) {
		t.Errorf("the stopped process %s answered", again)
	}
}

func TestRule3_TheCachedListStandsIn(t *testing.T) {
	state := t.TempDir()
	name, args, env := fake.Command()
	first := startIn(t, state, map[string]ServerConfig{"a": {Command: name, Args: args, Env: env, Era: eraLegacy}})
	first.ready("a")
	if err := first.Host.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	// The same entry, but the server is slow now.
	second := startIn(t, state, map[string]ServerConfig{"a": {Command: name, Args: args, Env: map[string]string{"AGENTD_FAKE_MCP": "slow"}, Era: eraLegacy}})
	eventually(t, "tools of the cache", func() bool { return len(second.names("mcp__a__")) > 0 })
	for _, e := range second.Host.Root().Tools().Catalog(second.Viewer) {
		if e.Source.Name == "a" && e.State != core.SourceConnecting && e.State != core.SourceReady {
			t.Errorf("%s is %s", e.Name, e.State)
		}
	}
	if got := second.text("mcp__a__echo", map[string]any{"text": "x"}); got != "echo: x" {
		t.Errorf("echo = %q", got)
	}
}

func TestM17_ManySlowServersAtOnce(t *testing.T) {
	servers := map[string]ServerConfig{}
	for i := range 12 {
		servers[fmt.Sprintf("s%02d", i)] = fakeServer("-slow-start", "20ms")
	}
	r := start(t, servers)
	for name := range servers {
		r.ready(name)
	}
}

func TestM21_DiscoverProbes(t *testing.T) {
	for _, tt := range []struct {
		flags []string
		era   string
		first int // starts when nothing is known
	}{
		{nil, "2025-06-18", 2},
		{[]string{"-silent-discover"}, "2025-06-18", 2},
		{[]string{"-exit-on-discover"}, "2025-06-18", 2},
		{[]string{"-modern"}, "2026-07-28", 1},
		{[]string{"-protocol", "2024-11-05"}, "2024-11-05", 2},
	} {
		t.Run(strings.Join(tt.flags, " "), func(t *testing.T) {
			state, count := t.TempDir(), filepath.Join(t.TempDir(), "starts")
			starts := func() int {
				data, _ := os.ReadFile(count)
				return len(data)
			}
			cfg := map[string]ServerConfig{"a": with(fakeServer(append(tt.flags, "-state", count)...), func(c *ServerConfig) { c.Era = "" })}
			r := startIn(t, state, cfg)
			if s := r.ready("a"); s.Era != tt.era {
				t.Errorf("era = %q, want %q", s.Era, tt.era)
			}
			if got := r.text("mcp__a__echo", map[string]any{"text": "x"}); got != "echo: x" {
				t.Errorf("echo = %q", got)
			}
			if starts() != tt.first {
				t.Errorf("%d starts, want %d", starts(), tt.first)
			}
			if err := r.Host.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			startIn(t, state, cfg).ready("a")
			if starts() != tt.first+1 {
				t.Errorf("what was learnt is not remembered: %d starts", starts())
			}
		})
	}
}

func TestRule6_ListChanges(t *testing.T) {
	r := start(t, map[string]ServerConfig{"a": with(fakeServer("-mutate"), func(c *ServerConfig) { c.Pin = "warn" })})
	r.ready("a")
	version := r.Host.Root().Tools().Version()
	p, _ := r.service.hub.find("a")
	signal(p.server.refresh)
	eventually(t, "the changed description", func() bool {
		return strings.Contains(r.Tool("mcp__a__echo").Description, "evil.example")
	})
	if again := r.Host.Root().Tools().Version(); again == version {
		t.Error("the registry's version did not move")
	}
}

func TestM29_StormsAreFetchedAtMostTwice(t *testing.T) {
	r := start(t, map[string]ServerConfig{"a": fakeServer("-storm", "200")})
	r.ready("a")
	p, _ := r.service.hub.find("a")
	version := r.Host.Root().Tools().Version()
	lists := p.server.fetches.Load()
	r.text("mcp__a__echo", map[string]any{"text": "x"})
	// Two calls later all notifications of the first were read.
	r.text("mcp__a__pid", nil)
	if n := p.server.fetches.Load() - lists; n > 2 {
		t.Errorf("%d lists in a burst", n)
	}
	if r.Host.Root().Tools().Version() != version {
		t.Error("an unchanged set bumped the registry")
	}
}

func TestM29_Refresher(t *testing.T) {
	now := time.Now()
	var r refresher
	if d := r.due(now); d != 0 {
		t.Errorf("the first fetch waits %v", d)
	}
	r.fetched(now, true)
	if d := r.due(now.Add(10 * time.Millisecond)); d != minRefresh-10*time.Millisecond {
		t.Errorf("within the burst: %v", d)
	}
	// A server that notifies after every list is asked ever less often.
	for range 20 {
		now = now.Add(r.due(now))
		r.fetched(now, false)
	}
	if d := r.due(now); d != maxRefresh {
		t.Errorf("after twenty useless fetches: %v", d)
	}
	r.fetched(now, true)
	if d := r.due(now); d != minRefresh {
		t.Errorf("after a change: %v", d)
	}
}

func TestM26_EndlessLists(t *testing.T) {
	for _, flag := range []string{"-endless-cursor", "-cursor-cycle"} {
		r := start(t, map[string]ServerConfig{"a": fakeServer(flag)})
		s := r.ready("a")
		if s.Tools != 19 || !strings.Contains(s.Detail, "does not end") {
			t.Errorf("%s: %+v", flag, s)
		}
	}
}

func TestRule7_BadSchemas(t *testing.T) {
	r := start(t, map[string]ServerConfig{"a": fakeServer("-bad-schemas")})
	s := r.ready("a")
	if got := len(r.names("mcp__a__bad_")); got != 13 {
		t.Errorf("%d of the broken tools: %q", got, r.names("mcp__a__bad_"))
	}
	if n := strings.Count(s.Detail, "was left out"); n != 4 {
		t.Errorf("%d hopeless ones told: %s", n, s.Detail)
	}
	for _, name := range r.names("mcp__a__bad_") {
		checkFit(t, r.Tool(name).Parameters)
		if got := r.text(name, map[string]any{}); got != strings.TrimPrefix(name, "mcp__a__") {
			t.Errorf("%s = %q", name, got)
		}
	}
}

func TestRule8_TwoToolsAndTheirNames(t *testing.T) {
	r := start(t, map[string]ServerConfig{"a": with(fakeServer(), func(c *ServerConfig) {
		c.Tools = ToolChoice{Include: []string{"x?y", "echo", "pid"}, Exclude: []string{"pid"}, Rename: map[string]string{"echo": "say"}}
	})})
	s := r.ready("a")
	dotted := publicName("a", "x.y")
	if diff := cmp.Diff([]string{"mcp__a__say", "mcp__a__x_y", dotted}, r.names("mcp__")); diff != "" {
		t.Fatal(diff)
	}
	for name, want := range map[string]string{"mcp__a__say": "echo: 1", "mcp__a__x_y": "x_y: 1", dotted: "x.y: 1"} {
		if got := r.text(name, map[string]any{"text": "1"}); got != want {
			t.Errorf("%s = %q", name, got)
		}
	}
	if !strings.Contains(s.Detail, dotted+" is x.y") {
		t.Errorf("the mapping is not shown: %s", s.Detail)
	}
}

func TestE25_AClashLeavesTheFirst(t *testing.T) {
	taken := core.Plugin[struct{}]{Name: "taken", Apply: func(c *core.Context, _ struct{}) error {
		return c.Tools().Define(core.Tool{Name: "mcp__a__echo", Description: "mine", Run: neverRun})
	}}
	r := start(t, map[string]ServerConfig{"a": fakeServer()}, coretest.With(taken, struct{}{}))
	s := r.ready("a")
	if r.Tool("mcp__a__echo").Description != "mine" || !strings.Contains(s.Detail, "echo is held back") {
		t.Errorf("status = %+v", s)
	}
}

func TestE25_NamesThatDifferInCaseAreShown(t *testing.T) {
	own := core.Plugin[struct{}]{Name: "own", Apply: func(c *core.Context, _ struct{}) error {
		return c.Tools().Define(core.Tool{Name: "MCP__a__pid", Description: "mine", Run: neverRun})
	}}
	r := start(t, map[string]ServerConfig{"a": fakeServer(), "A": fakeServer()}, coretest.With(own, struct{}{}))
	r.ready("a")
	r.ready("A")
	for server, notes := range map[string][]string{
		"a": {"mcp__a__echo differs in case only from mcp__A__echo", "mcp__a__pid differs in case only from MCP__a__pid, mcp__A__pid"},
		"A": {"mcp__A__echo differs in case only from mcp__a__echo"},
	} {
		for _, note := range notes {
			if detail := r.status(server).Detail; !strings.Contains(detail, note) {
				t.Errorf("%s: %s\nwant in it: %s", server, detail, note)
			}
		}
	}
	r.update(map[string]ServerConfig{"a": fakeServer()})
	eventually(t, "the other is gone", func() bool { return !strings.Contains(r.status("a").Detail, "mcp__A__") })
}

func TestE21_E26_SecretsStayOutOfSight(t *testing.T) {
	const canary = "canary-5f1c9a"
	cfg := with(fakeServer("-noise"), func(c *ServerConfig) { c.Env["API_TOKEN"] = canary })
	r := start(t, map[string]ServerConfig{
		"a": cfg,
		"b": {Command: "/no/such/" + canary, Env: map[string]string{"TOKEN": canary}},
	})
	r.ready("a")
	eventually(t, "b fails", func() bool { return r.status("b").Error != "" })
	status, err := json.Marshal(r.service.Status(t.Context()))
	if err != nil || strings.Contains(string(status), canary) {
		t.Errorf("status: %s, %v", status, err)
	}
	if got := r.text("mcp__a__env", nil); !strings.Contains(got, canary) {
		t.Error("the server did not get its token")
	}
}

// A server of the modern era that is slow to start is taken for a legacy one,
// but only this time.
func TestM21_ASlowStartSaysNothingAboutTheEra(t *testing.T) {
	r := start(t, nil)
	r.service.hub.probe = 20 * time.Millisecond
	cfg := with(fakeServer("-modern", "-slow-start", "200ms"), func(c *ServerConfig) { c.Era = eraAuto })
	f, err := core.Load(r.Host.Root(), core.Plugin[struct{}]{Name: "connects", Needs: core.Needs(core.MCP),
		Apply: func(c *core.Context, _ struct{}) error { return r.service.Connect(c, "a", encode(cfg)) }}, struct{}{})
	if err == nil {
		err = f.Ready(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	if s := r.ready("a"); eraOf(s.Era) != eraLegacy {
		t.Fatalf("era = %s", s.Era)
	}
	eventually(t, "it is remembered", func() bool { return len(recall(memoryFile(r.state, "a"), cfg.withDefaults()).Tools) > 0 })
	if got := recall(memoryFile(r.state, "a"), cfg.withDefaults()).Era; got != "" {
		t.Errorf("the era that is remembered is %q, want none", got)
	}
}

// A list from an earlier run is byte by byte what the server sent, so that the
// same list from the server itself changes nothing.
func TestRule6_M29_TheListOfAnEarlierRunIsTheSame(t *testing.T) {
	state := t.TempDir()
	cfg := map[string]ServerConfig{"a": with(fakeServer("-spaced"), func(c *ServerConfig) { c.Lazy = true })}
	startIn(t, state, cfg).ready("a")
	eventually(t, "it is remembered", func() bool { return len(recall(memoryFile(state, "a"), cfg["a"].withDefaults()).Tools) > 0 })
	r := startIn(t, state, cfg)
	if s := r.ready("a"); s.PID != 0 {
		t.Fatalf("the server runs already: %+v", s)
	}
	before := r.Host.Root().Tools().Version()
	r.text("mcp__a__echo", map[string]any{"text": "x"})
	if after := r.Host.Root().Tools().Version(); r.status("a").PID == 0 || after != before {
		t.Errorf("version %d, then %d: the same list was taken for another one", before, after)
	}
}
