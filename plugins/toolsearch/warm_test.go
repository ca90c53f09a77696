package toolsearch

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/coretest"
	"github.com/agentd-host/agentd/core/llm"
)

// warm lists what a step shows beyond the bridge tools.
func (r *rig) warm() []string {
	r.t.Helper()
	return without(r.shows(), "tool_")
}

func TestRule09_WhatTouches(t *testing.T) {
	failing := core.Tool{Name: "a_failing_tool", Run: func(context.Context, *core.Invocation) (core.Result, error) {
		return core.ErrorResult(core.CodeFailed, "", "it broke"), nil
	}}
	writing := core.Tool{Name: "a_writing_tool", Traits: core.Traits{Effect: core.Write}}
	r := start(t, Config{}, toolset(append(many(40), failing, writing)...))
	r.step()
	for _, c := range []struct{ what, name, args, want string }{
		{"describe", describeName, `{"name":"create_invoice_00"}`, "create_invoice_00"},
		{"call through the bridge", callName, `{"name":"list_ticket_06","arguments":{"id":3}}`, "list_ticket_06"},
		{"direct call", "update_invoice_03", `{"id":3}`, "update_invoice_03"},
		{"call that failed inside", callName, `{"name":"a_failing_tool"}`, "a_failing_tool"},
	} {
		r.call(c.name, c.args)
		if got := r.warm(); !slices.Contains(got, c.want) {
			t.Errorf("%s: %s is not warm: %v", c.what, c.want, got)
		}
	}
	before := r.warm()
	r.Host.Root().Tools().Execute(r.ctx(), core.Call{
		Name: "delete_order_25", Args: json.RawMessage(`{"id":1}`), Viewer: r.Viewer, Via: core.ViaPerson,
	})
	for _, c := range [][2]string{
		{callName, `{"name":"create_report_28","arguments":{"id":"x"}}`}, // schema failed
		{"create_report_28", `{"id":"x"}`},
		{callName, `{"name":"a_writing_tool"}`}, // refused, since nobody decides
		{callName, `{"name":"no_such_tool"}`},
		{"no_such_tool", `{}`},
		{describeName, `{"name":"no_such_tool"}`},
	} {
		r.call(c[0], c[1])
	}
	if diff := cmp.Diff(before, r.warm()); diff != "" {
		t.Errorf("refused and failed calls touched: %s", diff)
	}
}

// TestT36_BlockedSearch: a hook that blocks the result of a search blocks what
// it found.
func TestT36_BlockedSearch(t *testing.T) {
	blocker := core.Plugin[struct{}]{Name: "blocker", Apply: func(c *core.Context, _ struct{}) error {
		return core.ToolAfter.On(c, func(_ context.Context, f *core.ToolFinal) error {
			if f.Call.Name == toolSearchName {
				*f.Result = core.ErrorResult(core.CodeDenied, f.Call.Name, "blocked")
			}
			return nil
		})
	}}
	r := start(t, Config{}, toolset(many(40)...), coretest.With(blocker, struct{}{}))
	r.step()
	r.call(toolSearchName, `{"query":"invoice"}`)
	if got := r.warm(); len(got) > 0 {
		t.Errorf("warm: %v", got)
	}
}

// TestRule09_ParallelSearches land in the order of the calls, whichever ends
// first.
func TestRule09_ParallelSearches(t *testing.T) {
	r := start(t, Config{MaxDiscoveredKeep: ptr(0), MaxSearchResults: ptr(1)}, toolset(many(40)...))
	r.step()
	queries := []string{"delete invoice", "list picture", "update order", "create report"}
	var m llm.Message
	m.Role = llm.Assistant
	for i, q := range queries {
		m.Parts = append(m.Parts, llm.Part{Kind: llm.ToolCallPart, Call: &llm.ToolCall{
			ID: fmt.Sprint("p", i), Name: toolSearchName, Args: fmt.Sprintf(`{"query":%q}`, q),
		}})
	}
	r.history = append(r.history, m)
	var wg sync.WaitGroup
	for i := range slices.Backward(queries) {
		wg.Go(func() {
			r.Host.Root().Tools().Execute(r.ctx(), core.Call{
				ID: m.Parts[i].Call.ID, Name: toolSearchName, Args: json.RawMessage(m.Parts[i].Call.Args),
				Viewer: r.Viewer, Via: core.ViaModel, Turn: fmt.Sprint("turn", r.turn),
			})
		})
	}
	wg.Wait()
	got := r.warm()
	for i, prefix := range []string{"delete_invoice", "list_picture", "update_order", "create_report"} {
		if len(got) != 4 || !strings.HasPrefix(got[i], prefix) {
			t.Fatalf("got %v", got)
		}
	}
}

func TestRule10_Cap(t *testing.T) {
	for name, c := range map[string]struct {
		reveal string
		want   []string
	}{
		"bridge": {revealBridge, nil},
		"append": {revealAppend, []string{"list_invoice_02", "update_invoice_03", "create_ticket_04"}},
	} {
		r := start(t, Config{MaxDiscoveredKeep: ptr(4), Reveal: c.reveal}, toolset(many(40)...))
		r.step()
		for i := range 5 {
			r.call(describeName, fmt.Sprintf(`{"name":%q}`, many(40)[i].Name))
		}
		if got := r.warm(); !slices.Equal(got, c.want) && len(got)+len(c.want) > 0 {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}

func TestRule10_DirectToolsTakeNoSlot(t *testing.T) {
	r := start(t, Config{MaxDiscoveredKeep: ptr(1)}, toolset(append(many(40), core.Tool{Name: "read_file"})...))
	r.step()
	r.call(describeName, `{"name":"create_invoice_00"}`)
	r.call("read_file", `{}`)
	r.call(describeName, `{"name":"read_file"}`)
	if got := r.warm(); !slices.Contains(got, "create_invoice_00") {
		t.Errorf("got %v", got)
	}
}

// TestT41_RemovedToolFreesItsSlot, but not one whose server is away.
func TestT41_RemovedToolFreesItsSlot(t *testing.T) {
	var server *core.Context
	var state *core.SourceControl
	away := core.Tool{Name: "mcp__a__away", Source: core.Source{Kind: core.FromMCP, Name: "a"}}
	plugin := core.Plugin[struct{}]{Name: "server", Apply: func(c *core.Context, _ struct{}) (err error) {
		server = c
		state, err = c.Tools().Source(core.FromMCP, "a")
		if err != nil {
			return err
		}
		return define(c, core.Tool{Name: "going"}, away)
	}}
	r := start(t, Config{MaxDiscoveredKeep: ptr(2)}, toolset(many(40)...), coretest.With(plugin, struct{}{}))
	r.step()
	r.call(describeName, `{"names":["going","mcp__a__away"]}`)
	state.Set(core.SourceUnavailable)
	if got := r.warm(); len(got) != 2 {
		t.Fatalf("warm: %v", got)
	}
	if err := server.Tools().Remove("going"); err != nil {
		t.Fatal(err)
	}
	if got := r.warm(); !slices.Equal(got, []string{"mcp__a__away"}) {
		t.Errorf("warm: %v", got)
	}
	if res := r.call("going", `{}`); res.Err == nil || res.Err.Code != core.CodeUnknown {
		t.Errorf("calling it: %v", res.Err)
	}
	if err := define(server, core.Tool{Name: "going"}); err != nil {
		t.Fatal(err)
	}
	if got := r.warm(); !slices.Equal(got, []string{"mcp__a__away"}) {
		t.Errorf("back again: %v", got)
	}
}

// TestT01_Compaction: what is warm does not depend on the history.
func TestT01_Compaction(t *testing.T) {
	r := start(t, Config{}, toolset(many(40)...))
	r.step()
	found := r.search("delete a contact").names()
	r.history = []llm.Message{llm.UserText("a summary of what was before")}
	if diff := cmp.Diff(found, r.warm()); diff != "" {
		t.Error(diff)
	}
}

// TestRule11_Restart: another process finds the set in the session.
func TestRule11_Restart(t *testing.T) {
	r := start(t, Config{}, toolset(many(40)...))
	r.step()
	r.search("delete a contact")
	want := r.warm()
	again := start(t, Config{}, toolset(many(40)...))
	again.log = r.log
	if diff := cmp.Diff(want, again.warm()); diff != "" {
		t.Error(diff)
	}
	if n := len(again.log.events); n != 1 {
		t.Errorf("%d events", n)
	}
}

// TestRule11_Recovery from a history without events, with an answer that was
// cut off.
func TestRule11_Recovery(t *testing.T) {
	for name, history := range map[string][]llm.Message{
		"cut answer": exchange(toolSearchName, `{"query":"x"}`, `{"query":"x","tools":[{"name":"create_invoice_00","description":"a","parameters":{"type":"obj`),
		"dsh answer": exchange(searchToolsName, `{}`, `{"matches":[{"name":"create_invoice_00","score":1},{"name":"gone"}]}`),
		"bridge":     exchange(callName, `{"name":"create_invoice_00"}`, `{"ok":true}`),
		"call":       exchange("create_invoice_00", `{}`, `done`),
		"string":     exchange(callName, `"{\"name\":\"create_invoice_00\"}"`, `{"ok":true}`),
	} {
		r := start(t, Config{}, toolset(many(40)...))
		r.history = history
		if got := r.warm(); !slices.Equal(got, []string{"create_invoice_00"}) {
			t.Errorf("%s: %v", name, got)
		}
		if len(r.log.events) != 1 || !strings.Contains(string(r.log.events[0].Data), touchRecover) {
			t.Errorf("%s: events %v", name, r.log.events)
		}
	}
}

func exchange(name, args, answer string) []llm.Message {
	return []llm.Message{
		llm.UserText("do it"),
		{Role: llm.Assistant, Parts: []llm.Part{{Kind: llm.ToolCallPart, Call: &llm.ToolCall{ID: "1", Name: name, Args: args}}}},
		{Role: llm.ToolRole, Parts: []llm.Part{{Kind: llm.ToolResultPart, Result: &llm.ToolResult{
			CallID: "1", Name: name, Parts: []llm.Part{llm.Text(answer)},
		}}}},
	}
}

// TestRule12_ClearedIsNotRecovered: what was cleared does not come back from
// messages that stayed.
func TestRule12_ClearedIsNotRecovered(t *testing.T) {
	r := start(t, Config{}, toolset(many(40)...))
	r.history = exchange("create_invoice_00", `{}`, `done`)
	r.log.events = []core.SessionEvent{{Kind: core.EventCleared, Data: json.RawMessage(`{"Session":"s1","Types":["toolsearch"]}`)}}
	if got := r.warm(); len(got) > 0 {
		t.Errorf("got %v", got)
	}
}

func FuzzNamesIn(f *testing.F) {
	f.Add(`{"tools":[{"name":"a","parameters":{"x":1}},{"na`)
	f.Fuzz(func(t *testing.T, text string) {
		for _, n := range namesIn(text) {
			if !strings.Contains(text, `"tools":`) && !strings.Contains(text, `"matches":`) {
				t.Errorf("%q in %q", n, text)
			}
		}
	})
}

// TestT06_Clear: only where messages are cleared, and only if that worked.
func TestT06_Clear(t *testing.T) {
	for name, c := range map[string]struct {
		request core.ClearRequest
		fails   bool
		kept    bool
	}{
		"everything":    {core.ClearRequest{Session: "s1"}, false, false},
		"messages":      {core.ClearRequest{Session: "s1", Types: []string{"messages"}}, false, false},
		"all sessions":  {core.ClearRequest{All: true}, false, false},
		"images":        {core.ClearRequest{Session: "s1", Types: []string{"images"}}, false, true},
		"failed":        {core.ClearRequest{Session: "s1"}, true, true},
		"another":       {core.ClearRequest{Session: "s2"}, false, true},
		"this plugin's": {core.ClearRequest{Session: "s1", Types: []string{"toolsearch"}}, false, false},
	} {
		r := start(t, Config{}, toolset(many(40)...))
		r.step()
		r.search("invoice")
		want := r.warm()
		ctx := &hosted{r.ctx(), r.Host.Root()}
		_, err := core.MemoryClear.Run(ctx, c.request, func(context.Context, core.ClearRequest) (core.ClearReport, error) {
			if c.fails {
				return nil, fmt.Errorf("no")
			}
			if !c.kept {
				r.log.events = nil
				r.history = nil
			}
			return nil, nil
		})
		if (err != nil) != c.fails {
			t.Error(name, err)
		}
		if got := r.warm(); (len(got) > 0) != c.kept || c.kept && !slices.Equal(got, want) {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestT07_NoSession: callers without one share nothing.
func TestT07_NoSession(t *testing.T) {
	r := start(t, Config{}, toolset(many(40)...))
	r.Viewer.Session = ""
	r.step()
	if len(r.search("invoice").Tools) == 0 {
		t.Fatal("nothing found")
	}
	if got := r.warm(); len(got) > 0 {
		t.Errorf("warm: %v", got)
	}
}

func TestRule12_SessionsAreApart(t *testing.T) {
	r := start(t, Config{}, toolset(many(40)...))
	r.step()
	r.search("invoice")
	r.Viewer.Session, r.log, r.history = "s2", &memoryLog{id: "s2"}, nil
	if got := r.warm(); len(got) > 0 {
		t.Errorf("warm: %v", got)
	}
}

func TestLeastRecentSessionsLeaveMemory(t *testing.T) {
	k := newSessions()
	for _, id := range []string{"a", "b", "a", "c"} {
		k.get(id, "", 2)
	}
	if k.peek("b") != nil || k.peek("a") == nil || k.peek("c") == nil {
		t.Error("the wrong session left")
	}
}

// TestASessionStaysForItsTurn: what its calls touch is not lost, and directCall
// holds, however many others there are.
func TestASessionStaysForItsTurn(t *testing.T) {
	r := start(t, Config{MaxSessions: ptr(1), DirectCall: directDeny}, toolset(many(40)...))
	r.step()
	for i := range 3 {
		other := r.input()
		other.Viewer.Session, other.Turn = fmt.Sprint("other", i), fmt.Sprint("theirs", i)
		r.surface(other)
	}
	r.call(toolSearchName, `{"query":"invoice","limit":1}`)
	if res := r.call("list_ticket_06", `{"id":1}`); res.Err == nil {
		t.Error("a tool that was not found was run")
	}
	if got := r.warm(); len(got) != 1 {
		t.Errorf("found and kept: %v", got)
	}
	sessions := r.service().l.sessions
	r.finish()
	sessions.get("next", "turn", 1)
	if sessions.peek("s1") != nil || sessions.peek("other0") == nil {
		t.Error("not the one session left that is in no turn")
	}
	sessions.ended("other0", "an older turn")
	if sessions.get("last", "", 1); sessions.peek("other0") == nil || sessions.peek("last") == nil {
		t.Error("a session left in mid-turn, or before its first")
	}
}

// TestT06_ClearWithoutALog: a session that nobody keeps has its set in memory
// alone.
func TestT06_ClearWithoutALog(t *testing.T) {
	r := start(t, Config{}, toolset(many(40)...))
	r.unlogged = true
	r.step()
	r.search("invoice")
	for _, c := range []struct {
		types []string
		kept  bool
	}{{[]string{"images"}, true}, {nil, false}} {
		_, err := core.MemoryClear.Run(&hosted{r.ctx(), r.Host.Root()}, core.ClearRequest{Session: "s1", Types: c.types},
			func(context.Context, core.ClearRequest) (core.ClearReport, error) { return nil, nil })
		if err != nil {
			t.Fatal(err)
		}
		r.history = nil
		if got := r.warm(); (len(got) > 0) != c.kept {
			t.Errorf("clearing %v: %v", c.types, got)
		}
	}
}

func TestMaxSessions(t *testing.T) {
	r := start(t, Config{MaxSessions: ptr(2)}, toolset(many(40)...))
	logs := map[string]*memoryLog{}
	for _, id := range []string{"s1", "s2", "s3", "s1"} {
		if logs[id] == nil {
			logs[id] = &memoryLog{id: id}
		}
		r.Viewer.Session, r.log, r.history = id, logs[id], nil
		r.step()
		r.search("invoice")
		r.finish()
	}
	if got := r.warm(); len(got) == 0 {
		t.Error("the events of a session that left memory did not bring its tools back")
	}
}

// TestWarmSetModel compares the set with a plain model under random use.
func TestWarmSetModel(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 7))
		cap, halve := r.IntN(6), r.IntN(2) == 0
		var w warmSet
		var recent []string // latest last
		for range 60 {
			names := []string{}
			for range r.IntN(4) {
				if n := fmt.Sprint("t", r.IntN(9)); !slices.Contains(names, n) {
					names = append(names, n)
				}
			}
			w.touch(names, limits{cap: cap, halve: halve})
			for _, n := range slices.Backward(names) {
				recent = append(slices.DeleteFunc(recent, func(o string) bool { return o == n }), n)
			}
			got := w.names()
			if cap > 0 && len(got) > cap {
				t.Fatalf("%d tools, the cap is %d", len(got), cap)
			}
			if !slices.Equal(got, slices.Compact(slices.Clone(got))) {
				t.Fatalf("twice in %v", got)
			}
			want := recent
			if cap > 0 && !halve {
				want = recent[max(0, len(recent)-cap):]
			}
			for _, n := range got {
				if !slices.Contains(want, n) {
					t.Fatalf("seed %d: %v holds %s, the latest are %v", seed, got, n, want)
				}
			}
			if !halve && len(got) != len(want) {
				t.Fatalf("seed %d: %v, want %v", seed, got, want)
			}
			for i := range min(len(names), max(cap, 1)) {
				if cap > 0 && !slices.Contains(got, names[i]) {
					t.Fatalf("seed %d: %s was just found and is gone from %v", seed, names[i], got)
				}
			}
		}
	}
}
