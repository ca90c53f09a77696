package offline

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/agentd-host/agentd/core/llm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var lookup = llm.Tool{
	Name: "weather_lookup", Description: "Current weather of a city. Cached.",
	Parameters: json.RawMessage(`{"type":"object","properties":{
		"city":{"type":"string"},"days":{"type":"integer"},"tags":{"type":"array"},"exact":{"type":["boolean","null"]}},
		"required":["city"]}`),
}

var readFile = llm.Tool{Name: "read_file", Description: "Read a text file, by lines."}

func ask(t *testing.T, req *llm.Request) llm.Message {
	t.Helper()
	a, err := llm.Collect(Model{}.Stream(t.Context(), req))
	if err != nil {
		t.Fatal(err)
	}
	return a.Message
}

func userRequest(text string, tools ...llm.Tool) *llm.Request {
	return &llm.Request{Messages: []llm.Message{llm.UserText(text)}, Tools: tools}
}

func TestMessagesThatAreCalls(t *testing.T) {
	for _, tt := range []struct{ message, name, args string }{
		{"todo_write", "todo_write", `{}`},
		{"  todo_write\n", "todo_write", `{}`},
		{"no-such_tool x=1", "no-such_tool", `{"x":1}`},
		{"read_file path=README.md", "read_file", `{"path":"README.md"}`},
		{`weather_lookup {"city":"Oslo"}`, "weather_lookup", `{"city":"Oslo"}`},
		{`weather_lookup{"city":"Oslo"}`, "weather_lookup", `{"city":"Oslo"}`},
		{"weather_lookup {\n \"city\": \"Oslo\"\n}", "weather_lookup", "{\n \"city\": \"Oslo\"\n}"},
		{`weather_lookup {"city":}`, "weather_lookup", `{"city":}`}, // the loop says what is wrong
		{`weather_lookup city=12`, "weather_lookup", `{"city":"12"}`},
		{`weather_lookup city=true days=3`, "weather_lookup", `{"city":"true","days":3}`},
		{`weather_lookup city="New York" days="3"`, "weather_lookup", `{"city":"New York","days":3}`},
		{`weather_lookup city='it"s' exact=true`, "weather_lookup", `{"city":"it\"s","exact":true}`},
		{`weather_lookup city="a\nb"`, "weather_lookup", `{"city":"a\nb"}`},
		{`weather_lookup city="C:\x"`, "weather_lookup", `{"city":"C:\\x"}`},
		{`weather_lookup tags=[1,2] city=`, "weather_lookup", `{"tags":[1,2],"city":""}`},
		{`weather_lookup tags=cold`, "weather_lookup", `{"tags":["cold"]}`},
		{`weather_lookup tags=7`, "weather_lookup", `{"tags":[7]}`},
		{`f a={"b": [1, 2]} c=x=y`, "f", `{"a":{"b": [1, 2]},"c":"x=y"}`},
		{`f a=007`, "f", `{"a":"007"}`},
		{`f 名=値`, "f", `{"名":"値"}`},
	} {
		t.Run(tt.message, func(t *testing.T) {
			calls := ask(t, userRequest(tt.message, lookup, readFile)).Calls()
			want := []llm.ToolCall{{ID: "call_0_0", Name: tt.name, Args: tt.args}}
			if diff := cmp.Diff(want, calls); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestMessagesThatAreSearches(t *testing.T) {
	for _, message := range []string{
		"find text in files", "read_file README.md", "what's up?", "hello world",
		"read_file path=a b", `read_file path="a`, `read_file path="a"b`, "read_file {path", "a.b x=1",
		"weather x=1 in Oslo", strings.Repeat("x", 65), "one\ntwo", "{}", "= =", "f =x",
	} {
		t.Run(message, func(t *testing.T) {
			if calls := ask(t, userRequest(message, lookup)).Calls(); len(calls) != 0 {
				t.Errorf("want a search, got the calls %v", calls)
			}
		})
	}
}

func TestSeveralLinesAreTheCallsOfOneAnswer(t *testing.T) {
	calls := ask(t, userRequest("read_file path=a\n\n read_file {\"path\":\"b\"}\r\n")).Calls()
	want := []llm.ToolCall{
		{ID: "call_0_0", Name: "read_file", Args: `{"path":"a"}`},
		{ID: "call_0_1", Name: "read_file", Args: `{"path":"b"}`},
	}
	if diff := cmp.Diff(want, calls); diff != "" {
		t.Error(diff)
	}
}

func TestSearchUsesTheSearchToolWhereThereIsOne(t *testing.T) {
	req := userRequest("how warm is it", llm.Tool{Name: "tool_search"})
	m := ask(t, req)
	if got := m.Calls(); len(got) != 1 || got[0].Name != "tool_search" || got[0].Args != `{"query":"how warm is it"}` {
		t.Fatalf("got %+v", got)
	}
	answer := `{"query":"x","tools":[{"name":"weather_lookup","description":"Weather. More.","parameters":{"properties":{"city":{"type":"string"}},"required":["city"]},"state":"deferred"}]}`
	req.Messages = append(req.Messages, m, result("tool_search", answer, false))
	text := ask(t, req).Text()
	for _, want := range []string{"weather_lookup city=<string>", "Weather."} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %q", want, text)
		}
	}
	if strings.Contains(text, "More.") {
		t.Errorf("more than a sentence in %q", text)
	}
}

func TestSearchRanksTheRequestsToolsItself(t *testing.T) {
	text := ask(t, userRequest("read files please", lookup, readFile)).Text()
	if !strings.Contains(text, "read_file") || strings.Contains(text, "weather_lookup") {
		t.Errorf("got %q", text)
	}
	text = ask(t, userRequest("quantum chromodynamics", lookup, readFile)).Text()
	if !strings.Contains(text, "No tool fits") || !strings.Contains(text, "read_file, weather_lookup") {
		t.Errorf("got %q", text)
	}
}

func TestResultsAreShownAsTheyAre(t *testing.T) {
	req := userRequest("read_file path=x")
	req.Messages = append(req.Messages, ask(t, req), result("read_file", "line one\n", false))
	if got := ask(t, req).Text(); got != "line one\n" {
		t.Errorf("got %q", got)
	}
	req.Messages[2] = result("read_file", "not there", true)
	if got := ask(t, req).Text(); got != "read_file failed: not there\n" {
		t.Errorf("got %q", got)
	}
}

func TestNotesOfTheHostAreNoCommands(t *testing.T) {
	req := userRequest("read_file path=x")
	req.Messages = append(req.Messages, ask(t, req), result("read_file", "text", false),
		llm.Message{Role: llm.User, Parts: []llm.Part{llm.NamedText("job", "job_1")}})
	if got := ask(t, req).Text(); got != "text\n" {
		t.Errorf("got %q", got)
	}
}

func TestNoCallsWhenTheRequestForbidsThem(t *testing.T) {
	req := userRequest("read_file path=x", readFile)
	req.Choice.Mode = "none"
	if m := ask(t, req); len(m.Calls()) != 0 || m.Text() == "" {
		t.Errorf("got %+v", m)
	}
}

func TestLongAnswersComeInPiecesThatCutNoRune(t *testing.T) {
	req := userRequest("f")
	long := strings.Repeat("日本語", 200)
	req.Messages = append(req.Messages, ask(t, req), result("f", long, false))
	var text string
	n := 0
	for ev, err := range (Model{}).Stream(t.Context(), req) {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Kind == llm.TextDelta {
			n++
			text += ev.Text
			if len(ev.Text) > chunk || !utf8.ValidString(ev.Text) || !strings.HasPrefix(long+"\n", text) {
				t.Fatalf("piece %d of %d bytes: %q", n, len(ev.Text), ev.Text)
			}
		}
	}
	if text != long+"\n" || n < 8 {
		t.Errorf("%d pieces, %d bytes", n, len(text))
	}
}

func TestCancelledStreamEndsWithAnError(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := llm.Collect(Model{}.Stream(ctx, userRequest("f")))
	var e *llm.Error
	if !errors.As(err, &e) || e.Kind != llm.ErrCancelled {
		t.Errorf("got %v", err)
	}
}

func result(name, text string, isError bool) llm.Message {
	return llm.Message{Role: llm.ToolRole, Parts: []llm.Part{{
		Kind:   llm.ToolResultPart,
		Result: &llm.ToolResult{CallID: "call_0_0", Name: name, Parts: []llm.Part{llm.Text(text)}, IsError: isError},
	}}}
}

// FuzzParse: whatever is typed, a call has a legal name, and words become
// valid JSON.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"read_file path=README.md", `f {"a":1}`, `f a="b c" d='e' g=[1,2]`, "f a=1\nf b=2", "hello there", `f a="\u00`, "f a={",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		cmds, ok := parse(s)
		if ok != (len(cmds) > 0) {
			t.Fatalf("ok %v with %d calls", ok, len(cmds))
		}
		for _, c := range cmds {
			if !toolName.MatchString(c.name) {
				t.Errorf("name %q", c.name)
			}
			for _, schema := range []json.RawMessage{nil, lookup.Parameters} {
				if args := c.arguments(schema); c.object == "" && !json.Valid([]byte(args)) {
					t.Errorf("arguments %q of %q", args, s)
				}
			}
		}
	})
}
