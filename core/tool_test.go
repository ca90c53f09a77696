package core

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
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
