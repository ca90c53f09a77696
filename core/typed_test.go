package core

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentd-host/agentd/core/llm"
)

func TestWhatATypedToolReturnsBecomesTheResult(t *testing.T) {
	type line struct {
		Text string `json:"text"`
	}
	image := llm.Part{Kind: llm.ImagePart, Data: []byte("x")}
	tests := []struct {
		name       string
		returned   any
		text       string
		structured string
		code       ErrorCode
	}{
		{"nothing", nil, "(no output)", "", ""},
		{"an empty struct", struct{}{}, "(no output)", "", ""},
		{"a text", "hello", "hello", "", ""},
		{"an empty text", "", "(no output)", "", ""},
		{"parts", []llm.Part{llm.Text("a"), image}, "a", "", ""},
		{"a result", Result{Structured: json.RawMessage("1"), Parts: []llm.Part{llm.Text("one")}}, "one", "1", ""},
		{"a pointer to a result", &Result{Parts: []llm.Part{llm.Text("one")}}, "one", "", ""},
		{"no result", (*Result)(nil), "(no output)", "", ""},
		{"a failed result", ErrorResult(CodeFailed, "", "no luck"), "error: no luck", "", CodeFailed},
		{"raw JSON", json.RawMessage(`[1]`), "[1]", "[1]", ""},
		{"a struct", line{"a"}, `{"text":"a"}`, `{"text":"a"}`, ""},
		{"a number", 3, "3", "3", ""},
		{"what has no JSON form", make(chan int), "error: the result has no JSON form: json: unsupported type: chan int", "", CodeFailed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newHost(t)
			must(t, DefineTool(h.Root(), Tool{Name: "x", Traits: Traits{Effect: Read}},
				func(context.Context, struct{}) (any, error) { return tt.returned, nil }))
			r := run(t, h.Root(), "x", "")
			wantCode(t, r, tt.code)
			if r.Text() != tt.text || string(r.Structured) != tt.structured {
				t.Errorf("text %q, structured %s", r.Text(), r.Structured)
			}
		})
	}
}

func TestATypedToolThatFailsKeepsWhatItHas(t *testing.T) {
	h := newHost(t)
	must(t, DefineTool(h.Root(), Tool{Name: "x", Traits: Traits{Effect: Read}},
		func(context.Context, struct{}) (string, error) { return "half", errors.New("no luck") }))
	r := run(t, h.Root(), "x", "")
	wantCode(t, r, CodeFailed)
	if r.Text() != "half" || r.Err.Message != "no luck" {
		t.Errorf("text %q, error %v", r.Text(), r.Err)
	}
}

// What passes the schema may still not fit the type.
func TestT62_ArgumentsThatDoNotFitTheTypeAreAnArgumentError(t *testing.T) {
	h := newHost(t)
	type in struct {
		N int8          `json:"n,omitempty"`
		D time.Duration `json:"d,omitempty"`
	}
	must(t, DefineTool(h.Root(), Tool{Name: "x", Traits: Traits{Effect: Read}, Parameters: json.RawMessage(`{"type":"object"}`)},
		func(_ context.Context, in in) (in2 struct{}, err error) { return }))
	for args, path := range map[string]string{`{"n":300}`: "n", `{"n":"x"}`: "n", `{"d":"soon"}`: "d", `{"k":1}`: "k"} {
		r := run(t, h.Root(), "x", args)
		wantCode(t, r, CodeArguments)
		if r.Err != nil && r.Err.Path != path {
			t.Errorf("%s: path %q (%v), want %q", args, r.Err.Path, r.Err, path)
		}
	}
}

func TestTypedToolSaysWhatIsWrongWithIt(t *testing.T) {
	none := func(context.Context, struct{}) (string, error) { return "", nil }
	_, twice := TypedTool(says("x", ""), none)
	_, list := TypedTool(Tool{Name: "x"}, func(context.Context, []string) (string, error) { return "", nil })
	_, odd := TypedTool(Tool{Name: "x"}, func(context.Context, struct{ C chan int }) (string, error) { return "", nil })
	got := []string{twice.Error(), list.Error()}
	want := []string{`tool "x": it has a function already`, `tool "x": the arguments are a []string: they must be a struct or a map`}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if odd == nil {
		t.Error("a channel was taken as an argument")
	}
}
