package toolsearch

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/llm"
	"github.com/agentd-host/agentd/core/schema"
)

// parse reads a config as the loader does.
func parse(t testing.TB, text string) Config {
	t.Helper()
	if err := core.CheckConfig(Plugin, json.RawMessage(text)); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	var cfg Config
	if err := schema.Decode(json.RawMessage(text), &cfg); err != nil {
		t.Fatal(err)
	}
	return cfg
}

func settingsOf(t testing.TB, text string) settings {
	t.Helper()
	s, err := resolve(parse(t, text))
	if err != nil {
		t.Fatal(err)
	}
	return *s
}

// TestPresetColumns pins every default of every preset.
func TestPresetColumns(t *testing.T) {
	nine := []string{"skill", "ask_user", "todo_write", "read_file", "list_files", "search_files", "write_file", "edit_file", "run_command"}
	own := settings{
		enabled: EnabledAuto, maxDirect: 20, autoDefer: []string{"mcp__*"}, alwaysDirect: nine,
		maxKeep: 8, maxSessions: 500, maxResults: 5, maxLimit: 20, match: "lexical", semantic: true, fullBridge: true,
		searchTool: "tool_search", resultFormat: "unified", configTools: "deferred", listing: "auto", listingPlace: "context",
		perGroup: true, thresholdPct: 5, listingMaxTokens: 4000, preload: Preload{TopK: 5}, configScope: "auto",
		reveal: "auto", directCall: "run", streak: 3,
	}
	aalis, chatluna, dsh := own, own, own
	aalis.preset, aalis.maxDirect, aalis.autoDefer, aalis.alwaysDirect = "aalis", 5, nil, nil
	aalis.maxKeep, aalis.maxLimit, aalis.match, aalis.fullBridge = 20, 0, "substring", false
	aalis.searchTool, aalis.resultFormat, aalis.configTools = "search_tools", "aalis", "none"
	aalis.listing, aalis.listingPlace, aalis.perGroup = "names", "description", false
	aalis.thresholdPct, aalis.listingMaxTokens, aalis.configScope, aalis.reveal, aalis.streak = 0, 0, "none", "append", 0
	chatluna.preset, chatluna.alwaysDirect, chatluna.maxKeep, chatluna.fullBridge = "chatluna", nil, 5, false
	chatluna.configTools, chatluna.listing, chatluna.listingPlace, chatluna.perGroup = "none", "off", "description", false
	chatluna.thresholdPct, chatluna.listingMaxTokens, chatluna.configScope = 0, 0, "none"
	chatluna.reveal, chatluna.streak = "append", 0
	dsh.preset, dsh.countOwn, dsh.maxDirect, dsh.autoDefer = "dsh", true, 12, nil
	dsh.match, dsh.resultFormat, dsh.configTools, dsh.perGroup = "keyword", "dsh", "shown", false
	dsh.contextWindow, dsh.reveal, dsh.streak = 128000, "append", 0
	for text, want := range map[string]settings{
		`{}`: own, `{"preset":"aalis"}`: aalis, `{"preset":"chatluna"}`: chatluna, `{"preset":"dsh"}`: dsh,
	} {
		if diff := cmp.Diff(want, settingsOf(t, text), cmp.AllowUnexported(settings{})); diff != "" {
			t.Errorf("%s: -want +got\n%s", text, diff)
		}
	}
}

// TestDialects loads the systems' own configs as they stand.
func TestDialects(t *testing.T) {
	aalis := settingsOf(t, `{"enabled":true,"showToolNames":true,"maxDirectTools":5,"maxSearchResults":10,"alwaysDirectTools":["web_search"]}`)
	if aalis.preset != "aalis" || aalis.listing != "names" || aalis.maxResults != 10 || aalis.enabled != EnabledAuto ||
		!slices.Equal(aalis.alwaysDirect, []string{"web_search"}) {
		t.Errorf("aalis: %+v", aalis)
	}
	chatluna := settingsOf(t, `{"threshold":20,"autoDefer":["mcp__*"],"limit":5}`)
	if chatluna.preset != "chatluna" || chatluna.maxDirect != 20 || chatluna.maxKeep != 5 || chatluna.maxResults != 5 {
		t.Errorf("chatluna: %+v", chatluna)
	}
	dsh := settingsOf(t, `{"enabled":"auto","thresholdPct":5,"listingMaxTokens":4000,"configScope":"auto","core":["todo_write"],"maxWarmTools":8}`)
	if dsh.preset != "dsh" || dsh.maxKeep != 8 || !slices.Contains(dsh.alwaysDirect, "read_file") || !slices.Contains(dsh.pinned, "todo_write") {
		t.Errorf("dsh: %+v", dsh)
	}
	for text, check := range map[string]func(s settings) bool{
		`{"preset":"chatluna","limit":7,"maxSearchResults":3}`:                                 func(s settings) bool { return s.maxKeep == 7 && s.maxResults == 3 },
		`{"preset":"dsh","minCatalogSize":9,"searchDefaultLimit":4}`:                           func(s settings) bool { return s.maxDirect == 9 && s.maxResults == 4 },
		`{"preset":"dsh","matcher":{"endpoint":"http://x/v1/rerank"},"matcherTimeoutMs":1500}`: func(s settings) bool { return s.matcher.Timeout.Milliseconds() == 1500 },
		`{"matcher":{"endpoint":"http://x/v1/rerank"}}`:                                        func(s settings) bool { return s.matcher.Timeout == defaultTimeout },
		`{"showToolNames":false}`:                                                              func(s settings) bool { return s.listing == "off" },
		`{"enabled":"on"}`:                                                                     func(s settings) bool { return s.enabled == EnabledOn },
		`{"enabled":"off"}`:                                                                    func(s settings) bool { return s.enabled == EnabledOff },
		`{"enabled":false}`:                                                                    func(s settings) bool { return s.enabled == EnabledOff },
		`{"autoDefer":[]}`:                                                                     func(s settings) bool { return len(s.autoDefer) == 0 },
		`{"preload":{"enabled":true}}`:                                                         func(s settings) bool { return s.preload == Preload{true, 5} },
	} {
		if s := settingsOf(t, text); !check(s) {
			t.Errorf("%s: %+v", text, s)
		}
	}
}

func TestConfigErrors(t *testing.T) {
	for text, want := range map[string]string{
		`{"threshold":3,"showToolNames":true}`:  "an option of preset",
		`{"preset":"aalis","limit":3}`:          "an option of preset chatluna",
		`{"preset":"none"}`:                     "preset",
		`{"reveal":"bridge","bridge":"search"}`: "tool_call",
		`{"preset":"aalis","reveal":"bridge"}`:  "tool_call",
		`{"core":"todo_write"}`:                 "core",
		`{"enabled":"maybe"}`:                   "enabled",
		`{"maxDirectTools":-1}`:                 "maxDirectTools",
		`{"maxDirectTool":1}`:                   "maxDirectTool",
		`{"matcher":{"model":"x"}}`:             "endpoint",
		`{"searchTool":"find"}`:                 "searchTool",
	} {
		err := core.CheckConfig(Plugin, json.RawMessage(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want something about %s", text, err, want)
		}
	}
}

func TestBudget(t *testing.T) {
	for text, want := range map[string]int{
		`{}`: 4000, `{"contextWindow":10000}`: 500, `{"thresholdPct":0}`: 4000, `{"listingMaxTokens":0}`: 6400,
		`{"thresholdPct":0.0005}`: 1, `{"thresholdPct":0.0005,"listingMaxTokens":0}`: 1,
		`{"thresholdPct":0,"listingMaxTokens":0}`: 0,
	} {
		s := settingsOf(t, text)
		if got := s.budget(0); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
	own := settingsOf(t, `{}`)
	if got := own.budget(8000); got != 400 {
		t.Errorf("of the model's window: %d", got)
	}
}

// TestOptionsTakeEffectInPlace changes each option while the plugin runs: the
// next step and search follow it, nothing restarts, found tools stay.
func TestOptionsTakeEffectInPlace(t *testing.T) {
	tools := append(many(30), core.Tool{Name: "read_file"}, core.Tool{Name: "mcp__a__x", Source: core.Source{Kind: core.FromMCP, Name: "a"}})
	for name, c := range map[string]struct {
		option string
		want   func(r *rig, before, after core.Surface) bool
	}{
		"off": {`{"enabled":"off"}`, func(r *rig, _, after core.Surface) bool { return len(after.Tools) == 32 && len(after.Context) == 0 }},
		"maxDirectTools": {`{"maxDirectTools":40}`, func(r *rig, _, after core.Surface) bool {
			return !slices.Contains(toolNames(after.Tools), "mcp__a__x") && len(after.Tools) >= 31
		}},
		"enabled on": {`{"maxDirectTools":400,"enabled":"on"}`, func(r *rig, _, after core.Surface) bool { return len(after.Tools) < 20 }},
		"countOwn":   {`{"maxDirectTools":33,"countOwn":true}`, func(r *rig, _, after core.Surface) bool { return len(after.Tools) < 20 }},
		"alwaysDirectTools": {`{"alwaysDirectTools":["create_*"]}`, func(r *rig, _, after core.Surface) bool {
			return slices.Contains(toolNames(after.Tools), "create_invoice_00") && !slices.Contains(toolNames(after.Tools), "read_file")
		}},
		"never": {`{"never":["read_*"]}`, func(r *rig, _, after core.Surface) bool { return !slices.Contains(toolNames(after.Tools), "read_file") }},
		"maxDiscoveredKeep": {`{"maxDiscoveredKeep":2}`, func(r *rig, _, after core.Surface) bool {
			return len(without(toolNames(after.Tools), "tool_", "read_")) == 2
		}},
		"maxSearchResults": {`{"maxSearchResults":3}`, func(r *rig, _, after core.Surface) bool { return len(r.search("").Tools) == 3 }},
		"all results":      {`{"maxSearchResults":0}`, func(r *rig, _, after core.Surface) bool { return len(r.search("").Tools) == 34 }},
		"maxSearchLimit": {`{"maxSearchLimit":2}`, func(r *rig, _, after core.Surface) bool {
			return len(decode[unifiedAnswer](r.t, r.call(toolSearchName, `{"limit":9}`)).Tools) == 2
		}},
		"substring": {`{"match":"substring"}`, func(r *rig, _, after core.Surface) bool {
			return r.search("nvoic").Mode == "substring" && len(r.search("nvoic").Tools) > 0
		}},
		"keyword": {`{"match":"keyword"}`, func(r *rig, _, after core.Surface) bool { return r.search("invoice").Mode == "keyword" }},
		"semantic": {`{"semantic":false}`, func(r *rig, _, after core.Surface) bool {
			return r.search("invoice").Tools[0].Name == "create_invoice_00"
		}},
		"bridge": {`{"bridge":"search"}`, func(r *rig, _, after core.Surface) bool { return !slices.Contains(toolNames(after.Tools), callName) }},
		"searchTool": {`{"searchTool":"search_tools"}`, func(r *rig, _, after core.Surface) bool {
			return slices.Contains(toolNames(after.Tools), searchToolsName) && !slices.Contains(toolNames(after.Tools), toolSearchName)
		}},
		"resultFormat": {`{"resultFormat":"dsh"}`, func(r *rig, _, after core.Surface) bool {
			return strings.HasPrefix(r.call(toolSearchName, `{"query":"invoice"}`).Text(), `{"matches":[`)
		}},
		"configTools shown": {`{"configTools":"shown"}`, func(r *rig, _, after core.Surface) bool {
			return slices.Contains(toolNames(after.Tools), configureName)
		}},
		"configTools none": {`{"configTools":"none"}`, func(r *rig, _, after core.Surface) bool {
			return !strings.Contains(listingOf(after), configureName) && !slices.Contains(toolNames(r.Tools()), configureName)
		}},
		"listing names": {`{"listing":"names"}`, func(r *rig, _, after core.Surface) bool {
			return strings.Contains(listingOf(after), "- create_invoice_00\n")
		}},
		"listing groups": {`{"listing":"groups"}`, func(r *rig, _, after core.Surface) bool {
			return strings.Contains(listingOf(after), "a: 1\nungrouped: 32")
		}},
		"listing off": {`{"listing":"off"}`, func(r *rig, _, after core.Surface) bool { return listingOf(after) == "" }},
		"listingPlace": {`{"listingPlace":"description"}`, func(r *rig, _, after core.Surface) bool {
			i := slices.Index(toolNames(after.Tools), toolSearchName)
			return listingOf(after) == "" && strings.Contains(after.Tools[i].Description, "- create_invoice_00")
		}},
		"budget": {`{"listingMaxTokens":60,"perGroup":false}`, func(r *rig, _, after core.Surface) bool { return llm.EstimateTokens(listingOf(after)) <= 60 }},
		"groups": {`{"groups":[{"name":"bills","prefixes":["create_invoice"]}]}`, func(r *rig, _, after core.Surface) bool {
			return strings.Contains(listingOf(after), "## bills\n- create_invoice_00")
		}},
		"reveal bridge": {`{"reveal":"bridge"}`, func(r *rig, _, after core.Surface) bool {
			return slices.Equal(without(toolNames(after.Tools), "tool_"), []string{"read_file"})
		}},
		"directCall": {`{"directCall":"deny"}`, func(r *rig, _, after core.Surface) bool { return r.call("list_picture_22", `{"id":1}`).Err != nil }},
		"searchStreak": {`{"searchStreak":1}`, func(r *rig, _, after core.Surface) bool {
			return strings.Contains(r.search("invoice").Hint, "without a call")
		}},
		"preset aalis": {`{"preset":"aalis"}`, func(r *rig, _, after core.Surface) bool {
			return slices.Contains(toolNames(after.Tools), searchToolsName) && strings.HasPrefix(r.call(searchToolsName, `{"query":"eport ill"}`).Text(), `{"found":"5/32","pagination":{`)
		}},
		"preset dsh": {`{"preset":"dsh"}`, func(r *rig, _, after core.Surface) bool {
			return slices.Contains(toolNames(after.Tools), configureNameDSH)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, Config{}, toolset(tools...))
			r.step()
			r.search("delete contact")
			before := r.step()
			uid := r.Fiber.Effects()
			cfg := parse(t, c.option)
			if err := core.Update(t.Context(), r.Fiber, cfg); err != nil {
				t.Fatal(err)
			}
			if len(uid) == 0 || r.Fiber.Err() != nil {
				t.Fatal(r.Fiber.Err())
			}
			r.nextTurn()
			after := r.step()
			if !c.want(r, before, after) {
				t.Errorf("shown %v\n%s\n%v", toolNames(after.Tools), listingOf(after), r.history[len(r.history)-1])
			}
			if err := core.Update(t.Context(), r.Fiber, Config{}); err != nil {
				t.Fatal(err)
			}
			r.nextTurn()
			back := toolNames(r.step().Tools)
			if name != "maxDiscoveredKeep" && name != "all results" && !slices.ContainsFunc(back, func(n string) bool { return strings.HasPrefix(n, "delete_contact") }) {
				t.Errorf("what was found is gone: %v", back)
			}
		})
	}
}

// TestSubstringIsExact: preset aalis with all results gives exactly the tools
// of which "name description" holds a word of the query.
func TestSubstringIsExact(t *testing.T) {
	tools := many(60)
	r := start(t, parse(t, `{"preset":"aalis","maxSearchResults":0}`), toolset(tools...))
	r.step()
	random := rand.New(rand.NewPCG(3, 4))
	for range 60 {
		tool := tools[random.IntN(len(tools))]
		text := tool.Name + " " + tool.Description
		var words []string
		for range 1 + random.IntN(3) {
			i := random.IntN(len(text) - 3)
			words = append(words, strings.ToUpper(text[i:i+1+random.IntN(3)]))
		}
		query := strings.Join(words, " ")
		var want []string
		for _, t := range tools {
			lower := strings.ToLower(t.Name + " " + t.Description)
			if slices.ContainsFunc(strings.Fields(strings.ToLower(query)), func(w string) bool { return strings.Contains(lower, w) }) {
				want = append(want, t.Name)
			}
		}
		if strings.TrimSpace(query) == "" {
			want = toolNames(tools)
		}
		a := decode[aalisAnswer](t, r.call(searchToolsName, fmt.Sprintf(`{"query":%q}`, query)))
		var got []string
		for _, t := range a.Tools {
			got = append(got, t.Name)
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Fatalf("%q: got %v, want %v", query, got, want)
		}
	}
}

func TestDSHFormat(t *testing.T) {
	r := start(t, parse(t, `{"preset":"dsh","groups":[{"name":"chat","prefixes":["mcp_slack_"]}]}`),
		toolset(append(many(20), core.Tool{Name: "mcp__slack__post", Description: "Post a message."})...))
	r.step()
	got := r.call(toolSearchName, `{"query":"post"}`).Text()
	want := `{"matches":[{"name":"mcp__slack__post","description":"Post a message.","group":"chat","score":1001}],"mode":"keyword","hint":"`
	if !strings.HasPrefix(got, want) || !strings.Contains(got, "tool-slimmer-setup") {
		t.Errorf("got %s", got)
	}
}
