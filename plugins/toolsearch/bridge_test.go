package toolsearch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/coretest"
)

// TestT04_Limits: whatever a model writes as a limit or an offset.
func TestT04_Limits(t *testing.T) {
	r := start(t, Config{SearchStreak: ptr(0)}, toolset(many(60)...))
	r.step()
	for limit, want := range map[string]int{
		`0.5`: 5, `"3"`: 3, `-1`: 5, `1e9`: 20, `2.9`: 2, `"abc"`: 5, `null`: 5, `true`: 5, `0`: 5, `"4.7"`: 4, `[]`: 5,
	} {
		a := decode[unifiedAnswer](t, r.call(toolSearchName, `{"query":"","limit":`+limit+`}`))
		if len(a.Tools) != want {
			t.Errorf("limit %s: %d tools, want %d", limit, len(a.Tools), want)
		}
	}
	if n := number(json.RawMessage(`"NaN"`)); n != 0 {
		t.Errorf("NaN is %d", n)
	}
}

func TestRule16_Paging(t *testing.T) {
	r := start(t, Config{ConfigTools: configToolsNone, SearchStreak: ptr(0)}, toolset(many(25)...))
	r.step()
	var names []string
	for offset := 0; ; {
		a := decode[unifiedAnswer](t, r.call(toolSearchName, fmt.Sprintf(`{"limit":10,"offset":"%d"}`, offset)))
		names = append(names, a.names()...)
		want := &pagination{Total: 25, Offset: offset, Returned: len(a.Tools)}
		if offset < 20 {
			want.NextOffset = ptr(offset + 10)
		}
		if diff := cmp.Diff(want, a.Pagination); diff != "" {
			t.Errorf("offset %d: -want +got\n%s", offset, diff)
		}
		if a.Pagination.NextOffset == nil {
			break
		}
		offset = *a.Pagination.NextOffset
	}
	if want := toolNames(slices.SortedFunc(slices.Values(many(25)), byName)); !slices.Equal(names, want) {
		t.Errorf("got %v", names)
	}
}

func TestRule16_Unified(t *testing.T) {
	tools := many(40)
	for i := range tools {
		tools[i].Source = core.Source{Kind: core.FromMCP, Name: "office"}
	}
	r := start(t, Config{ConfigTools: configToolsNone, Groups: []Group{{Name: "money", Prefixes: []string{"create_invoice", "delete_invoice"}}}}, toolset(tools...))
	r.step()
	res := r.call(toolSearchName, `{"query":"delete invoice","limit":1}`)
	text := res.Text()
	want := `{"query":"delete invoice","mode":"lexical","found":"1/40","total":40,"tools":[{"name":"delete_invoice_01",` +
		`"description":"Will delete one invoice. More about it.","group":"money","parameters":` + string(tools[1].Parameters) +
		`,"state":"deferred"}],"pagination":`
	if !strings.HasPrefix(text, want) {
		t.Errorf("got  %s\nwant %s", text, want)
	}
	a := decode[unifiedAnswer](t, res)
	if diff := cmp.Diff([]string{"create_invoice_00", "create_invoice_32", "delete_invoice_33"}, a.Related); diff != "" {
		t.Errorf("related: -want +got\n%s", diff)
	}
	none := r.search("zzyzx")
	if diff := cmp.Diff([]GroupCount{{"money", 4}, {"office", 36}}, none.Available); diff != "" || none.Hint == "" || len(none.Tools) > 0 {
		t.Errorf("nothing found: %+v -want +got\n%s", none, diff)
	}
}

func TestRule16_SeveralQueries(t *testing.T) {
	r := start(t, Config{}, toolset(many(40)...))
	r.step()
	a := decode[unifiedAnswer](t, r.call(toolSearchName, `{"queries":["delete invoice","list picture"],"limit":4}`))
	if len(a.Tools) != 4 || !strings.HasPrefix(a.Tools[0].Name, "delete_invoice") || !strings.HasPrefix(a.Tools[1].Name, "list_picture") {
		t.Errorf("got %v", a.names())
	}
	if res := r.call(toolSearchName, `{"queries":["1","2","3","4","5","6","7","8"]}`); res.Err == nil {
		t.Error("eight queries were taken")
	}
}

func TestRule04_HiddenAlias(t *testing.T) {
	r := start(t, Config{}, toolset(many(40)...))
	if got := r.shows(); slices.Contains(got, searchToolsName) {
		t.Errorf("shown: %v", got)
	}
	if a := decode[unifiedAnswer](t, r.call(searchToolsName, `{"query":"delete invoice"}`)); len(a.Tools) == 0 {
		t.Error("the other name finds nothing")
	}
	if err := r.Host.Root().Tools().Define(core.Tool{Name: searchToolsName, Run: func(context.Context, *core.Invocation) (core.Result, error) {
		return core.Result{}, nil
	}}); err == nil {
		t.Error("the name is not reserved")
	}
}

func TestRule04_OffAnswers(t *testing.T) {
	r := start(t, Config{Enabled: ptr(EnabledOff)}, toolset(many(40)...))
	r.step()
	if res := r.call(searchToolsName, `{"query":"x"}`); res.Err == nil || !strings.Contains(res.Text(), "search is off") {
		t.Errorf("got %s", res.Text())
	}
}

// TestT02_CappedAnswer stays valid JSON, keeps names, and warms what it shows.
func TestT02_CappedAnswer(t *testing.T) {
	tools := many(40)
	for i := range tools {
		tools[i].Parameters = json.RawMessage(`{"type":"object","properties":{"x":{"type":"string","description":"` + strings.Repeat("long ", 300) + `"}}}`)
	}
	for _, format := range []string{"unified", formatAalis, formatDSH} {
		r := start(t, Config{ResultFormat: format, MaxDiscoveredKeep: ptr(0), MaxSearchLimit: ptr(0)}, toolset(tools...))
		r.step()
		for _, limit := range []int{20_000, 4300, 1000, 300, 60} {
			res := r.Host.Root().Tools().Execute(r.ctx(), core.Call{
				Name: toolSearchName, Args: json.RawMessage(`{"query":"","limit":40}`), Viewer: r.Viewer,
				Via: core.ViaModel, Turn: fmt.Sprint("turn", r.turn), MaxResult: limit,
			})
			if text := res.Text(); !json.Valid([]byte(text)) || len(text) > limit {
				t.Errorf("%s, %d bytes: %d bytes, %q", format, limit, len(text), text)
			}
		}
		if got := r.warm(); len(got) < 20 {
			t.Errorf("%s: only %v are warm", format, got)
		}
	}
}

// TestT02_ALongAnswerIsFilled: as many tools are shown as fit.
func TestT02_ALongAnswerIsFilled(t *testing.T) {
	tools := many(400)
	for i := range tools {
		tools[i].Source = core.Source{Kind: core.FromMCP, Name: "office"}
	}
	for _, format := range []string{"unified", formatAalis, formatDSH} {
		r := start(t, Config{ResultFormat: format, MaxSearchLimit: ptr(0)}, toolset(tools...))
		r.step()
		for _, max := range []int{40_000, 20_000, 4000} {
			res := r.Host.Root().Tools().Execute(r.ctx(), core.Call{
				Name: toolSearchName, Args: json.RawMessage(`{"query":"","limit":400}`), Viewer: r.Viewer,
				Via: core.ViaModel, Turn: fmt.Sprint("turn", r.turn), MaxResult: max,
			})
			if text := res.Text(); !json.Valid([]byte(text)) || len(text) > max || len(text) < max*9/10 {
				t.Errorf("%s, %d: %d bytes", format, max, len(text))
			}
		}
	}
}

// TestT02_ShorteningIsCheap: the answer is written a few times until it fits,
// not once for each row that is dropped.
func TestT02_ShorteningIsCheap(t *testing.T) {
	written := 0
	write := func(n int) json.RawMessage {
		written++
		return make(json.RawMessage, 100+10*n)
	}
	for max, want := range map[int]int{100: 100, 5009: 5000, 5010: 5010, 1 << 20: 100 + 9999*10, 99: 0} {
		if text := longest(10_000, max, write); len(text) != want || written > 15 {
			t.Errorf("%d: %d bytes, written %d times", max, len(text), written)
		}
		written = 0
	}
}

// TestT02_NobodyWaits: an answer that nobody reads any more is not shortened.
func TestT02_NobodyWaits(t *testing.T) {
	r := start(t, Config{}, toolset(many(40)...))
	r.step()
	l := r.service().l
	v, err := l.view(r.ctx(), core.Call{Viewer: r.Viewer, Turn: fmt.Sprint("turn", r.turn)})
	if err != nil {
		t.Fatal(err)
	}
	gone, cancel := context.WithCancel(r.ctx())
	cancel()
	if text, err := l.page(gone, v, &searchArgs{}).encode(gone, 300); text != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("%s, %v", text, err)
	}
}

func TestRule18_Describe(t *testing.T) {
	r := start(t, Config{}, toolset(append(many(40), core.Tool{Name: "read_file", Description: "Reads."})...))
	r.step()
	d := decode[described](t, r.call(describeName, `{"names":["delete_invoice_01","read_file","delete_invoce_01","delete_invoice_01"]}`))
	if len(d.Tools) != 2 || string(d.Tools[0].Parameters) != string(many(2)[1].Parameters) || d.Tools[1].Description != "Reads." {
		t.Errorf("got %+v", d)
	}
	if len(d.NotFound) != 1 || !slices.Contains(d.NotFound[0].Near, "delete_invoice_01") {
		t.Errorf("not found: %+v", d.NotFound)
	}
	if res := r.call(describeName, `{}`); res.Err == nil || res.Err.Code != core.CodeArguments {
		t.Errorf("without a name: %v", res.Err)
	}
}

func TestRule19_Call(t *testing.T) {
	seen := make(chan core.Call, 1)
	inner := core.Tool{
		Name: "deep_tool", Traits: core.Traits{Effect: core.Write}, Description: "Does it.",
		Parameters: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"},"b":{"type":"boolean"},"s":{"type":"string"},` +
			`"list":{"type":"array","items":{"type":"number"}}},"additionalProperties":false}`),
		Run: func(_ context.Context, inv *core.Invocation) (core.Result, error) {
			seen <- inv.Call
			return core.Result{Structured: json.RawMessage(`{"done":true}`)}, nil
		},
	}
	approver := coretest.NewApprover(slices.Repeat([]core.AnswerKind{core.AnswerOnce}, 6)...)
	r := start(t, Config{}, toolset(append(many(40), inner)...), policy(approver, map[string]core.Policy{"deep_tool": core.Ask}))
	r.step()
	for args, want := range map[string]string{
		`{"n":"10","b":"true","s":"7","list":["1.5"]}`: `{"b":true,"list":[1.5],"n":10,"s":"7"}`,
		`{"n":1}`:         `{"n":1}`,
		`"{\"n\":\"2\"}"`: `{"n":2}`,
		`""`:              `{}`,
		`null`:            `{}`,
		`"{}"`:            `{}`,
	} {
		res := r.call(callName, `{"name":"deep_tool","arguments":`+args+`}`)
		if res.Err != nil || res.Text() != `{"ok":true,"value":{"done":true}}` && !strings.Contains(res.Text(), "hint") {
			t.Fatalf("%s: %s, %v", args, res.Text(), res.Err)
		}
		got := <-seen
		if string(got.Args) != want || got.Name != "deep_tool" || got.Via != core.ViaBridge || !strings.HasSuffix(got.ID, ":tool:deep_tool") {
			t.Errorf("%s: the tool got %+v", args, got)
		}
	}
	if n := len(approver.Asked()); n != 6 {
		t.Errorf("%d questions for 6 calls", n)
	}
}

// TestRule19_Refusals: each says what to do and runs nothing.
func TestRule19_Refusals(t *testing.T) {
	tools := append(many(40), core.Tool{Name: "mcp__x__ask_codex", Source: core.Source{Kind: core.FromMCP, Name: "x"}})
	r := start(t, Config{}, toolset(tools...))
	r.step()
	for args, want := range map[string]struct {
		code core.ErrorCode
		text string
	}{
		`{"name":"tool_call","arguments":{"name":"create_invoice_00"}}`: {core.CodeDenied, "call it directly"},
		`{"name":"tool_search"}`:                                  {core.CodeDenied, "call it directly"},
		`{"name":"tool_search_configure"}`:                        {core.CodeDenied, "call it directly"},
		`{"name":"ask_codex"}`:                                    {core.CodeUnknown, "did you mean mcp__x__ask_codex"},
		`{"name":"delete_invoice_1"}`:                             {core.CodeUnknown, "did you mean delete_invoice_01"},
		`{"name":"create_invoice_00","arguments":{"id":"seven"}}`: {core.CodeArguments, `"parameters":{"type":"object"`},
		`{"name":"create_invoice_00","arguments":[1]}`:            {core.CodeArguments, "not run"},
	} {
		res := r.call(callName, args)
		a := decode[called](t, res)
		if res.Err == nil || res.Err.Code != want.code || a.OK || a.ErrorCode != want.code || !strings.Contains(res.Text(), want.text) {
			t.Errorf("%s: %v\n%s", args, res.Err, res.Text())
		}
	}
}

func TestRule19_VisibleToolRunsWithAHint(t *testing.T) {
	r := start(t, Config{}, toolset(append(many(40), core.Tool{Name: "read_file"})...))
	r.step()
	if a := decode[called](t, r.call(callName, `{"name":"read_file","arguments":{"path":"x"}}`)); !a.OK || a.Hint == "" {
		t.Errorf("got %+v", a)
	}
}

// TestRule19_LongAnswersStayJSON: values, errors and what a model made up.
func TestRule19_LongAnswersStayJSON(t *testing.T) {
	long := strings.Repeat("a \"quoted\"\nline\t", 3000)
	returns := func(name string, r core.Result, err error) core.Tool {
		return core.Tool{Name: name, Run: func(context.Context, *core.Invocation) (core.Result, error) { return r, err }}
	}
	r := start(t, Config{}, toolset(append(many(40),
		returns("long_value", core.TextResult(long), nil),
		returns("chinese_value", core.TextResult(strings.Repeat("中文\n", 8000)), nil),
		returns("long_error", core.Result{}, errors.New(long)))...))
	r.step()
	for call, fills := range map[string]bool{
		callName + ` {"name":"long_value"}`: true, callName + ` {"name":"chinese_value"}`: true,
		callName + ` {"name":"long_error"}`:                               true,
		callName + ` {"name":"` + strings.Repeat("long", 5000) + `"}`:     true,
		describeName + ` {"name":"` + strings.Repeat("long", 5000) + `"}`: false,
	} {
		name, args, _ := strings.Cut(call, " ")
		for _, limit := range []int{8000, 500, 200} {
			res := r.Host.Root().Tools().Execute(r.ctx(), core.Call{
				Name: name, Args: json.RawMessage(args), Viewer: r.Viewer, MaxResult: limit,
			})
			n := len(res.Text())
			if !json.Valid([]byte(res.Text())) || n > limit || fills && n < limit*7/10 {
				t.Errorf("%.40s, %d: %d bytes: %s", call, limit, n, res.Text())
			}
		}
	}
}

// TestRule15_BridgeTraits are those of the inner tool.
func TestRule15_BridgeTraits(t *testing.T) {
	tools := append(many(40),
		core.Tool{Name: "side_by_side", Traits: core.Traits{Parallel: true, Timeout: time.Minute}}, core.Tool{Name: "alone"})
	r := start(t, Config{}, toolset(tools...))
	for name, want := range map[string]bool{"side_by_side": true, "alone": false} {
		traits, ok := r.Host.Root().Tools().Traits(core.Call{Name: callName, Args: json.RawMessage(`{"name":"` + name + `"}`)})
		if !ok || traits.Parallel != want {
			t.Errorf("%s: %+v, %t", name, traits, ok)
		}
	}
	for _, name := range []string{toolSearchName, describeName, callName} {
		if tool := r.Tool(name); tool.Traits.Effect != core.Read {
			t.Errorf("%s has effect %s", name, tool.Traits.Effect)
		}
	}
}

// TestE10_InnerToolIsDecidedAbout: off and ask hold through the bridge.
func TestE10_InnerToolIsDecidedAbout(t *testing.T) {
	approver := coretest.NewApprover(core.AnswerReject)
	r := start(t, Config{}, toolset(many(40)...),
		policy(approver, map[string]core.Policy{"create_invoice_00": core.Off, "delete_invoice_01": core.Ask}))
	r.step()
	if res := r.call(callName, `{"name":"create_invoice_00","arguments":{"id":1}}`); res.Err == nil || res.Err.Code != core.CodeUnknown {
		t.Errorf("off: %v", res.Err)
	}
	res := r.call(callName, `{"name":"delete_invoice_01","arguments":{"id":1}}`)
	if res.Err == nil || res.Err.Code != core.CodeDenied || res.Err.Tool != "delete_invoice_01" {
		t.Errorf("ask: %v", res.Err)
	}
	if asked := approver.Asked(); len(asked) != 1 || asked[0].Tool != "delete_invoice_01" {
		t.Errorf("asked: %+v", asked)
	}
}

// TestE11_OffToolsAreNowhere: not in search, counts, listing, describe, near
// names, related, the search tool's description.
func TestE11_OffToolsAreNowhere(t *testing.T) {
	secret := core.Tool{Name: "secret_invoice_tool", Description: "Secret invoice things.", Source: core.Source{Kind: core.FromMCP, Name: "hidden"}}
	off := map[string]core.Policy{"secret_invoice_tool": core.Off}
	r := start(t, Config{ConfigTools: configToolsNone}, toolset(append(many(40), secret)...),
		policy(coretest.NewApprover(core.AnswerReject), off))
	out := r.step()
	texts := []string{listingOf(out), out.Tools[0].Description}
	for _, c := range [][2]string{
		{toolSearchName, `{"query":"secret invoice"}`}, {toolSearchName, `{"query":"hidden"}`}, {toolSearchName, `{"limit":20,"offset":30}`},
		{describeName, `{"name":"secret_invoice_too"}`}, {callName, `{"name":"secret_invoice_too"}`}, {callName, `{"name":"invoice_tool"}`},
	} {
		texts = append(texts, strings.NewReplacer("secret invoice", "", `"secret_invoice_too"`, "", `\"secret_invoice_too\"`, "", `"query":"hidden"`, "").
			Replace(r.call(c[0], c[1]).Text()))
	}
	for _, text := range texts {
		if strings.Contains(text, "secret") || strings.Contains(text, "hidden") || strings.Contains(text, "41") {
			t.Errorf("hinted at in %s", text)
		}
	}
}

// TestT54_OutOfScope: a tool of another agent is not found, and its name is
// unknown.
func TestT54_OutOfScope(t *testing.T) {
	foreign := core.Tool{Name: "foreign_invoice", Scope: "other", Description: "An invoice of another agent."}
	r := start(t, Config{}, toolset(append(many(40), foreign)...))
	r.step()
	if got := r.search("foreign_invoice").names(); slices.Contains(got, "foreign_invoice") {
		t.Errorf("found %v", got)
	}
	if res := r.call(callName, `{"name":"foreign_invoice"}`); res.Err == nil || res.Err.Code != core.CodeUnknown {
		t.Errorf("got %v", res.Err)
	}
}

// TestT24_EveryListedToolRuns through the bridge.
func TestT24_EveryListedToolRuns(t *testing.T) {
	r := start(t, Config{}, toolset(many(60)...))
	r.step()
	for _, tool := range many(60) {
		if res := r.call(callName, `{"name":"`+tool.Name+`","arguments":{"id":1}}`); res.Err != nil {
			t.Errorf("%s: %v", tool.Name, res.Err)
		}
	}
}

// TestT59_DirectCall of a tool that was not found, with right and wrong
// arguments.
func TestT59_DirectCall(t *testing.T) {
	for mode, want := range map[string]struct {
		runs bool
		text string
	}{
		directRun:     {true, ""},
		directSuggest: {false, `"number of the invoice"`},
		directDeny:    {false, `tool_search with the query "create_invoice_00"`},
	} {
		r := start(t, Config{DirectCall: mode}, toolset(many(40)...))
		r.step()
		res := r.call("create_invoice_00", `{"id":1}`)
		if (res.Err == nil) != want.runs || !strings.Contains(res.Text(), want.text) {
			t.Errorf("%s: %s", mode, res.Text())
		}
		if got := slices.Contains(r.warm(), "create_invoice_00"); got != want.runs {
			t.Errorf("%s: warm %t", mode, got)
		}
		if wrong := r.call("list_invoice_02", `{"id":"x"}`); wrong.Err == nil || wrong.Err.Code != core.CodeArguments {
			t.Errorf("%s: wrong arguments: %v", mode, wrong.Err)
		}
		person := r.Host.Root().Tools().Execute(r.ctx(), core.Call{
			Name: "update_invoice_03", Args: json.RawMessage(`{"id":1}`), Viewer: r.Viewer, Via: core.ViaPerson, Turn: fmt.Sprint("turn", r.turn),
		})
		if person.Err != nil {
			t.Errorf("%s: a person: %v", mode, person.Err)
		}
		if res := r.call(callName, `{"name":"update_invoice_03","arguments":{"id":1}}`); res.Err != nil {
			t.Errorf("%s: the bridge: %v", mode, res.Err)
		}
	}
	r := start(t, Config{DirectCall: directSuggest}, toolset(many(40)...))
	r.step()
	r.call("create_invoice_00", `{"id":1}`)
	if res := r.call("create_invoice_00", `{"id":1}`); res.Err != nil {
		t.Errorf("after its schema was shown: %v", res.Err)
	}
}

// TestT44_SearchStreak: a hint at 3, at 9 a refusal with the listing, and a
// call begins anew.
func TestT44_SearchStreak(t *testing.T) {
	r := start(t, Config{}, toolset(many(40)...))
	r.step()
	for i := 1; i <= 8; i++ {
		a := r.search("invoice")
		if got := strings.Contains(a.Hint, "without a call"); got != (i >= 3) {
			t.Errorf("search %d: hint %q", i, a.Hint)
		}
	}
	res := r.call(toolSearchName, `{"query":"invoice"}`)
	if res.Err == nil || !strings.Contains(res.Text(), "- create_invoice_00") {
		t.Errorf("search 9: %s", res.Text())
	}
	r.call("create_invoice_00", `{"id":1}`)
	if a := r.search("invoice"); len(a.Tools) == 0 || strings.Contains(a.Hint, "without a call") {
		t.Errorf("after a call: %+v", a)
	}
}

// TestT44_AStreakIsOfOneTurn: turns that a search alone answered do not add up.
func TestT44_AStreakIsOfOneTurn(t *testing.T) {
	r := start(t, Config{}, toolset(many(40)...))
	for turn := range 12 {
		r.nextTurn()
		r.step()
		if a := r.search("invoice"); len(a.Tools) == 0 || strings.Contains(a.Hint, "without a call") {
			t.Errorf("turn %d: %+v", turn, a)
		}
	}
	for range 7 {
		r.step()
		r.search("invoice")
	}
	if res := r.call(toolSearchName, `{"query":"invoice"}`); res.Err == nil {
		t.Error("nine searches of one turn were answered")
	}
}

// TestT44_NoTurnNoStreak: who has no turns can't be in a runaway one.
func TestT44_NoTurnNoStreak(t *testing.T) {
	r := start(t, Config{}, toolset(many(40)...))
	in := r.input()
	in.Turn = ""
	r.surface(in)
	for range 12 {
		res := r.Host.Root().Tools().Execute(r.ctx(), core.Call{
			Name: toolSearchName, Args: json.RawMessage(`{"query":"invoice"}`), Viewer: r.Viewer, Via: core.ViaMCP,
		})
		if a := decode[unifiedAnswer](t, res); strings.Contains(a.Hint, "without a call") {
			t.Fatal(a.Hint)
		}
	}
}

// TestT44_ARefusalLocksNothingOut: where a tool is to be searched for before it
// is called, those that a refused search lists may be called.
func TestT44_ARefusalLocksNothingOut(t *testing.T) {
	for _, mode := range []string{directRun, directSuggest, directDeny} {
		r := start(t, Config{DirectCall: mode, Bridge: "search", MaxSearchResults: ptr(1)}, toolset(many(40)...))
		r.step()
		for range 8 {
			r.search("invoice")
		}
		refusal := r.call(toolSearchName, `{"query":"ticket"}`)
		if refusal.Err == nil || !strings.Contains(refusal.Text(), "- list_ticket_06") ||
			strings.Contains(refusal.Text(), "search first") {
			t.Errorf("%s: %s", mode, refusal.Text())
		}
		res := r.call("list_ticket_06", `{"id":1}`)
		if mode == directSuggest {
			res = r.call("list_ticket_06", `{"id":1}`)
		}
		if res.Err != nil {
			t.Errorf("%s: %s", mode, res.Text())
		}
		if a := r.search("ticket"); len(a.Tools) == 0 {
			t.Errorf("%s: after the call: %+v", mode, a)
		}
	}
}

// TestT64_NothingLeftToSearch: the bridge goes, a stale call is answered.
func TestT64_NothingLeftToSearch(t *testing.T) {
	var server *core.Context
	plugin := core.Plugin[struct{}]{Name: "server", Apply: func(c *core.Context, _ struct{}) error {
		server = c
		return define(c, many(40)...)
	}}
	r := start(t, Config{}, toolset(core.Tool{Name: "read_file"}), coretest.With(plugin, struct{}{}))
	r.step()
	if err := server.Fiber().Dispose(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"read_file"}, r.shows()); diff != "" {
		t.Error(diff)
	}
	if a := r.search("invoice"); len(a.Tools) > 0 || a.Hint == "" {
		t.Errorf("got %+v", a)
	}
}

// TestT49_LateConnection: tools that come after the session began.
func TestT49_LateConnection(t *testing.T) {
	r := start(t, Config{}, toolset(many(40)...))
	r.step()
	late := core.Plugin[struct{}]{Name: "late", Apply: func(c *core.Context, _ struct{}) error {
		return define(c, core.Tool{Name: "mcp__late__translate", Description: "Translate a text."})
	}}
	f, err := core.Load(r.Host.Root(), late, struct{}{})
	if err == nil {
		err = f.Ready(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	if text := listingOf(r.step()); !strings.Contains(text, "mcp__late__translate") {
		t.Error("not listed")
	}
	if got := r.search("translate").names(); !slices.Contains(got, "mcp__late__translate") {
		t.Errorf("found %v", got)
	}
}

// TestE11_OffBetweenStepAndSearch: policy counts when the query comes, not
// when the step began.
func TestE11_OffBetweenStepAndSearch(t *testing.T) {
	p := coretest.NewPolicy(nil)
	r := start(t, Config{ConfigTools: configToolsNone}, toolset(many(40)...), coretest.WithPolicy(p))
	r.step()
	if got := r.search("create_invoice_00"); got.Tools[0].Name != "create_invoice_00" || got.Total != 40 {
		t.Fatalf("got %v", got.names())
	}
	p.Set("create_invoice_00", core.Off)
	if got := r.search("create_invoice_00"); slices.Contains(got.names(), "create_invoice_00") || got.Total != 39 {
		t.Errorf("found %v of %d", got.names(), got.Total)
	}
	for _, c := range [][2]string{{callName, `{"name":"create_invoice_00","arguments":{"id":1}}`}, {"create_invoice_00", `{"id":1}`}} {
		if res := r.call(c[0], c[1]); res.Err == nil || res.Err.Code != core.CodeUnknown {
			t.Errorf("%s: %v", c[0], res.Err)
		}
	}
	if got := r.shows(); slices.Contains(got, "create_invoice_00") {
		t.Errorf("shown: %v", got)
	}
	p.Set("create_invoice_00", core.Auto)
	r.step()
	if got := r.search("create_invoice_00"); !slices.Contains(got.names(), "create_invoice_00") {
		t.Errorf("on again: %v", got.names())
	}
}

// TestRule08_AddingDoesNotAllow: a tool that a listener puts back although its
// policy is off is neither shown nor run.
func TestRule08_AddingDoesNotAllow(t *testing.T) {
	p := coretest.NewPolicy(nil)
	p.Set("create_invoice_00", core.Off)
	adder := core.Plugin[struct{}]{Name: "adder", Apply: func(c *core.Context, _ struct{}) error {
		return core.ToolSurface.Around(c, func(
			ctx context.Context, s core.Surface, next func(context.Context, core.Surface) (core.Surface, error),
		) (core.Surface, error) {
			out, err := next(ctx, s)
			out.Tools = append(out.Tools, many(1)[0])
			return out, err
		})
	}}
	for _, n := range []int{5, 40} {
		r := start(t, Config{}, toolset(many(n)...), coretest.WithPolicy(p), coretest.With(adder, struct{}{}))
		if out := r.step(); slices.Contains(toolNames(out.Tools), "create_invoice_00") || strings.Contains(listingOf(out), "create_invoice_00") {
			t.Errorf("%d tools: %v", n, toolNames(out.Tools))
		}
		if res := r.call("create_invoice_00", `{"id":1}`); res.Err == nil || res.Err.Code != core.CodeUnknown {
			t.Errorf("%d tools: %v", n, res.Err)
		}
	}
}

func FuzzCoerce(f *testing.F) {
	schema := json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"},"b":{"type":["boolean","null"]},` +
		`"s":{"type":"string"},"l":{"type":"array","items":{"type":"number"}}}}`)
	f.Add([]byte(`{"n":"10","b":"true","s":"7","l":["1","x",2]}`))
	f.Add([]byte(`"{\"n\":\"1\"}"`))
	f.Fuzz(func(t *testing.T, args []byte) {
		out := coerce(args, schema)
		if json.Valid(args) && !json.Valid(out) {
			t.Errorf("%s became %s", args, out)
		}
		var in, got struct {
			S any `json:"s"`
		}
		if json.Unmarshal(args, &in) == nil && json.Unmarshal(out, &got) == nil && fmt.Sprint(in.S) != fmt.Sprint(got.S) {
			t.Errorf("%s: a string changed: %s", args, out)
		}
	})
}

func FuzzSearchArguments(f *testing.F) {
	r := start(f, Config{SearchStreak: ptr(0)}, toolset(many(30)...))
	f.Add("invoice", "0.5", "-1")
	f.Fuzz(func(t *testing.T, query, limit, offset string) {
		if !json.Valid([]byte(limit)) || !json.Valid([]byte(offset)) {
			return
		}
		args := fmt.Appendf(nil, `{"query":%s,"limit":%s,"offset":%s}`, encode(query), limit, offset)
		res := r.Host.Root().Tools().Execute(t.Context(), core.Call{Name: toolSearchName, Args: args, MaxResult: 5000})
		if res.Err == nil && !json.Valid([]byte(res.Text())) {
			t.Errorf("%s gives %s", args, res.Text())
		}
	})
}
