package core

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentd-host/agentd/core/llm"
)

// says is a tool that reads and says a word.
func says(name, word string) Tool {
	return Tool{Name: name, Traits: Traits{Effect: Read}, Run: func(context.Context, *Invocation) (Result, error) {
		return TextResult(word), nil
	}}
}

func mustDefine(t testing.TB, c *Context, tools ...Tool) {
	t.Helper()
	for _, tool := range tools {
		if err := c.Tools().Define(tool); err != nil {
			t.Fatal(err)
		}
	}
}

func namesOf(tools []Tool) string {
	names := make([]string, len(tools))
	for i, t := range tools {
		names[i] = t.Name
	}
	return strings.Join(names, " ")
}

// tooler loads a plugin that does what apply says and waits for it.
func tooler(t testing.TB, c *Context, name string, apply func(c *Context) error) *Fiber {
	t.Helper()
	f, err := Load(c, Plugin[struct{}]{Name: name, Apply: func(c *Context, _ struct{}) error { return apply(c) }}, struct{}{})
	if err == nil {
		err = f.Ready(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func run(t testing.TB, c *Context, name, args string) Result {
	t.Helper()
	return c.Tools().Execute(t.Context(), Call{Name: name, Args: json.RawMessage(args)})
}

func wantCode(t testing.TB, r Result, code ErrorCode) {
	t.Helper()
	switch {
	case r.Err == nil && code != "":
		t.Errorf("succeeded with %q, want %s", r.Text(), code)
	case r.Err != nil && r.Err.Code != code:
		t.Errorf("code %s (%v), want %q", r.Err.Code, r.Err, code)
	case len(r.Parts) == 0:
		t.Error("the result has nothing to read")
	}
}

func wantText(t testing.TB, r Result, text string) {
	t.Helper()
	if r.Err != nil || r.Text() != text {
		t.Errorf("got %q, %v, want %q", r.Text(), r.Err, text)
	}
}

func TestDefineToolMakesSchemaDecodesAndAnswers(t *testing.T) {
	h := newHost(t)
	type in struct {
		City string        `json:"city" jsonschema_description:"City name"`
		Days int           `json:"days,omitempty" jsonschema:"default=3,maximum=14"`
		Wait time.Duration `json:"wait,omitempty"`
	}
	type out struct {
		Line string `json:"line"`
	}
	err := DefineTool(h.Root(), Tool{Name: "forecast", Traits: Traits{Effect: Read}},
		func(_ context.Context, in in) (out, error) {
			return out{fmt.Sprint(in.City, in.Days, in.Wait)}, nil
		})
	if err != nil {
		t.Fatal(err)
	}
	r := run(t, h.Root(), "forecast", `{"city":"Oslo","wait":"2s"}`)
	if r.Err != nil || string(r.Structured) != `{"line":"Oslo3 2s"}` || r.Text() != `{"line":"Oslo3 2s"}` {
		t.Errorf("result %s %q %v", r.Structured, r.Text(), r.Err)
	}
	r = run(t, h.Root(), "forecast", `{"city":"Oslo","days":30}`)
	wantCode(t, r, CodeArguments)
	want := ToolError{Code: CodeArguments, Tool: "forecast", Message: "invalid arguments: days: want at most 14, got 30",
		Path: "days", Constraint: "at most 14", Parameters: json.RawMessage(`{"default":3,"maximum":14,"type":"integer"}`)}
	got := *r.Err
	got.Cause = nil
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
	list := h.Root().Tools().List(Viewer{})
	if len(list) != 1 || list[0].Run != nil || list[0].Source != (Source{Kind: FromPlugin, Name: "root"}) {
		t.Errorf("list: %+v", list)
	}
}

func TestDefineRefusesBadTools(t *testing.T) {
	h := newHost(t)
	bad := map[string]Tool{
		"a name has 1 to 64":   says("a b", ""),
		"no function to run":   {Name: "x"},
		"not valid JSON":       {Name: "x", Parameters: json.RawMessage(`{`), Run: says("x", "").Run},
		"want read, write":     {Name: "x", Traits: Traits{Effect: "reed"}, Run: says("x", "").Run},
		"a group has no name":  {Name: "x", Groups: []string{""}, Run: says("x", "").Run},
		"at most 1048576 are ": {Name: "x", Parameters: json.RawMessage(strings.Repeat(" ", 2<<20)), Run: says("x", "").Run},
	}
	for want, tool := range bad {
		if err := h.Root().Tools().Define(tool); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Define: %v, want ...%s...", err, want)
		}
	}
	if err := DefineTool(h.Root(), Tool{Name: "x"}, func(context.Context, string) (string, error) { return "", nil }); err == nil {
		t.Error("arguments that are a string were taken")
	}
	if err := DefineTool[struct{}, string](h.Root(), Tool{Name: "x"}, nil); err == nil {
		t.Error("a tool without a function was taken")
	}
	if list := h.Root().Tools().List(Viewer{}); len(list) != 0 {
		t.Errorf("a refused tool is there: %v", namesOf(list))
	}
}

func TestT51_ArgumentsMeanWhatTheyPlainlyMean(t *testing.T) {
	h := newHost(t)
	echo := says("echo", "")
	echo.Run = func(_ context.Context, call *Invocation) (Result, error) { return TextResult(string(call.Args)), nil }
	mustDefine(t, h.Root(), echo)
	for in, want := range map[string]string{
		"": "{}", "null": "{}", `""`: "{}", " \n": "{}", `" "`: "{}", `"null"`: "{}",
		`"{\"a\":1}"`: `{"a":1}`, ` {"a":1} `: `{"a":1}`,
	} {
		wantText(t, run(t, h.Root(), "echo", in), want)
	}
	for _, in := range []string{"[1]", "1", `"x"`, `"[]"`, "{", `{"a":}`, "true", `{"a":` + strings.Repeat("[", 70) + strings.Repeat("]", 70) + "}"} {
		wantCode(t, run(t, h.Root(), "echo", in), CodeArguments)
	}
}

func TestRule40_ANameIsUniquePerScope(t *testing.T) {
	h := newHost(t)
	root := h.Root()
	a := tooler(t, root, "a", func(c *Context) error { return c.Tools().Define(says("x", "global")) })
	tooler(t, root, "b", func(c *Context) error {
		err := c.Tools().Define(says("x", "second"))
		var conflict *ToolConflictError
		if !errors.As(err, &conflict) || conflict.First != "root/a" || conflict.Second != "root/b" {
			t.Errorf("second Define: %v", err)
		}
		if err := c.Tools().Replace(says("x", "second")); !errors.As(err, &conflict) {
			t.Errorf("Replace by another owner: %v", err)
		}
		agents, group := says("x", "agent's"), says("x", "group's")
		agents.Scope, group.Groups = "bob", []string{"g", "h"}
		mustDefine(t, c, agents, group)
		return nil
	})
	for want, v := range map[string]Viewer{
		"global": {}, "agent's": {Agent: "bob", Groups: []string{"g"}}, "group's": {Agent: "eve", Groups: []string{"h"}},
	} {
		r := root.Tools().Execute(t.Context(), Call{Name: "x", Viewer: v})
		if v.Agent == "" {
			wantText(t, r, want)
			continue
		}
		wantText(t, r, want)
		e := root.Tools().Catalog(v)
		if len(e) != 1 || e[0].Shadows != "root/a" || e[0].Owner != "root/b" {
			t.Errorf("catalogue of %+v: %+v", v, e)
		}
	}
	if err := a.Dispose(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantCode(t, run(t, root, "x", ""), CodeUnknown)
}

func TestRule40_ReplaceIsAtomicAndDoesNotBringBack(t *testing.T) {
	h := newHost(t)
	root := h.Root()
	mustDefine(t, root, says("x", "old"))
	s, err := root.Scope("s")
	if err != nil {
		t.Fatal(err)
	}
	before := root.Tools().Version()
	if err := s.Tools().Replace(says("x", "new")); err != nil {
		t.Fatal(err)
	}
	if got := root.Tools().Version(); got != before+1 {
		t.Errorf("a replacement is %d changes, want 1", got-before)
	}
	wantText(t, run(t, root, "x", ""), "new")
	if err := s.Dispose(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantCode(t, run(t, root, "x", ""), CodeUnknown)
	if n := len(root.Fiber().Effects()); n != 0 {
		t.Errorf("%d effects left: %v", n, root.Fiber().Effects())
	}
}

func TestRule40_OfSeveralGroupsTheViewersFirstCounts(t *testing.T) {
	h := newHost(t)
	for _, scope := range []string{"", "bob"} {
		for _, group := range []string{"", "g", "h"} {
			tool := says("x", scope+"/"+group)
			tool.Scope = scope
			if group != "" {
				tool.Groups = []string{group}
			}
			mustDefine(t, h.Root(), tool)
		}
	}
	for want, v := range map[string]Viewer{
		"/": {}, "/g": {Groups: []string{"g", "h"}}, "/h": {Groups: []string{"none", "h", "g"}},
		"bob/": {Agent: "bob"}, "bob/g": {Agent: "bob", Groups: []string{"g", "h"}}, "bob/h": {Agent: "bob", Groups: []string{"h", "g"}},
	} {
		wantText(t, h.Root().Tools().Execute(t.Context(), Call{Name: "x", Viewer: v}), want)
	}
}

func TestT14_EndingTheFirstRegistrationLeavesTheLatest(t *testing.T) {
	h := newHost(t)
	first, err := h.Root().Scope("first")
	must(t, err)
	second, err := h.Root().Scope("second")
	must(t, err)
	mustDefine(t, first.Context, says("x", "old"))
	must(t, second.Tools().Replace(says("x", "new")), first.Dispose(t.Context()))
	wantText(t, run(t, h.Root(), "x", ""), "new")
	must(t, second.Dispose(t.Context()))
	wantCode(t, run(t, h.Root(), "x", ""), CodeUnknown)
}

func TestL54_EveryChangeIsANewVersionAndWhatIsGoneCantBeCalled(t *testing.T) {
	h := newHost(t)
	tools := h.Root().Tools()
	version := tools.Version()
	changed := func(what string) {
		t.Helper()
		if now := tools.Version(); now <= version {
			t.Errorf("%s: version %d is still %d", what, version, now)
		}
		version = tools.Version()
	}
	var c *Context
	f := tooler(t, h.Root(), "p", func(own *Context) error { c = own; return c.Tools().Define(says("x", "ran")) })
	changed("loaded")
	must(t, c.Tools().Replace(says("x", "ran")))
	changed("replaced")
	must(t, c.Tools().Filter(Filter{Exclude: []string{"y"}}))
	changed("filtered")
	must(t, c.Tools().Visibility(func(Viewer, *Tool) bool { return true }))
	changed("a rule")
	s, err := c.Tools().Source(FromMCP, "s")
	must(t, err)
	s.Set(SourceDisabled)
	changed("a source")
	before := tools.List(Viewer{})
	must(t, f.Restart(t.Context()))
	changed("restarted")
	must(t, f.Dispose(t.Context()))
	changed("unloaded")
	if list := tools.List(Viewer{}); len(list) != 0 {
		t.Errorf("left: %s", namesOf(list))
	}
	wantCode(t, run(t, h.Root(), "x", ""), CodeUnknown)
	// H16: who works on a list keeps it.
	if namesOf(before) != "x" {
		t.Errorf("the list of before is %q now", namesOf(before))
	}
}

func TestRule42_ABatchIsOneChange(t *testing.T) {
	h := newHost(t)
	tools := h.Root().Tools()
	mustDefine(t, h.Root(), says("a", "1"), says("b", "1"))
	before := tools.Version()
	err := tools.Batch(func(b *ToolBatch) error {
		b.Remove("a")
		b.Define(says("a", "2"))
		b.Replace(says("b", "2"))
		b.Define(says("c", "2"))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := tools.Version(); got != before+1 {
		t.Errorf("a batch is %d changes, want 1", got-before)
	}
	for _, name := range []string{"a", "b", "c"} {
		wantText(t, run(t, h.Root(), name, ""), "2")
	}
	list := tools.List(Viewer{})
	err = tools.Batch(func(b *ToolBatch) error {
		b.Remove("a")
		b.Replace(says("b", "3"))
		b.Define(says("c", "3"))
		return nil
	})
	if !errors.As(err, new(*ToolConflictError)) {
		t.Errorf("Batch: %v, want a conflict", err)
	}
	err = tools.Batch(func(b *ToolBatch) error {
		b.Remove("a")
		b.Define(says("a", "3"))
		b.Define(says("c", "3"))
		return nil
	})
	if !errors.As(err, new(*ToolConflictError)) {
		t.Errorf("Batch: %v, want a conflict", err)
	}
	if err := tools.Batch(func(b *ToolBatch) error { b.Remove("a"); return errTimeout }); err != errTimeout {
		t.Errorf("Batch: %v, want what the function returned", err)
	}
	if after := tools.List(Viewer{}); &after[0] != &list[0] {
		t.Error("a batch that failed changed the registry")
	}
	mustDefine(t, h.Root(), says("d", "")) // so that the table is read anew
	for _, name := range []string{"a", "b", "c"} {
		wantText(t, run(t, h.Root(), name, ""), "2")
	}
	if n := len(h.Root().Fiber().Effects()); n != 4 {
		t.Errorf("%d effects, want 4", n)
	}
}

func TestRule42_ReadersSeeTheOldListOrTheNew(t *testing.T) {
	h := newHost(t)
	tools := h.Root().Tools()
	mustDefine(t, h.Root(), says("a0", ""), says("b0", ""))
	stop := make(chan struct{})
	done := make(chan string)
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
			}
			if l := tools.List(Viewer{}); len(l) != 2 || l[0].Name[1] != l[1].Name[1] {
				done <- namesOf(l)
				return
			}
		}
	}()
	for i := range 200 {
		now, next := fmt.Sprint(i%2), fmt.Sprint((i+1)%2)
		err := tools.Batch(func(b *ToolBatch) error {
			b.Remove("a" + now)
			b.Remove("b" + now)
			b.Define(says("a"+next, ""))
			b.Define(says("b"+next, ""))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	if bad, ok := <-done; ok {
		t.Errorf("a reader saw %q", bad)
	}
}

func TestRule41_AChangeOfToolsRestartsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		var applied, told atomic.Int32
		tooler(t, h.Root(), "consumer", func(c *Context) error {
			applied.Add(1)
			return ToolsChanged.On(c, func(context.Context, ToolChange) error { told.Add(1); return nil })
		})
		before := h.Root().Tools().Version()
		mustDefine(t, h.Root(), says("a", ""), says("b", ""), says("c", ""))
		if got := h.Root().Tools().Version(); got != before+3 {
			t.Errorf("version rose by %d, want 3", got-before)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if applied.Load() != 1 || told.Load() != 1 {
			t.Errorf("applied %d times, told %d times, want 1 and 1", applied.Load(), told.Load())
		}
	})
}

func TestListOfAnUnchangedRegistryAllocatesNothing(t *testing.T) {
	h := newHost(t)
	for i := range 50 {
		mustDefine(t, h.Root(), says(fmt.Sprintf("t%d", i), ""))
	}
	tools, v := h.Root().Tools(), h.Root().Viewer(Viewer{Agent: "a", Session: "s", Groups: []string{"g", "h"}})
	for name, f := range map[string]func(){"List": func() { tools.List(v) }, "Catalog": func() { tools.Catalog(v) }} {
		f()
		if n := testing.AllocsPerRun(100, f); n != 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
	if list := tools.List(v); !strings.HasPrefix(namesOf(list), "t0 t1 t10 t11 ") {
		t.Errorf("not sorted: %s", namesOf(list))
	}
}

func TestViewsOfManyViewersAreBounded(t *testing.T) {
	h := newHost(t)
	mustDefine(t, h.Root(), says("x", ""))
	tools := h.Root().Tools()
	for i := range 3 * viewsKept {
		tools.List(Viewer{Agent: fmt.Sprint("a", i)})
	}
	snap := h.tools.current()
	if n := len(*snap.bases.table.Load()); n > viewsKept {
		t.Errorf("%d views are kept, at most %d", n, viewsKept)
	}
}

func TestResultsAreCapped(t *testing.T) {
	h := newHost(t)
	long := says("long", "")
	long.Run = func(context.Context, *Invocation) (Result, error) {
		return Result{Parts: []llm.Part{llm.Text(strings.Repeat("é", 500)), {Kind: llm.ImagePart, Data: []byte("x")},
			llm.Text("the end")}}, nil
	}
	mustDefine(t, h.Root(), long)
	for _, limit := range []int{1, 7, 40, 41, 200} {
		r := h.Root().Tools().Execute(t.Context(), Call{Name: "long", MaxResult: limit})
		text := r.Text()
		if r.Truncated != 1007 || len(text) > limit || len(text) < limit-3 && limit > 40 || len(r.Parts) != 2 {
			t.Errorf("limit %d: %d bytes, truncated %d, %d parts", limit, len(text), r.Truncated, len(r.Parts))
		}
		if strings.ToValidUTF8(text, "?") != text {
			t.Errorf("limit %d: a character was cut in two: %q", limit, text)
		}
		if limit == 200 && (!strings.HasPrefix(text, "éé") || !strings.HasSuffix(text, "the end") || !strings.Contains(text, "1007 bytes in all")) {
			t.Errorf("cut to %q", text)
		}
	}
}

func TestL51_ReloadsPileNothingUp(t *testing.T) {
	h := newHost(t)
	p := Plugin[struct{}]{Name: "p", Apply: func(c *Context, _ struct{}) error {
		for i := range 10 {
			mustDefine(t, c, says(fmt.Sprint("t", i), ""))
		}
		for range 3 {
			must(t, ToolDone.On(c, func(context.Context, ToolOutcome) error { return nil }))
		}
		must(t, c.Tools().Filter(Filter{Exclude: []string{"none"}}))
		must(t, c.Tools().Visibility(func(Viewer, *Tool) bool { return true }))
		must(t, c.Tools().Use(1, func(n Handler) Handler { return n }))
		_, err := c.Tools().Source(FromMCP, "s")
		return errors.Join(err, c.Go("wait", func(ctx context.Context) error { <-ctx.Done(); return nil }))
	}}
	f, err := Load(h.Root(), p, struct{}{})
	must(t, err, f.Ready(t.Context()))
	for range 1000 {
		must(t, f.Restart(t.Context()), f.Ready(t.Context()))
		if n := len(h.Root().Tools().List(Viewer{})); n != 10 {
			t.Fatalf("%d tools, want 10", n)
		}
	}
	must(t, f.Dispose(t.Context()))
	r := &h.tools
	if n := len(h.Root().Fiber().Effects()); n != 0 || len(r.defs) != 0 || len(r.sources) != 0 || h.Root().filters.Load() != nil {
		t.Errorf("left: %d effects, %d names, %d sources", n, len(r.defs), len(r.sources))
	}
	if h.snapshot(toolWraps) != nil || h.snapshot(toolRules) != nil {
		t.Error("a middleware or a rule is left")
	}
}

func TestL49_ABadToolIsRefusedAndTheOthersStay(t *testing.T) {
	h := newHost(t)
	mustDefine(t, h.Root(), says("x", "old"), says("y", "fine"))
	bad := says("x", "new")
	bad.Parameters = json.RawMessage(`{"type":`)
	if err := h.Root().Tools().Replace(bad); err == nil {
		t.Error("a tool with a broken schema was taken")
	}
	wantText(t, run(t, h.Root(), "x", ""), "old")
	wantText(t, run(t, h.Root(), "y", ""), "fine")
}

func TestASchemaThatDoesNotCompileKeepsItsTool(t *testing.T) {
	var log strings.Builder
	h := New(&Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	defer h.Close(t.Context())
	for i, schema := range []string{`{"pattern":"(?=a)"}`, `{"properties":null}`, `{"required":true}`, `true`, `[]`, `{"$ref":"http://x.example/y"}`} {
		tool := says(fmt.Sprint("t", i), "ran")
		tool.Parameters = json.RawMessage(schema)
		mustDefine(t, h.Root(), tool)
		for range 2 {
			wantText(t, run(t, h.Root(), tool.Name, `{"a":1}`), "ran")
		}
		if list := h.Root().Tools().List(Viewer{}); string(list[i].Parameters) != schema {
			t.Errorf("the schema became %s", list[i].Parameters)
		}
	}
	if n := strings.Count(log.String(), "arguments are not checked"); n != 5 {
		t.Errorf("said %d times, want once for each of 5:\n%s", n, log.String())
	}
}

func TestFiltersNarrowForTheFiberAndBelow(t *testing.T) {
	h := newHost(t)
	mustDefine(t, h.Root(), says("read_file", ""), says("write_file", ""), says("mcp__docs__find", ""))
	var agent, beside Viewer
	group := tooler(t, h.Root(), "group", func(c *Context) error {
		must(t, c.Tools().Filter(Filter{Include: []string{"mcp__docs__*", "*_file"}, Exclude: []string{"write_*"}}))
		tooler(t, c, "agent", func(c *Context) error {
			agent = c.Viewer(Viewer{Agent: "a"})
			return nil
		})
		return nil
	})
	tooler(t, h.Root(), "beside", func(c *Context) error { beside = c.Viewer(Viewer{}); return nil })
	tools := h.Root().Tools()
	for want, v := range map[string]Viewer{
		"mcp__docs__find read_file": agent, "mcp__docs__find read_file write_file": beside,
		"read_file write_file": h.Root().Filtered(Filter{Exclude: []string{"mcp*"}}).Viewer(Viewer{}),
	} {
		if got := namesOf(tools.List(v)); got != want {
			t.Errorf("%s sees %q, want %q", v.Path(), got, want)
		}
	}
	r := tools.Execute(t.Context(), Call{Name: "write_file", Viewer: agent})
	wantCode(t, r, CodeUnknown)
	must(t, group.Dispose(t.Context()))
	if got := namesOf(tools.List(Viewer{})); got != "mcp__docs__find read_file write_file" {
		t.Errorf("the root sees %q", got)
	}
	if all := tools.All(); len(all) != 3 {
		t.Errorf("All lists %d", len(all))
	}
}

func TestARuleThatPanicsHidesAndAPreviewThatPanicsDoesNot(t *testing.T) {
	h := newHost(t)
	mustDefine(t, h.Root(), says("a", "ran"), says("b", "ran"), says("c", "ran"))
	rule := tooler(t, h.Root(), "rule", func(c *Context) error {
		return c.Tools().Visibility(func(_ Viewer, t *Tool) bool {
			if t.Name == "b" {
				panic("boom")
			}
			return true
		})
	})
	tools := h.Root().Tools()
	if got := namesOf(tools.List(Viewer{})); got != "a c" {
		t.Errorf("list %q, want a c", got)
	}
	wantCode(t, run(t, h.Root(), "b", ""), CodeUnknown)
	must(t, rule.Dispose(t.Context()))
	tooler(t, h.Root(), "policy", func(c *Context) error { return Deciders.Provide(c, jumpy{}) })
	if got := namesOf(tools.List(Viewer{})); got != "a b" {
		t.Errorf("list %q, want a b", got)
	}
	wantText(t, run(t, h.Root(), "a", ""), "ran")
}

// jumpy panics at a, lets b be and hides c.
type jumpy struct{}

func (jumpy) Preview(_ Viewer, t *Tool) (Policy, string) {
	switch t.Name {
	case "a":
		panic("boom")
	case "b":
		return Auto, ""
	}
	return Off, ""
}

func (jumpy) Decide(context.Context, DecideRequest) Decision { return Decision{Verdict: Allow} }

func TestSourcesHaveAState(t *testing.T) {
	h := newHost(t)
	tool := says("x", "ran")
	tool.Source = Source{Kind: FromMCP, Name: "s", Trusted: true}
	mustDefine(t, h.Root(), tool)
	tools := h.Root().Tools()
	var control *SourceControl
	f := tooler(t, h.Root(), "mcp", func(c *Context) (err error) {
		control, err = c.Tools().Source(FromMCP, "s")
		return err
	})
	for _, s := range []SourceState{SourceConnecting, SourceUnavailable, SourceReady} {
		control.Set(s)
		if got := tools.Catalog(Viewer{}); len(got) != 1 || got[0].State != s {
			t.Errorf("catalogue %+v, want state %s", got, s)
		}
		wantText(t, run(t, h.Root(), "x", ""), "ran")
	}
	before := tools.Version()
	control.Set(SourceReady)
	if tools.Version() != before {
		t.Error("nothing changed and the version rose")
	}
	control.Set(SourceDisabled)
	if got := tools.List(Viewer{}); len(got) != 0 {
		t.Errorf("a disabled source shows %s", namesOf(got))
	}
	must(t, f.Dispose(t.Context()))
	wantText(t, run(t, h.Root(), "x", ""), "ran")
}

func FuzzMatchName(f *testing.F) {
	for _, s := range [][2]string{{"*", ""}, {"a*b?c", "axxbyc"}, {"**a", "ba"}, {"?", "é"}, {"mcp__*__read", "mcp__a__b__read"}, {"a.b", "axb"}} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, pattern, name string) {
		if len(pattern) > 20 || strings.Count(pattern, "*") > 5 {
			return
		}
		expr := strings.NewReplacer(`\*`, "(?s:.*)", `\?`, `(?s:.)`).Replace(regexp.QuoteMeta(pattern))
		for i := range len(name) {
			if name[i] >= 0x80 {
				return // names are ASCII; a character is a byte
			}
		}
		re, err := regexp.Compile("^(?:" + expr + ")$")
		if err != nil {
			return
		}
		if got, want := MatchName(pattern, name), re.MatchString(name); got != want {
			t.Errorf("MatchName(%q, %q) = %v, want %v", pattern, name, got, want)
		}
	})
}

func ExampleTools_Batch() {
	h := New(nil)
	defer h.Close(context.Background())
	tool := func(name string) Tool {
		return Tool{Name: name, Traits: Traits{Effect: Read}, Run: func(context.Context, *Invocation) (Result, error) {
			return TextResult("done"), nil
		}}
	}
	tools := h.Root().Tools()
	_ = tools.Define(tool("old"))
	err := tools.Batch(func(b *ToolBatch) error {
		b.Remove("old")
		b.Define(tool("new"))
		return nil
	})
	for _, e := range tools.Catalog(Viewer{}) {
		fmt.Println(e.Name, e.Effect, e.Owner, err)
	}
	// Output: new read root <nil>
}

func ExampleTools_Use() {
	h := New(nil)
	defer h.Close(context.Background())
	_ = DefineTool(h.Root(), Tool{Name: "greet", Traits: Traits{Effect: Read}},
		func(context.Context, struct{}) (string, error) { return "hello", nil })
	_ = h.Root().Tools().Use(0, func(next Handler) Handler {
		return func(ctx context.Context, call *Invocation) Result {
			fmt.Println("before", call.Name)
			defer fmt.Println("after")
			return next(ctx, call)
		}
	})
	fmt.Println(h.Root().Tools().Execute(context.Background(), Call{Name: "greet"}).Text())
	// Output:
	// before greet
	// after
	// hello
}

func ExampleDefineTool() {
	h := New(nil)
	defer h.Close(context.Background())
	type args struct {
		City string `json:"city" jsonschema_description:"City name, any language"`
	}
	err := DefineTool(h.Root(), Tool{
		Name: "weather_lookup", Description: "Current weather of a city.",
		Traits: Traits{Effect: Read, Parallel: true},
	}, func(ctx context.Context, in args) (string, error) {
		return "sunny in " + in.City, nil
	})
	if err != nil {
		fmt.Println(err)
	}
	tools := h.Root().Tools()
	fmt.Println(tools.Execute(context.Background(), Call{Name: "weather_lookup", Args: []byte(`{"city":"Oslo"}`)}).Text())
	fmt.Println(tools.Execute(context.Background(), Call{Name: "weather_lookup"}).Err)
	fmt.Println(tools.Execute(context.Background(), Call{Name: "wether_lookup"}).Err)
	// Output:
	// sunny in Oslo
	// weather_lookup: invalid arguments: city: missing; want a string
	// wether_lookup: there is no tool "wether_lookup"; did you mean weather_lookup?
}
