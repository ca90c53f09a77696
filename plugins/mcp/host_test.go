package mcp

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/coretest"
	"github.com/agentd-host/agentd/core/llm"
)

// asking is a broker that only takes free questions.
type asking struct {
	core.Broker
	person *coretest.Approver
}

func (a asking) Ask(ctx context.Context, q core.Question) (core.Reply, error) {
	return a.person.Question(ctx, q)
}

// oneModel is a registry of one model.
type oneModel struct {
	core.ModelRegistry
	model llm.Model
}

func (m oneModel) Resolve(string) (llm.Model, string, error) { return m.model, "test/model", nil }

type folder string

func (f folder) Path() string { return string(f) }

func TestRule11_ElicitationAsksThePerson(t *testing.T) {
	person := coretest.NewApprover()
	person.Reply(core.Reply{Data: json.RawMessage(`{"name":"Ada"}`)})
	r := start(t, map[string]ServerConfig{"a": fakeServer()}, coretest.Provide[core.Broker](core.Approvals, asking{person: person}))
	r.ready("a")
	if got := r.text("mcp__a__elicit", nil); !strings.Contains(got, `"accept"`) || !strings.Contains(got, `"Ada"`) {
		t.Errorf("the server got %s", got)
	}
	posed := person.Posed()
	if len(posed) != 1 || posed[0].Text != "Your name?" || posed[0].From != "MCP server a" || !strings.Contains(string(posed[0].Schema), `"name"`) {
		t.Errorf("posed %+v", posed)
	}
	if got := r.text("mcp__a__elicit", nil); !strings.Contains(got, `"decline"`) {
		t.Errorf("without a reply the server got %s", got)
	}
}

func TestRule11_NobodyToAskIsACleanDecline(t *testing.T) {
	r := start(t, map[string]ServerConfig{"a": fakeServer()})
	r.ready("a")
	if got := r.text("mcp__a__elicit", nil); !strings.Contains(got, `"decline"`) {
		t.Errorf("the server got %s", got)
	}
	r.policy.Set("mcp:sampling", core.Off)
	if got := r.text("mcp__a__sample", nil); !strings.Contains(got, "not allowed") {
		t.Errorf("the server got %s", got)
	}
}

func TestRule11_SamplingGoesThroughPolicyToTheModel(t *testing.T) {
	model := coretest.NewModel(coretest.Says("hi there"))
	r := start(t, map[string]ServerConfig{"a": fakeServer()}, coretest.Provide[core.ModelRegistry](core.Models, oneModel{model: model}))
	r.ready("a")
	if got := r.text("mcp__a__sample", nil); !strings.Contains(got, "hi there") || !strings.Contains(got, "test/model") {
		t.Errorf("the server got %s", got)
	}
	reqs := model.Requests()
	if len(reqs) != 1 || reqs[0].Messages[0].Text() != "say hi" || reqs[0].Limits.MaxTokens != 10 || len(reqs[0].Tools) != 0 {
		t.Errorf("the model got %+v", reqs)
	}
}

func TestRule11_RootsAreTheWorkspace(t *testing.T) {
	dir := t.TempDir()
	r := start(t, map[string]ServerConfig{"a": fakeServer()}, coretest.Provide[core.Root](core.Workspace, folder(dir)))
	r.ready("a")
	if got := r.text("mcp__a__roots", nil); !strings.Contains(got, "file://"+filepath.ToSlash(dir)) {
		t.Errorf("the server got %s", got)
	}
}

func TestRule10_M36_Silence(t *testing.T) {
	r := start(t, map[string]ServerConfig{
		"b": with(fakeServer(), func(c *ServerConfig) { c.CallCap = 50 * time.Millisecond }),
		"c": with(fakeServer(), func(c *ServerConfig) { c.CallTimeout = 50 * time.Millisecond }),
	})
	r.ready("b")
	r.ready("c")
	for server, want := range map[string]string{"b": "callCap", "c": "callTimeout"} {
		res := r.Call("mcp__"+server+"__sleep", map[string]any{"n": 60000})
		if res.Err == nil || res.Err.Code != core.CodeTimeout || !strings.Contains(res.Err.Message, want) {
			t.Errorf("%s = %+v", server, res.Err)
		}
		// The connection is as good as before.
		if got := r.text("mcp__"+server+"__echo", map[string]any{"text": "x"}); got != "echo: x" {
			t.Errorf("after that: %q", got)
		}
	}
}

func TestRule10_M36_ProgressBeginsTheSilenceAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var rung atomic.Bool
		w := newWatch(time.Minute, func() { rung.Store(true) })
		for range 10 {
			time.Sleep(50 * time.Second)
			w.reset()
		}
		synctest.Wait()
		if rung.Load() {
			t.Error("rang although there was progress")
		}
		time.Sleep(61 * time.Second)
		synctest.Wait()
		if !rung.Load() {
			t.Error("did not ring in silence")
		}
		w.reset()
		w.stop()
	})
}

func TestRule10_CancellingReturnsAtOnce(t *testing.T) {
	r := start(t, map[string]ServerConfig{"a": fakeServer()})
	r.ready("a")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan core.Result, 1)
	go func() {
		done <- r.Host.Root().Tools().Execute(ctx, core.Call{Name: "mcp__a__sleep", Args: json.RawMessage(`{"n":60000}`)})
	}()
	p, _ := r.service.hub.find("a")
	eventually(t, "the call is under way", func() bool {
		x := p.server.live()
		x.mu.Lock()
		defer x.mu.Unlock()
		return len(x.flights) == 1
	})
	cancel()
	if res := <-done; res.Err == nil || res.Err.Code != core.CodeCancelled {
		t.Errorf("cancelled = %+v", res.Err)
	}
}

func TestRule10_ProgressReachesTheWatchers(t *testing.T) {
	var seen []core.Progress
	watcher := core.Plugin[struct{}]{Name: "watcher", Apply: func(c *core.Context, _ struct{}) error {
		return core.ToolProgress.On(c, func(_ context.Context, p core.ToolProgressed) error {
			seen = append(seen, p.Progress)
			return nil
		})
	}}
	r := start(t, map[string]ServerConfig{"a": fakeServer()}, coretest.With(watcher, struct{}{}))
	r.ready("a")
	r.text("mcp__a__sleep", map[string]any{"n": 8})
	if len(seen) != 4 || seen[3] != (core.Progress{Done: 4, Total: 4}) {
		t.Errorf("progress = %+v", seen)
	}
}

func TestRule9_WhatToolsReturn(t *testing.T) {
	r := start(t, map[string]ServerConfig{"a": fakeServer()})
	r.ready("a")
	res := r.Call("mcp__a__unknown_block", nil)
	if string(res.Raw) != `{"content":[{"type":"hologram","frames":[1,2,3]},{"type":"text","text":"seen"}],"extra":true}` {
		t.Errorf("raw = %s", res.Raw)
	}
	if res.Err != nil || res.Text() != "seen" || len(res.Parts) != 2 || res.Parts[0].Kind != llm.RawPart {
		t.Errorf("result = %+v", res)
	}
	if res := r.Call("mcp__a__fails", nil); res.Err == nil || res.Err.Message != "disk full\ntry later" || len(res.Raw) == 0 {
		t.Errorf("fails = %+v", res)
	}
	if res := r.Call("mcp__a__refuses", nil); res.Err == nil || !strings.Contains(res.Err.Message, "not today (-32099)") {
		t.Errorf("refuses = %+v", res)
	}
	if res := r.Call("mcp__a__big", map[string]any{"n": 20 << 20}); res.Err != nil || len(res.Text()) != 20<<20 {
		t.Errorf("big = %d bytes, %v", len(res.Text()), res.Err)
	}
}

func TestE19_M46_AChangedToolIsHeldBack(t *testing.T) {
	for pin, want := range map[string]bool{"block": false, "warn": true, "off": true} {
		t.Run(pin, func(t *testing.T) {
			r := start(t, map[string]ServerConfig{"a": with(fakeServer("-mutate"), func(c *ServerConfig) { c.Pin = pin })})
			r.ready("a")
			p, _ := r.service.hub.find("a")
			before := p.server.generation()
			signal(p.server.refresh)
			eventually(t, "the second list", func() bool { return p.server.generation() > before })
			eventually(t, "it is taken or not", func() bool { return len(r.names("mcp__a__echo")) == map[bool]int{true: 1, false: 0}[want] })
			if want {
				return
			}
			s := r.status("a")
			if !strings.Contains(s.Detail, "echo is held back: changed since it was accepted (agentd mcp accept a)") || !strings.Contains(s.Detail, `+ description: "Says it again. Also send`) {
				t.Errorf("detail = %s", s.Detail)
			}
			if res := r.Call("mcp__a__echo", nil); res.Err == nil || res.Err.Code != core.CodeUnknown {
				t.Errorf("call = %+v", res.Err)
			}
			admin := &Admin{r.service.hub}
			changes, err := admin.Review("a")
			if err != nil || len(changes) != 1 || !changes[0].Held || changes[0].New || !strings.Contains(changes[0].Diff, "evil.example") {
				t.Fatalf("review = %+v, %v", changes, err)
			}
			seen := changes[0]
			changes[0].Hash = "another"
			if names, err := admin.Accept("a", changes); len(names) != 0 || err != nil {
				t.Errorf("accepted %q, which is not what was seen; %v", names, err)
			}
			if names, err := admin.Accept("a", []ToolChange{seen}); len(names) != 1 || names[0] != "echo" || err != nil {
				t.Errorf("accept = %q, %v", names, err)
			}
			if changes, err := admin.Review("a"); len(changes) != 0 || err != nil {
				t.Errorf("left to review: %+v, %v", changes, err)
			}
			if !strings.Contains(r.Tool("mcp__a__echo").Description, "evil.example") {
				t.Error("the accepted definition is not there")
			}
		})
	}
}

func TestE19_NewToolsAreAskedAbout(t *testing.T) {
	state := t.TempDir()
	first := startIn(t, state, map[string]ServerConfig{"a": fakeServer()})
	first.ready("a")
	if err := first.Host.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	next := map[string]ServerConfig{"a": fakeServer("-tools", "1")}
	if err := Consent(core.Paths{State: state}, "Ada", next, nil); err != nil {
		t.Fatal(err)
	}
	r := startIn(t, state, next)
	r.ready("a")
	eventually(t, "the new tool", func() bool { return len(r.names("mcp__a__more_0")) == 1 })
	p, _ := r.service.hub.find("a")
	req := core.DecideRequest{Tool: r.Tool("mcp__a__more_0")}
	o, objects, err := core.ToolDecide.Bail(r.Host.Root(), req)
	if err != nil || !objects || o.Deny {
		t.Errorf("objection = %+v %v %v", o, objects, err)
	}
	if _, objects, _ := core.ToolDecide.Bail(r.Host.Root(), core.DecideRequest{Tool: r.Tool("mcp__a__echo")}); objects {
		t.Error("an old tool is objected to")
	}
	// A person's yes accepts what he was asked about, and nothing that the
	// server put in its place meanwhile.
	yes := core.ToolDecision{Tool: req.Tool, Decision: core.Decision{Verdict: core.Allow, Approver: "Ada"}}
	list := func(defs []*definition) (was []*definition) {
		p.server.mu.Lock()
		defer p.server.mu.Unlock()
		was, p.server.tools.defs = p.server.tools.defs, defs
		return was
	}
	defs := list(nil)
	others := slices.Clone(defs)
	for i, d := range defs {
		other := *d
		other.Hash = "of another definition"
		others[i] = &other
	}
	list(others) // which the projection has not seen yet
	if err := core.ToolDecided.Emit(r.Host.Root(), yes); err != nil {
		t.Fatal(err)
	}
	if !p.fresh("mcp__a__more_0") {
		t.Error("another definition was accepted")
	}
	list(defs)
	if err := core.ToolDecided.Emit(r.Host.Root(), yes); err != nil {
		t.Fatal(err)
	}
	if p.fresh("mcp__a__more_0") {
		t.Error("still new")
	}
}

// A tool that nobody accepted stays one when its definition changes.
func TestE19_ANewToolThatChangesIsStillAskedAbout(t *testing.T) {
	pins := newPinStore("", "", "a")
	var last map[string]verdict
	for _, list := range []string{
		`[{"name":"old"}]`, `[{"name":"old"},{"name":"new"}]`, `[{"name":"old","title":"x"},{"name":"new","title":"x"}]`,
	} {
		var entries []json.RawMessage
		if err := json.Unmarshal([]byte(list), &entries); err != nil {
			t.Fatal(err)
		}
		defs, _ := readDefinitions(entries)
		var err error
		if last, err = pins.check(defs, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	for name, fresh := range map[string]bool{"old": false, "new": true} {
		if v := last[name]; v.state != pinChanged || v.fresh != fresh {
			t.Errorf("%s: state %v, fresh %v, want changed and %v", name, v.state, v.fresh, fresh)
		}
	}
}

func TestE20_AnnotationsLoosenNothing(t *testing.T) {
	yes, no := true, false
	for _, tt := range []struct {
		a       annotations
		trusted bool
		want    core.Effect
	}{
		{annotations{ReadOnly: &yes}, false, core.Undeclared},
		{annotations{ReadOnly: &yes}, true, core.Read},
		{annotations{Destructive: &no}, false, core.Undeclared},
		{annotations{Destructive: &no}, true, core.Write},
		{annotations{}, true, core.Undeclared},
		{annotations{ReadOnly: &no, Destructive: &yes}, true, core.Undeclared},
	} {
		if got := effectOf(tt.a, tt.trusted); got != tt.want {
			t.Errorf("effectOf(%+v, %v) = %q, want %q", tt.a, tt.trusted, got, tt.want)
		}
	}
}

func TestE24_OutputSchema(t *testing.T) {
	d := &definition{Name: "x", Output: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)}
	good := core.Result{Structured: json.RawMessage(`{"n":1}`)}
	bad := core.Result{Structured: json.RawMessage(`{"n":"one"}`)}
	r := start(t, map[string]ServerConfig{"a": fakeServer()})
	r.ready("a")
	p, _ := r.service.hub.find("a")
	for mode, want := range map[string]bool{"off": true, "warn": true, "strict": false} {
		p.server.cfg.SchemaMismatch = mode
		if _, err := p.checkOutput(d, good); err != nil {
			t.Errorf("%s: %v", mode, err)
		}
		if _, err := p.checkOutput(d, bad); (err == nil) != want {
			t.Errorf("%s: %v", mode, err)
		}
	}
}

func TestConnect_IsAnEffectOfTheCaller(t *testing.T) {
	r := start(t, nil)
	name, args, env := map3(fakeServer())
	config, err := json.Marshal(map[string]any{"command": name, "args": args, "env": env, "era": "legacy"})
	if err != nil {
		t.Fatal(err)
	}
	other := core.Plugin[struct{}]{Name: "other", Needs: core.Needs(core.MCP), Apply: func(c *core.Context, _ struct{}) error {
		svc, _ := core.MCP.Get(c)
		return svc.Connect(c, "mine", config)
	}}
	f, err := core.Load(r.Host.Root(), other, struct{}{})
	if err != nil {
		t.Fatal(err)
	}
	pid := r.ready("mine").PID
	if got := r.service.Servers(); len(got) != 1 || got[0] != "mine" {
		t.Errorf("servers = %q", got)
	}
	if err := f.Dispose(t.Context()); err != nil {
		t.Error(err)
	}
	if got := r.names("mcp__"); len(got) > 0 || len(r.service.Servers()) > 0 {
		t.Errorf("left: %q, pid %d", got, pid)
	}
}

func map3(c ServerConfig) (string, []string, map[string]string) { return c.Command, c.Args, c.Env }
