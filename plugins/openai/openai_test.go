package openai

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/agentd-host/agentd/core/coretest"
	"github.com/agentd-host/agentd/core/llm"
	"github.com/agentd-host/agentd/core/llm/wire"
	"github.com/agentd-host/agentd/core/provider"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve starts a fake of the API and gives a maker of what talks to it.
func serve(t *testing.T, answer http.HandlerFunc) (*coretest.Upstream, func(Config) llm.Model) {
	t.Helper()
	api := coretest.NewUpstream(t, "/v1/chat/completions", answer)
	return api, func(cfg Config) llm.Model {
		t.Helper()
		cfg.BaseURL, cfg.Model, cfg.APIKey = api.URL+"/v1", "m", "sk-canary-0123456789"
		s := newServer("openai", cfg)
		t.Cleanup(s.client.CloseIdleConnections)
		m, err := s.Model("")
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
}

func stream(w http.ResponseWriter, chunks ...string) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, c := range chunks {
		fmt.Fprintf(w, "data: %s\n\n", c)
		w.(http.Flusher).Flush()
	}
}

func jsonOf(v any) string {
	out, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(out)
}

func deltaChunk(delta any, finish any) string {
	return jsonOf(map[string]any{"id": "x", "object": "chat.completion.chunk", "choices": []any{
		map[string]any{"index": 0, "delta": delta, "finish_reason": finish}}})
}

// say puts a neutral answer into the API's words.
func say(w http.ResponseWriter, r *http.Request, a coretest.Answer) {
	if a.Status != 0 {
		a.Refuse(w)
		fmt.Fprint(w, jsonOf(map[string]any{"error": map[string]any{"message": a.Message, "type": "e", "code": nil, "param": nil}}))
		return
	}
	stream(w, deltaChunk(map[string]any{"role": "assistant", "content": ""}, nil))
	for _, text := range a.Text {
		stream(w, deltaChunk(map[string]any{"content": text}, nil))
	}
	if a.Hang {
		<-r.Context().Done()
		return
	}
	if a.Cut {
		return
	}
	finish := "stop"
	for i, c := range a.Calls {
		finish = "tool_calls"
		stream(w, deltaChunk(map[string]any{"tool_calls": []any{map[string]any{
			"index": i, "id": c.ID, "type": "function", "function": map[string]any{"name": c.Name, "arguments": ""}}}}, nil))
		for _, piece := range coretest.Halves(c.Args) {
			stream(w, deltaChunk(map[string]any{"tool_calls": []any{map[string]any{"index": i, "function": map[string]any{"arguments": piece}}}}, nil))
		}
	}
	if a.Length {
		finish = "length"
	}
	stream(w, deltaChunk(map[string]any{}, finish), jsonOf(map[string]any{"id": "x", "choices": []any{}, "usage": map[string]any{
		"prompt_tokens": a.Usage.Input, "completion_tokens": a.Usage.Output, "total_tokens": a.Usage.Input + a.Usage.Output,
		"prompt_tokens_details": map[string]any{"cached_tokens": a.Usage.CacheRead}}}), "[DONE]")
}

func TestConformance(t *testing.T) {
	coretest.TestModel(t, func(t *testing.T, a coretest.Answer) llm.Model {
		_, model := serve(t, func(w http.ResponseWriter, r *http.Request) { say(w, r, a) })
		return model(Config{})
	})
}

// TestH21_QuirksOfStreams plays what real servers were seen to send.
func TestH21_QuirksOfStreams(t *testing.T) {
	call := func(s string) string { return `{"choices":[{"index":0,"delta":{"tool_calls":[` + s + `]}}]}` }
	done := `{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`
	for _, tt := range []struct {
		name   string
		chunks []string
		want   []string
	}{
		{"no index", []string{call(`{"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}`), call(`{"id":"b","function":{"name":"g","arguments":"{}"}}`), done}, []string{`a f {"x":1}`, `b g {}`}},
		{"index 0 twice", []string{call(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}`), call(`{"index":0,"id":"b","function":{"name":"f","arguments":"{}"}}`), done}, []string{`a f {"x":1}`, `b f {}`}},
		{"two whole calls in one chunk", []string{call(`{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}},{"index":1,"id":"b","function":{"name":"g","arguments":"{}"}}`), done}, []string{`a f {}`, `b g {}`}},
		{"empty arguments", []string{call(`{"index":0,"id":"a","function":{"name":"f","arguments":""}}`), done}, []string{"a f "}},
		{"an id that changes with each chunk", []string{call(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}}`), call(`{"index":0,"id":"b","function":{"arguments":":1}"}}`), done}, []string{`a f {"x":1}`}},
		{"finish with the calls, and stop as the reason", []string{`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"stop"}]}`}, []string{"a f {}"}},
		{"null content beside calls", []string{`{"choices":[{"index":0,"delta":{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}}]}`, done}, []string{"a f {}"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, model := serve(t, func(w http.ResponseWriter, _ *http.Request) { stream(w, append(tt.chunks, "[DONE]")...) })
			a, err := llm.Collect(model(Config{}).Stream(t.Context(), &llm.Request{}))
			if err != nil || a.Reason != llm.ToolCalls {
				t.Fatalf("%+v, %v", a, err)
			}
			var got []string
			for _, c := range a.Message.Calls() {
				got = append(got, c.ID+" "+c.Name+" "+c.Args)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestReasoningAndSignaturesGoBack_H24(t *testing.T) {
	replies := make(chan []string, 2)
	replies <- []string{
		`{"choices":[{"index":0,"delta":{"reasoning_content":"let "}}]}`, `{"choices":[{"index":0,"delta":{"reasoning_content":"me"}}]}`,
		`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","extra_content":{"google":{"thought_signature":"sig"}},"function":{"name":"f","arguments":"{}"}}]}}]}`,
		`{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`, "[DONE]",
	}
	replies <- []string{deltaChunk(map[string]any{"content": "ok"}, "stop"), "[DONE]"}
	s, model := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		stream(w, (<-replies)...)
	})
	m := model(Config{})
	req := &llm.Request{Messages: []llm.Message{llm.UserText("x")}}
	a, err := llm.Collect(m.Stream(t.Context(), req))
	if err != nil {
		t.Fatal(err)
	}
	if p := a.Message.Parts[0]; p.Kind != llm.ReasoningPart || p.Text != "let me" {
		t.Errorf("got %+v", a.Message.Parts)
	}
	req.Messages = append(req.Messages, a.Message, llm.Message{Role: llm.ToolRole, Parts: []llm.Part{
		{Kind: llm.ToolResultPart, Result: &llm.ToolResult{CallID: "a", Name: "f", Parts: []llm.Part{llm.Text("r")}}}}})
	if _, err := llm.Collect(m.Stream(t.Context(), req)); err != nil {
		t.Fatal(err)
	}
	want := `{"role":"assistant","tool_calls":[{"extra_content":{"google":{"thought_signature":"sig"}},"function":{"arguments":"{}","name":"f"},"id":"a","type":"function"}],"reasoning_content":"let me"}`
	if !strings.Contains(s.Bodies()[1], want) {
		t.Errorf("got %s", s.Bodies()[1])
	}
}

func TestTheBodyIsStableAndComplete(t *testing.T) {
	temperature := 0.5
	m := &model{newServer("openai", Config{}), "gpt-5-mini"}
	req := &llm.Request{
		System: []llm.Part{llm.NamedText("system", "S")}, Context: []llm.Part{llm.NamedText("listing", "C")},
		Tools: []llm.Tool{
			{Name: "b", Description: "B <x>", Parameters: json.RawMessage(`{"type":"object"}`)},
			{Name: "broken", Parameters: json.RawMessage(`[]`)}, {Name: "later", Deferred: true}, {Name: "a.b"},
		},
		Messages: []llm.Message{
			{Role: llm.User, Parts: []llm.Part{llm.Text("see"), {Kind: llm.ImagePart, MIME: "image/gif", Data: []byte("GIF89a")}}},
			{Role: llm.Assistant, Parts: []llm.Part{{Kind: llm.ToolCallPart, Call: &llm.ToolCall{ID: "1", Name: "a.b", Args: `{"x`}}}},
			{Role: llm.ToolRole, Parts: []llm.Part{{Kind: llm.ToolResultPart, Result: &llm.ToolResult{CallID: "1", Name: "a.b"}}}},
		},
		Limits: llm.Limits{MaxTokens: 10, Temperature: &temperature, Effort: "low"},
		Choice: llm.ToolChoice{Mode: "tool", Name: "b", NoParallel: true}, Cache: llm.CacheHints{Key: "s1"},
	}
	body, warnings, err := m.Body(req, newNames())
	if err != nil {
		t.Fatal(err)
	}
	want := `{"model":"gpt-5-mini","tools":[{"type":"function","function":{"name":"b","description":"B <x>","parameters":{"properties":{},"type":"object"}}},` +
		`{"type":"function","function":{"name":"a_b_2e7336dc","parameters":{"properties":{},"type":"object"}}}],` +
		`"tool_choice":{"function":{"name":"b"},"type":"function"},"parallel_tool_calls":false,"messages":[{"role":"system","content":"S\n\nC"},` +
		`{"role":"user","content":[{"text":"see","type":"text"},{"image_url":{"url":"data:image/gif;base64,R0lGODlh"},"type":"image_url"}]},` +
		`{"role":"assistant","tool_calls":[{"function":{"arguments":"{}","name":"a_b_2e7336dc"},"id":"1","type":"function"}]},` +
		`{"role":"tool","content":"(no output)","tool_call_id":"1"}],"max_completion_tokens":10,"temperature":0.5,"reasoning_effort":"low",` +
		`"prompt_cache_key":"s1","stream":true,"stream_options":{"include_usage":true}}`
	if diff := cmp.Diff(strings.Split(want, ","), strings.Split(string(body), ",")); diff != "" {
		t.Error(diff)
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0], "tool broken is left out") {
		t.Errorf("warnings %q", warnings)
	}
	again, _, err := m.Body(req, newNames())
	if err != nil || string(again) != string(body) {
		t.Errorf("%s %v", again, err)
	}
}

func TestBadRequestsNameTheirTool(t *testing.T) {
	for _, detail := range []map[string]any{
		{"param": "tools[1].function.parameters", "message": "bad"},
		{"message": "Invalid schema for function 'second': no"},
	} {
		_, model := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(400)
			fmt.Fprint(w, jsonOf(map[string]any{"error": detail}))
		})
		_, err := llm.Collect(model(Config{}).Stream(t.Context(), &llm.Request{Tools: []llm.Tool{
			{Name: "left_out", Parameters: json.RawMessage(`[]`)}, {Name: "first"}, {Name: "second"},
		}}))
		e, ok := err.(*llm.Error)
		if !ok || e.ToolName != "second" || e.ToolIndex != 2 {
			t.Errorf("%v: got %+v", detail, err)
		}
	}
}

func TestE26_TheKeyIsInNoError(t *testing.T) {
	const key = "sk-canary-0123456789"
	for _, status := range []int{401, 500} {
		s, model := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(status)
			fmt.Fprint(w, jsonOf(map[string]any{"error": map[string]any{"message": "wrong: " + r.Header.Get("Authorization")}}))
		})
		_, err := llm.Collect(model(Config{}).Stream(t.Context(), &llm.Request{}))
		if dump := fmt.Sprintf("%v %+v %#v", err, err, err); err == nil || strings.Contains(dump, key) {
			t.Errorf("got %s", dump)
		}
		if s.Header().Get("Authorization") != "Bearer "+key {
			t.Errorf("sent %q", s.Header().Get("Authorization"))
		}
	}
}

func TestNothingOfTheEnvironmentHasASay(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-ambient-000000")
	t.Setenv("OPENAI_BASE_URL", "http://ambient.invalid/v1")
	t.Setenv("OPENAI_ORG_ID", "ambient")
	s, model := serve(t, func(w http.ResponseWriter, r *http.Request) { say(w, r, coretest.Answer{Text: []string{"x"}}) })
	if _, err := llm.Collect(model(Config{}).Stream(t.Context(), &llm.Request{})); err != nil {
		t.Fatal(err)
	}
	if dump := fmt.Sprint(s.Header()); strings.Contains(strings.ToLower(dump), "ambient") {
		t.Errorf("sent %s", dump)
	}
	if ok, lacks := newServer("openai", Config{}).Ready(); ok || lacks != "apiKey is not set" {
		t.Errorf("ready %v, %q", ok, lacks)
	}
}

func TestRetriesAreAnnounced(t *testing.T) {
	var n atomic.Int64
	_, model := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if n.Add(1) == 1 {
			w.Header().Set("Retry-After-Ms", "1")
			w.WriteHeader(429)
			return
		}
		say(w, r, coretest.Answer{Text: []string{"x"}})
	})
	a, err := llm.Collect(model(Config{Options: provider.Options{Retries: 3}}).Stream(t.Context(), &llm.Request{}))
	if err != nil || a.Message.Text() != "x" || len(a.Warnings) != 1 || !strings.Contains(a.Warnings[0], "trying again") {
		t.Errorf("%+v %v", a, err)
	}
}

func TestAServerWithoutAModelIsNotReady(t *testing.T) {
	if ok, lacks := newServer("x", Config{BaseURL: "http://x/v1"}).Ready(); ok || !strings.Contains(lacks, "model is not set") {
		t.Errorf("%v %q", ok, lacks)
	}
}

func newNames() *wire.Names { return wire.NewNames(wire.Common) }

func TestPerMinuteHoldsForTheProviderNotForEachModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer("openai", Config{APIKey: "k", Options: provider.Options{PerMinute: 2}})
		s.client.Transport = hello{}
		begin := time.Now()
		for _, name := range []string{"", "", "another"} {
			m, err := s.Model(name)
			if err != nil {
				t.Fatal(err)
			}
			if a, err := llm.Collect(m.Stream(t.Context(), &llm.Request{})); err != nil || a.Message.Text() != "hi" {
				t.Fatalf("%+v, %v", a, err)
			}
		}
		if took := time.Since(begin); took != time.Minute {
			t.Errorf("three requests at two a minute took %s", took)
		}
	})
}

// hello answers every request without a network.
type hello struct{}

func (hello) RoundTrip(*http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	say(w, nil, coretest.Answer{Text: []string{"hi"}})
	return w.Result(), nil
}

func TestE26_ARedirectIsNotFollowed(t *testing.T) {
	for _, status := range []int{http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		var asked atomic.Int32
		stranger := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
		defer stranger.Close()
		to := strings.Replace(stranger.URL, "127.0.0.1", "localhost", 1)
		var sent atomic.Int32
		_, model := serve(t, func(w http.ResponseWriter, r *http.Request) {
			sent.Add(1)
			http.Redirect(w, r, to+"/x?secret=y", status)
		})
		_, err := llm.Collect(model(Config{Options: provider.Options{Retries: 3}}).Stream(t.Context(), &llm.Request{}))
		want := "openai: bad_request: the server redirects to " + to + ", which is not followed: set baseURL to the final address"
		if err == nil || err.Error() != want {
			t.Errorf("%d: got %v, want %s", status, err, want)
		}
		if asked.Load() != 0 || sent.Load() != 1 {
			t.Errorf("%d: %d requests, %d to where they were sent on", status, sent.Load(), asked.Load())
		}
	}
}
