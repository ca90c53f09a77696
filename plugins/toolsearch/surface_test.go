package toolsearch

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/coretest"
	"github.com/agentd-host/agentd/core/llm"
)

var bridgeNames = []string{toolSearchName, describeName, callName}

func TestPlugin(t *testing.T)      { coretest.CheckPlugin(t, Plugin) }
func TestNothingLeft(t *testing.T) { coretest.CheckReload(t, Plugin, Config{}, 20) }

func TestRule03_FewToolsPassThrough(t *testing.T) {
	r := start(t, Config{}, toolset(many(20)...))
	got := r.step()
	if diff := cmp.Diff(toolNames(many20()), toolNames(got.Tools)); diff != "" || len(got.Context) > 0 {
		t.Errorf("context %v; -want +got\n%s", got.Context, diff)
	}
}

// many20 are twenty tools in the order of a list.
func many20() []core.Tool { return slices.SortedFunc(slices.Values(many(20)), byName) }

// TestT26_NothingOfOurs: nothing deferred, or search off.
func TestT26_NothingOfOurs(t *testing.T) {
	for name, cfg := range map[string]Config{
		"few tools": {}, "off": {Enabled: ptr(EnabledOff), MaxDirectTools: ptr(1)},
	} {
		r := start(t, cfg, toolset(many(3)...))
		got := r.step()
		if names := toolNames(got.Tools); len(names) != 3 || len(got.Context) > 0 {
			t.Errorf("%s: %v, %v", name, names, got.Context)
		}
	}
}

func TestRule03_ManyToolsAreDeferred(t *testing.T) {
	tools := append(many(30), core.Tool{Name: "read_file"}, core.Tool{Name: "list_files"})
	r := start(t, Config{}, toolset(tools...))
	got := r.step()
	want := append([]string{"list_files", "read_file"}, bridgeNames...)
	if diff := cmp.Diff(want, toolNames(got.Tools)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	text := listingOf(got)
	for _, tool := range many(30) {
		if !strings.Contains(text, "- "+tool.Name+": ") {
			t.Errorf("%s is not listed in\n%s", tool.Name, text)
		}
	}
	if strings.Contains(text, "read_file") {
		t.Error("a direct tool is listed")
	}
}

func TestRule03_AutoDefer(t *testing.T) {
	server, always := core.Source{Kind: core.FromMCP, Name: "a"}, core.Traits{AlwaysLoad: true}
	tools := append(many(3),
		core.Tool{Name: "mcp__a__x", Source: server},
		core.Tool{Name: "mcp__a__always", Source: server, Traits: always},
		core.Tool{Name: "mcp__a__named", Source: server, Traits: always},
		core.Tool{Name: "shy", Traits: core.Traits{Deferred: true}},
	)
	r := start(t, Config{AutoDefer: []string{"mcp__*", "mcp__a__named"}}, toolset(tools...))
	want := append([]string{"create_invoice_00", "delete_invoice_01", "list_invoice_02", "mcp__a__always"}, bridgeNames...)
	if diff := cmp.Diff(want, r.shows()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestRule03_PluginsToolsGiveWay: alwaysDirectTools replaces the default list,
// also for tools whose plugins would rather have them shown.
func TestRule03_PluginsToolsGiveWay(t *testing.T) {
	keen := core.Traits{AlwaysLoad: true}
	tools := append(many(3), core.Tool{Name: "read_file", Traits: keen}, core.Tool{Name: "write_file", Traits: keen})
	r := start(t, Config{MaxDirectTools: ptr(1), AlwaysDirectTools: []string{"read_file"}}, toolset(tools...))
	if diff := cmp.Diff(append([]string{"read_file"}, bridgeNames...), r.shows()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestRule03_TheModelsLimitCounts(t *testing.T) {
	r := start(t, Config{MaxDirectTools: ptr(200)}, toolset(many(30)...))
	r.model.MaxTools = 10
	if got := r.shows(); !slices.Equal(got, bridgeNames) {
		t.Errorf("got %v", got)
	}
	r.search("invoice")
	r.search("ticket")
	if got := r.shows(); len(got) > 10 {
		t.Errorf("%d tools for a model that takes 10", len(got))
	}
}

func TestRule04_FoundToolsAreShown(t *testing.T) {
	r := start(t, Config{}, toolset(many(40)...))
	r.step()
	found := r.search("delete a contact").names()
	if len(found) == 0 || !strings.HasPrefix(found[0], "delete_contact") {
		t.Fatalf("found %v", found)
	}
	if diff := cmp.Diff(slices.Concat(bridgeNames, found), r.shows()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	again := r.search("delete a contact")
	if again.Tools[0].State != "visible" {
		t.Errorf("a shown tool is %s", again.Tools[0].State)
	}
}

// TestRule01_OrderOfListeners: whatever order the others stand in, the step is
// the same to the byte.
func TestRule01_OrderOfListeners(t *testing.T) {
	reverse := func(s core.Surface) core.Surface { slices.Reverse(s.Tools); return s }
	drop := func(s core.Surface) core.Surface {
		s.Tools = slices.DeleteFunc(s.Tools, func(t core.Tool) bool { return strings.Contains(t.Name, "ticket") })
		return s
	}
	add := func(s core.Surface) core.Surface {
		s.Tools = append(s.Tools, core.Tool{Name: "foreign", Description: "Of a listener."})
		return s
	}
	var want string
	for _, order := range [][]func(core.Surface) core.Surface{
		{reverse, drop, add}, {add, drop, reverse}, {drop, reverse, add}, {drop, add},
	} {
		others := core.Plugin[struct{}]{Name: "others", Apply: func(c *core.Context, _ struct{}) error {
			for i, f := range order {
				err := core.ToolSurface.Around(c, func(
					ctx context.Context, s core.Surface, next func(context.Context, core.Surface) (core.Surface, error),
				) (core.Surface, error) {
					out, err := next(ctx, s)
					return f(out), err
				}, core.Order(i-1000))
				if err != nil {
					return err
				}
			}
			return nil
		}}
		r := start(t, Config{}, toolset(many(40)...), coretest.With(others, struct{}{}))
		out := r.step()
		got := fmt.Sprint(toolNames(out.Tools), out.Context)
		if want == "" {
			want = got
			if !strings.Contains(got, "foreign") || strings.Contains(got, "ticket") {
				t.Errorf("got %s", got)
			}
		}
		if got != want {
			t.Errorf("got %s\nwant %s", got, want)
		}
	}
}

// TestRule02_DroppedToolsDoNotExist: what a listener dropped is neither found
// nor described nor called nor counted.
func TestRule02_DroppedToolsDoNotExist(t *testing.T) {
	dropper := core.Plugin[struct{}]{Name: "dropper", Apply: func(c *core.Context, _ struct{}) error {
		return core.ToolSurface.Around(c, func(
			ctx context.Context, s core.Surface, next func(context.Context, core.Surface) (core.Surface, error),
		) (core.Surface, error) {
			out, err := next(ctx, s)
			out.Tools = slices.DeleteFunc(out.Tools, func(t core.Tool) bool { return strings.Contains(t.Name, "ticket") })
			return out, err
		})
	}}
	r := start(t, Config{}, toolset(many(40)...), coretest.With(dropper, struct{}{}))
	if text := listingOf(r.step()); strings.Contains(text, "ticket") {
		t.Errorf("listed in\n%s", text)
	}
	for _, res := range []core.Result{
		r.call(toolSearchName, `{"query":"ticket"}`),
		r.call(toolSearchName, `{"query":"", "limit": 20}`),
		r.call(describeName, `{"names":["delete_ticket_05", "list_ticket_0"]}`),
		r.call(callName, `{"name":"list_tickets_06"}`),
	} {
		if text := strings.NewReplacer(`"delete_ticket_05"`, "", `"list_ticket_0"`, "", `list_tickets_06`, "", `"query":"ticket"`, "").
			Replace(res.Text()); strings.Contains(text, "ticket") {
			t.Errorf("named in %s", text)
		}
	}
	if res := r.call(callName, `{"name":"delete_ticket_05","arguments":{"id":1}}`); res.Err == nil || res.Err.Code != core.CodeUnknown {
		t.Errorf("got %v", res.Err)
	}
}

// TestT22_ListingIsContext: it does not stand in the system prompt.
func TestT22_ListingIsContext(t *testing.T) {
	r := start(t, Config{}, toolset(many(40)...))
	if got := r.step(); len(got.Context) != 1 || got.Context[0].Name != contextPart {
		t.Errorf("got %v", got.Context)
	}
}

// TestT09_OneListing: ten rounds, one block each, the same bytes; finding
// tools does not change it.
func TestT09_OneListing(t *testing.T) {
	r := start(t, Config{SearchStreak: ptr(0)}, toolset(many(40)...))
	first := r.step()
	for range 10 {
		r.search("invoice")
		next := r.step()
		if len(next.Context) != 1 || next.Context[0].Text != first.Context[0].Text {
			t.Fatalf("got %v", next.Context)
		}
	}
}

func TestRule07_DryRun(t *testing.T) {
	r := start(t, Config{}, toolset(many(40)...))
	in := r.input()
	in.DryRun = true
	in.Turn = "other"
	dry := r.surface(in)
	r.step()
	r.search("invoice")
	r.call(describeName, `{"name":"delete_report_29"}`)
	slices.Reverse(r.history) // so that the calls would be put into order
	before := len(r.log.events)
	warm := r.surface(in)
	if len(warm.Tools) <= len(dry.Tools) {
		t.Error("a dry run does not see what was found")
	}
	if len(r.log.events) != before {
		t.Error("a dry run wrote to the session")
	}
	if res := r.search("report"); res.Total != 42 {
		t.Errorf("the dry run replaced the step: %+v", res)
	}
}

func TestT71_AssembliesAreEqual(t *testing.T) {
	r := start(t, Config{}, toolset(many(60)...))
	var want string
	for i := range 50 {
		r.Viewer.Agent = []string{"main", "other"}[i%2]
		out := r.step()
		got := fmt.Sprint(toolNames(out.Tools), out.Tools[0].Description, out.Context)
		if want == "" {
			want = got
		}
		if got != want {
			t.Fatalf("assembly %d differs", i)
		}
	}
}

// TestT74_TheDescriptionSaysWhatIsBehind with the listing off.
func TestT74_TheDescriptionSaysWhatIsBehind(t *testing.T) {
	tools := many(30)
	for i := range 12 {
		tools[i].Source = core.Source{Kind: core.FromMCP, Name: "github"}
	}
	r := start(t, Config{Listing: listingOff, ConfigTools: configToolsNone}, toolset(tools...))
	got := r.step()
	if d := got.Tools[0].Description; !strings.Contains(d, "github 12") || !strings.Contains(d, "ungrouped 18") {
		t.Errorf("got %q", d)
	}
	if len(got.Context) > 0 {
		t.Errorf("a listing: %v", got.Context)
	}
}

func TestRule05_Tiers(t *testing.T) {
	tools := many(40)
	for i := range tools {
		tools[i].Source = core.Source{Kind: core.FromMCP, Name: []string{"big", "big", "big", "small"}[i%4]}
	}
	listing := func(budget int, perGroup bool) string {
		r := start(t, Config{ListingMaxTokens: ptr(budget), ThresholdPct: ptr(0.0), PerGroup: ptr(perGroup)}, toolset(tools...))
		return listingOf(r.step())
	}
	full := listing(0, false)
	size := llm.EstimateTokens(full)
	if got := listing(size, false); got != full {
		t.Error("a listing that just fits is cut")
	}
	names := listing(size-1, false)
	if !strings.Contains(names, "- create_invoice_00\n") || strings.Contains(names, "Will create") {
		t.Errorf("tier 2 is\n%s", names)
	}
	counts := listing(1, false)
	if !strings.Contains(counts, "big: 30\nsmall: 10") {
		t.Errorf("tier 3 is\n%s", counts)
	}
	mixed := listing(size-1, true)
	if !strings.Contains(mixed, "- create_invoice_00\n") || !strings.Contains(mixed, "- update_invoice_03: Will") {
		t.Errorf("per group it is\n%s", mixed)
	}
	if got := llm.EstimateTokens(mixed); got > size-1 {
		t.Errorf("per group %d tokens, the budget is %d", got, size-1)
	}
	if got := listing(1, true); got != counts {
		t.Errorf("per group at last\n%s", got)
	}
}

func TestRule05_FirstSentence(t *testing.T) {
	for in, want := range map[string]string{
		"":                              "",
		"Reads a file. And more.":       "Reads a file.",
		"Version 1.2 of it. More":       "Version 1.2 of it.",
		"  two\n lines\tand \x00 more ": "two lines and more",
		"读取文件。然后":                       "读取文件。",
		strings.Repeat("word ", 20):     "word word word word word word word word word word word…",
		strings.Repeat("x", 80):         strings.Repeat("x", 59) + "…",
		"bad \xff utf8":                 "bad \ufffd utf8",
		"Is it? Yes":                    "Is it?",
	} {
		got := firstSentence(in)
		if got != want || len([]rune(got)) > sentenceRunes {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func FuzzFirstSentence(f *testing.F) {
	f.Add("A b. \xff c")
	f.Fuzz(func(t *testing.T, text string) {
		got := firstSentence(text)
		if len([]rune(got)) > sentenceRunes || strings.ContainsAny(got, "\n\r\t") {
			t.Errorf("%q gives %q", text, got)
		}
	})
}

func TestRule04_NeverBeatsDirect(t *testing.T) {
	r := start(t, Config{Never: []string{"read_*"}, AlwaysDirectTools: []string{"read_file"}}, toolset(append(many(30), core.Tool{Name: "read_file"})...))
	if got := r.shows(); slices.Contains(got, "read_file") {
		t.Errorf("shown: %v", got)
	}
	if got := r.search("read_file").names(); slices.Contains(got, "read_file") {
		t.Errorf("found: %v", got)
	}
}
