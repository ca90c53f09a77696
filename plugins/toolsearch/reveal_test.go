package toolsearch

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/coretest"
	"github.com/agentd-host/agentd/core/llm"
)

// prefixOf is what a provider caches before the messages.
func prefixOf(s core.Surface) []string {
	var lines []string
	for i := range s.Tools {
		t := &s.Tools[i]
		lines = append(lines, fmt.Sprintf("%s %s %s", t.Name, t.Description, t.Parameters))
	}
	for i := range s.Deferred {
		lines = append(lines, "deferred "+s.Deferred[i].Name)
	}
	return append(lines, fmt.Sprint(s.Context))
}

// TestRule25_PrefixChanges walks 30 turns, in each of which something is
// found and called, and counts how often the cached prefix changes.
func TestRule25_PrefixChanges(t *testing.T) {
	for _, mode := range []string{revealAppend, revealBridge, revealNative} {
		t.Run(mode, func(t *testing.T) {
			r := start(t, Config{Reveal: mode}, toolset(many(200)...))
			r.model.Capabilities.NativeDeferral = mode == revealNative
			reveals, changes, appended := 0, 0, 0
			last := prefixOf(r.step())
			for turn := range 30 {
				r.nextTurn()
				tool := many(200)[turn*37%200].Name
				known := slices.Contains(toolNames(r.step().Tools), tool)
				r.call(toolSearchName, fmt.Sprintf(`{"query":%q,"limit":2}`, tool))
				next := prefixOf(r.step())
				if !known {
					reveals++
				}
				if !slices.Equal(next, last) {
					changes++
				}
				if len(next) > len(last) && slices.Equal(next[:len(last)-1], last[:len(last)-1]) {
					appended++
				}
				last = next
				r.call(callName, `{"name":"`+tool+`","arguments":{"id":1}}`)
				if after := prefixOf(r.step()); !slices.Equal(after, last) {
					t.Errorf("turn %d: a call changed the prefix", turn)
				}
			}
			t.Logf("%s: %d reveals, %d changes of the prefix, %d of them only added to its end", mode, reveals, changes, appended)
			switch {
			case mode != revealAppend && changes > 0:
				t.Errorf("%d changes", changes)
			case mode == revealAppend && (changes > reveals || changes == 0):
				t.Errorf("%d changes for %d reveals", changes, reveals)
			}
		})
	}
}

// TestT77_FoundOneByOne: the listing stays, definitions are only added.
func TestT77_FoundOneByOne(t *testing.T) {
	r := start(t, Config{}, toolset(many(60)...))
	last := r.step()
	for _, name := range []string{"create_invoice_00", "list_order_26", "update_ticket_07", "delete_report_29", "list_picture_22"} {
		r.call(describeName, `{"name":"`+name+`"}`)
		next := r.step()
		if listingOf(next) != listingOf(last) {
			t.Error("the listing changed")
		}
		if got, want := toolNames(next.Tools), append(toolNames(last.Tools), name); !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
		last = next
	}
}

func TestRule24_Native(t *testing.T) {
	r := start(t, Config{}, toolset(append(many(40), core.Tool{Name: "read_file"})...))
	r.model.Capabilities.NativeDeferral = true
	out := r.step()
	if !out.Native || len(out.Deferred) != 42 || !slices.Equal(without(toolNames(out.Tools), "tool_"), []string{"read_file"}) {
		t.Errorf("native %t, %d deferred, shown %v", out.Native, len(out.Deferred), toolNames(out.Tools))
	}
	found := r.call(toolSearchName, `{"query":"invoice"}`)
	var references []string
	for _, p := range found.Parts {
		if p.Kind == llm.ToolReferencePart {
			references = append(references, p.Name)
		}
	}
	if answer := decode[unifiedAnswer](t, found); len(references) == 0 || len(references) != len(answer.Tools) || references[0] != answer.Tools[0].Name {
		t.Errorf("found %v, referred to %v", answer.Tools, references)
	}
	r.model.Capabilities.NativeDeferral = false
	r.search("invoice")
	if out := r.step(); out.Native || len(out.Deferred) > 0 || len(out.Tools) < 6 {
		t.Errorf("another model: native %t, %v", out.Native, toolNames(out.Tools))
	}
}

// stateOf is what a search for a tool's name says of its state.
func (r *rig) stateOf(name string) string {
	r.t.Helper()
	a := decode[unifiedAnswer](r.t, r.call(toolSearchName, fmt.Sprintf(`{"query":%q,"limit":1}`, name)))
	if len(a.Tools) != 1 || a.Tools[0].Name != name {
		r.t.Fatalf("a search for %s found %v", name, a.names())
	}
	return a.Tools[0].State
}

// TestRule14_NativeKnowsWhatIsReferredTo: where the provider defers, a model
// knows a tool as long as the conversation refers to it, whatever is warm.
func TestRule14_NativeKnowsWhatIsReferredTo(t *testing.T) {
	const name = "list_ticket_06"
	r := start(t, Config{SearchStreak: ptr(0), DirectCall: directDeny}, toolset(many(40)...))
	r.model.Capabilities.NativeDeferral = true
	r.step()
	for range 2 {
		res := r.call(callName, `{"name":"`+name+`","arguments":{"id":1}}`)
		if a := decode[called](t, res); !a.OK || a.Hint != "" {
			t.Errorf("run through the bridge: %+v", a)
		}
		r.step()
	}
	for _, want := range []string{"deferred", "visible", "visible"} {
		if got := r.stateOf(name); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		r.step()
	}
	if res := r.call(name, `{"id":1}`); res.Err != nil {
		t.Errorf("found: %s", res.Text())
	}
	r.history = []llm.Message{llm.UserText("a summary")}
	r.step()
	if res := r.call(name, `{"id":1}`); res.Err == nil {
		t.Error("called without a definition in sight")
	}
	if got := r.stateOf(name); got != "deferred" {
		t.Errorf("after compaction: %s", got)
	}
}

// TestRule25_NativePreload: what the first message asks for is part of the
// first request and of all that follow.
func TestRule25_NativePreload(t *testing.T) {
	cfg := Config{SearchStreak: ptr(0), MaxDiscoveredKeep: ptr(3), Preload: &Preload{Enabled: true, TopK: 2}}
	r := start(t, cfg, toolset(many(40)...))
	r.model.Capabilities.NativeDeferral = true
	r.first = "delete an invoice"
	r.history = []llm.Message{llm.UserText(r.first)}
	first := r.step()
	want := []string{"delete_invoice_01", "delete_invoice_33"}
	if got := without(toolNames(first.Tools), "tool_"); !slices.Equal(got, want) || len(first.Deferred) != 40 {
		t.Errorf("shown %v, deferred %v", got, toolNames(first.Deferred))
	}
	if got := r.stateOf(want[0]); got != "visible" {
		t.Error(got)
	}
	for _, query := range []string{"ticket", "contact", "order"} {
		r.search(query)
		if got := prefixOf(r.step()); !slices.Equal(got, prefixOf(first)) {
			t.Errorf("after a search for %s the prefix is %v", query, got)
		}
	}
	again := start(t, cfg, toolset(many(40)...))
	again.model, again.first, again.log = r.model, r.first, r.log
	again.history = []llm.Message{llm.UserText("a summary")}
	if got := prefixOf(again.step()); !slices.Equal(got, prefixOf(first)) {
		t.Errorf("after a restart the prefix is %v", got)
	}
	few := r.input()
	few.Model.MaxTools = 4
	if out := r.surface(few); len(out.Tools) != 4 || len(out.Deferred) != 41 {
		t.Errorf("a limit of 4: %v, %d deferred", toolNames(out.Tools), len(out.Deferred))
	}
}

// TestRule24_Bridge: the list stays as it is, and nothing tells the model to
// call what is not in it.
func TestRule24_Bridge(t *testing.T) {
	const name = "create_invoice_00"
	r := start(t, Config{Reveal: revealBridge, DirectCall: directDeny}, toolset(append(many(40), core.Tool{Name: "read_file"})...))
	out := r.step()
	if text := listingOf(out) + out.Tools[len(out.Tools)-3].Description; strings.Contains(text, "by its name") ||
		strings.Contains(text, "next step") || strings.Count(text, callName) != 2 {
		t.Error(text)
	}
	shown := []string{"read_file", catalogName, configureName, toolSearchName, describeName, callName}
	for i := range 3 {
		if got := toolNames(r.step().Tools); !slices.Equal(got, shown) {
			t.Errorf("shown: %v", got)
		}
		a := decode[unifiedAnswer](t, r.call(toolSearchName, `{"query":"`+name+`","limit":1}`))
		if a.Tools[0].State != "deferred" || !strings.Contains(a.Hint, "through "+callName) || strings.Contains(a.Hint, "directly") {
			t.Errorf("search %d: %+v", i, a)
		}
		if c := decode[called](t, r.call(callName, `{"name":"`+name+`","arguments":{"id":1}}`)); !c.OK || c.Hint != "" {
			t.Errorf("call %d: %+v", i, c)
		}
		if res := r.call(name, `{"id":1}`); res.Err == nil || !strings.Contains(res.Text(), "through "+callName) {
			t.Errorf("by its name: %s", res.Text())
		}
	}
	for range 8 {
		r.search("invoice")
	}
	if res := r.call(toolSearchName, `{"query":"invoice"}`); !strings.Contains(res.Text(), "through "+callName) {
		t.Errorf("refused: %s", res.Text())
	}
}

// TestRule24_NoCallerNoBridge: where the call tool is off, found tools are
// added, and nothing speaks of it.
func TestRule24_NoCallerNoBridge(t *testing.T) {
	r := start(t, Config{Reveal: revealBridge}, toolset(many(40)...), policy(nil, map[string]core.Policy{callName: core.Off}))
	out := r.step()
	res := r.call(toolSearchName, `{"query":"invoice","limit":1}`)
	if text := listingOf(out) + res.Text(); strings.Contains(text, callName) {
		t.Error(text)
	}
	if got := decode[unifiedAnswer](t, res).names()[0]; !slices.Contains(r.shows(), got) {
		t.Errorf("%s is not shown: %v", got, r.shows())
	}
}

// TestT69_SwitchOfModels: a model that takes few tools gets both deferral and
// the search, one that takes many neither.
func TestT69_SwitchOfModels(t *testing.T) {
	r := start(t, Config{MaxDirectTools: ptr(100)}, toolset(many(40)...))
	for range 3 {
		for max, deferred := range map[int]bool{0: false, 10: true} {
			r.model.MaxTools = max
			out := r.step()
			if search := slices.Contains(toolNames(out.Tools), toolSearchName); search != deferred || (listingOf(out) != "") != deferred {
				t.Errorf("a limit of %d: search %t, listing %q", max, search, listingOf(out))
			}
		}
	}
}

// TestT69_NoSearcherNoDeferral: a viewer that can't see the search tool sees
// all tools.
func TestT69_NoSearcherNoDeferral(t *testing.T) {
	r := start(t, Config{}, toolset(many(40)...), policy(nil, map[string]core.Policy{toolSearchName: core.Off}))
	if out := r.step(); len(out.Tools) != 40 || len(out.Context) > 0 {
		t.Errorf("got %v", toolNames(out.Tools))
	}
}

// TestUnloadAndBack: with the plugin gone nothing of it is left and all tools
// are shown; with it back the found tools are, too.
func TestUnloadAndBack(t *testing.T) {
	r := start(t, Config{}, toolset(many(40)...))
	r.step()
	r.search("delete contact")
	want := r.shows()
	if err := r.Fiber.Dispose(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := r.step(); len(got.Tools) != 40 || len(got.Context) > 0 {
		t.Errorf("unloaded: %v", toolNames(got.Tools))
	}
	for _, name := range []string{toolSearchName, searchToolsName, describeName, callName} {
		if res := r.call(name, `{}`); res.Err == nil || res.Err.Code != core.CodeUnknown {
			t.Errorf("%s: %v", name, res.Err)
		}
	}
	f, err := core.Load(r.Host.Root(), Plugin, Config{})
	if err == nil {
		err = f.Ready(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := r.shows(); !slices.Equal(got, want) {
		t.Errorf("back: %v, want %v", got, want)
	}
}

// TestProperties drives random sequences of searches, calls, clears, changes
// of the registry and of the configuration. After each the shown tools are
// unique and visible, the caps hold, and the same input gives the same bytes.
func TestProperties(t *testing.T) {
	configs := []string{`{}`, `{"maxDiscoveredKeep":3}`, `{"reveal":"bridge"}`, `{"maxDiscoveredKeep":2,"reveal":"append"}`,
		`{"enabled":"off"}`, `{"maxDirectTools":500}`, `{"preset":"aalis"}`, `{"preset":"dsh"}`, `{"preset":"chatluna"}`,
		`{"alwaysDirectTools":["create_*"]}`, `{"never":["list_*"]}`, `{"enabled":"on","maxDirectTools":0}`}
	for seed := range uint64(6) {
		random := rand.New(rand.NewPCG(seed, 11))
		var server *core.Context
		plugin := core.Plugin[struct{}]{Name: "server", Apply: func(c *core.Context, _ struct{}) error { server = c; return nil }}
		r := start(t, Config{}, toolset(many(40)...), coretest.With(plugin, struct{}{}))
		cfg, extra := Config{}, map[string]bool{}
		for range 40 {
			name := many(40)[random.IntN(40)].Name
			switch random.IntN(8) {
			case 0, 1:
				r.call(toolSearchName, fmt.Sprintf(`{"query":%q,"limit":%d}`, strings.ReplaceAll(name, "_", " "), random.IntN(9)))
			case 2:
				r.call(callName, `{"name":"`+name+`","arguments":{"id":1}}`)
			case 3:
				r.call(name, `{"id":2}`)
			case 4:
				r.call(describeName, `{"name":"extra_1"}`)
			case 5:
				name := fmt.Sprint("extra_", random.IntN(4))
				var err error
				if extra[name] {
					err = server.Tools().Remove(name)
				} else {
					err = define(server, core.Tool{Name: name, Description: "Extra."})
				}
				if err != nil {
					t.Fatal(err)
				}
				extra[name] = !extra[name]
			case 6:
				text := configs[random.IntN(len(configs))]
				cfg = parse(t, text)
				if err := core.Update(t.Context(), r.Fiber, cfg); err != nil {
					t.Fatal(text, err)
				}
			case 7:
				_, err := core.MemoryClear.Run(&hosted{r.ctx(), r.Host.Root()}, core.ClearRequest{Session: "s1"},
					func(context.Context, core.ClearRequest) (core.ClearReport, error) { return nil, nil })
				if err != nil {
					t.Fatal(err)
				}
				r.log.events, r.history = nil, nil
			}
			r.nextTurn()
			r.check(cfg)
		}
	}
}

func (r *rig) check(cfg Config) {
	r.t.Helper()
	out := r.step()
	again := r.step()
	if a, b := prefixOf(out), prefixOf(again); !slices.Equal(a, b) {
		r.t.Fatalf("the same input gave\n%v\nthen\n%v", a, b)
	}
	s, err := resolve(cfg)
	if err != nil {
		r.t.Fatal(err)
	}
	visible := toolNames(r.Tools())
	seen := make(map[string]bool)
	warm := 0
	for _, name := range toolNames(out.Tools) {
		if seen[name] || !slices.Contains(visible, name) || matchesAny(s.never, name) {
			r.t.Fatalf("%s is shown twice or is not visible: %v", name, toolNames(out.Tools))
		}
		seen[name] = true
		if !isOwn(name) && !matchesAny(s.alwaysDirect, name) {
			warm++
		}
	}
	if deferring := seen[s.searchTool]; deferring && s.maxKeep > 0 && warm > s.maxKeep {
		r.t.Fatalf("%d found tools are shown, the cap is %d: %v", warm, s.maxKeep, toolNames(out.Tools))
	}
}

// legalName makes a name of a tool of an MCP server.
func legalName(name string, n int) string {
	name = strings.Map(func(r rune) rune {
		if !core.ValidToolName(string(r)) {
			return '_'
		}
		return r
	}, name)
	if len(name) > 64 {
		return fmt.Sprintf("%s_%d", name[:58], n)
	}
	return name
}

// realTools are the tools of real MCP servers, one mode of each package.
func realTools(t testing.TB) []core.Tool {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join("..", "..", "..", "shared", "mcp", "catalogs", "*.json"))
	if len(files) == 0 {
		t.Skip("the catalogues of real MCP servers are not beside the repository")
	}
	var tools []core.Tool
	for _, file := range files {
		server := strings.TrimSuffix(filepath.Base(file), ".json")
		if slices.Contains([]string{"azure", "playwright", "n8n"}, server) {
			continue
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var list struct {
			Tools []struct {
				Name, Description string
				InputSchema       json.RawMessage
			}
		}
		if err := json.Unmarshal(data, &list); err != nil {
			t.Fatal(err)
		}
		for _, tool := range list.Tools {
			name := legalName(fmt.Sprintf("mcp__%s__%s", server, tool.Name), len(tools))
			tools = append(tools, core.Tool{
				Name: name, Description: tool.Description, Parameters: tool.InputSchema,
				Source: core.Source{Kind: core.FromMCP, Name: server},
			})
		}
	}
	return tools
}

// TestRealCatalogue: with hundreds of real tools the first request carries at
// most 3 % of the definitions' tokens, and answers fit a small context.
func TestRealCatalogue(t *testing.T) {
	tools := realTools(t)
	r := start(t, Config{SearchStreak: ptr(0)}, toolset(tools...))
	out := r.step()
	all, shown := 0, llm.EstimateTokens(llm.PartsText(out.Context))
	for i := range tools {
		all += toolTokens(&tools[i])
	}
	for i := range out.Tools {
		shown += toolTokens(&out.Tools[i])
	}
	t.Logf("%d tools of %d tokens; the first request carries %d tools and %d tokens (%.2f %%)",
		len(tools), all, len(out.Tools), shown, 100*float64(shown)/float64(all))
	if shown*100 > 3*all {
		t.Errorf("%d tokens of %d", shown, all)
	}
	for _, query := range []string{"", "create an issue", "query the database", "发送消息", "browser screenshot"} {
		res := r.Host.Root().Tools().Execute(r.ctx(), core.Call{
			Name: toolSearchName, Args: json.RawMessage(fmt.Sprintf(`{"query":%q,"limit":20}`, query)), Viewer: r.Viewer,
			Via: core.ViaModel, Turn: fmt.Sprint("turn", r.turn), MaxResult: 4300,
		})
		if !json.Valid([]byte(res.Text())) || len(res.Text()) > 4300 {
			t.Errorf("%q: %d bytes", query, len(res.Text()))
		}
		if a := decode[unifiedAnswer](t, res); len(a.Tools) == 0 {
			t.Errorf("%q found nothing", query)
		}
	}
}

// service is the plugin's search, as another plugin gets it.
func (r *rig) service() *Search {
	r.t.Helper()
	var search *Search
	reader := core.Plugin[struct{}]{Name: "reader", Needs: core.Needs(Service), Apply: func(c *core.Context, _ struct{}) error {
		search, _ = Service.Get(c)
		return nil
	}}
	f, err := core.Load(r.Host.Root(), reader, struct{}{})
	if err == nil {
		err = f.Ready(r.t.Context())
	}
	if err != nil {
		r.t.Fatal(err)
	}
	return search
}

func TestFindAndStats(t *testing.T) {
	r := start(t, Config{}, toolset(many(60)...))
	search := r.service()
	ctx := &hosted{r.ctx(), r.Host.Root()}
	found, err := search.Find(ctx, r.Viewer, Query{Text: "delete contact", Limit: 3, Explain: true})
	if err != nil || len(found) != 3 || !strings.HasPrefix(found[0].Name, "delete_contact") || found[0].Explanation.Fields["name"] == 0 {
		t.Errorf("got %+v, %v", found, err)
	}
	r.step()
	r.search("ticket")
	r.call("list_ticket_06", `{"id":1}`)
	r.search("zzyzx")
	r.search("invoice")
	if err := core.AgentEvents.Emit(ctx, core.AgentEvent{Kind: core.AgentFinish, Session: "s1"}); err != nil {
		t.Fatal(err)
	}
	st, err := search.Stats(ctx, r.Viewer, llm.Info{})
	if err != nil || st.Tools != 62 || st.Shown != 3 || st.TokensShown >= st.TokensAll || st.Searches != 3 {
		t.Errorf("got %+v, %v", st, err)
	}
	want := []FailedSearch{{Query: "invoice", NoCall: 1}, {Query: "zzyzx", Nothing: 1}}
	if !slices.Equal(st.Failed, want) {
		t.Errorf("failed searches: %+v", st.Failed)
	}
}

// BenchmarkSurface measures a step with ten thousand tools.
func BenchmarkSurface(b *testing.B) {
	var server *core.Context
	plugin := core.Plugin[struct{}]{Name: "server", Apply: func(c *core.Context, _ struct{}) error { server = c; return nil }}
	r := start(b, Config{}, toolset(many(10_000)...), coretest.With(plugin, struct{}{}))
	r.step()
	b.Run("unchanged", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			b.StopTimer()
			in := r.input()
			b.StartTimer()
			r.surface(in)
		}
	})
	b.Run("changed", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			b.StopTimer()
			name := fmt.Sprint("late_", i)
			if err := define(server, core.Tool{Name: name, Description: "Late."}); err != nil {
				b.Fatal(err)
			}
			in := r.input()
			b.StartTimer()
			r.surface(in)
			b.StopTimer()
			if err := server.Tools().Remove(name); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
		}
	})
}
