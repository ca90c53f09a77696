package anthropic

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
	api := coretest.NewUpstream(t, "/v1/messages", answer)
	return api, func(cfg Config) llm.Model {
		t.Helper()
		cfg.BaseURL, cfg.APIKey = api.URL, "sk-canary-0123456789"
		s := newServer("anthropic", cfg)
		t.Cleanup(s.client.CloseIdleConnections)
		m, err := s.Model("")
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
}

func emit(w http.ResponseWriter, events ...map[string]any) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, e := range events {
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", e["type"], jsonOf(e))
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

type obj = map[string]any

func begin(i int, block obj) obj {
	return obj{"type": "content_block_start", "index": i, "content_block": block}
}
func piece(i int, delta obj) obj {
	return obj{"type": "content_block_delta", "index": i, "delta": delta}
}
func stop(i int) obj { return obj{"type": "content_block_stop", "index": i} }

// say puts a neutral answer into the API's words.
func say(w http.ResponseWriter, r *http.Request, a coretest.Answer) {
	if a.Status != 0 {
		a.Refuse(w)
		fmt.Fprint(w, jsonOf(obj{"type": "error", "error": obj{"type": "some_error", "message": a.Message}}))
		return
	}
	emit(w, obj{"type": "message_start", "message": obj{"id": "m", "type": "message", "role": "assistant", "content": []any{}, "usage": obj{
		"input_tokens": a.Usage.Input - a.Usage.CacheRead, "cache_read_input_tokens": a.Usage.CacheRead, "output_tokens": 1}}},
		obj{"type": "ping"})
	n := 0
	if len(a.Text) > 0 {
		emit(w, begin(0, obj{"type": "text", "text": ""}))
		for _, text := range a.Text {
			emit(w, piece(0, obj{"type": "text_delta", "text": text}))
		}
		if a.Hang {
			<-r.Context().Done()
			return
		}
		if a.Cut {
			return
		}
		emit(w, stop(0))
		n++
	}
	reason := "end_turn"
	for _, c := range a.Calls {
		reason = "tool_use"
		emit(w, begin(n, obj{"type": "tool_use", "id": c.ID, "name": c.Name, "input": obj{}}), piece(n, obj{"type": "input_json_delta", "partial_json": ""}))
		for _, part := range coretest.Halves(c.Args) {
			emit(w, piece(n, obj{"type": "input_json_delta", "partial_json": part}))
		}
		emit(w, stop(n))
		n++
	}
	if a.Length {
		reason = "max_tokens"
	}
	emit(w, obj{"type": "message_delta", "delta": obj{"stop_reason": reason}, "usage": obj{"output_tokens": a.Usage.Output}}, obj{"type": "message_stop"})
}

func TestConformance(t *testing.T) {
	coretest.TestModel(t, func(t *testing.T, a coretest.Answer) llm.Model {
		_, model := serve(t, func(w http.ResponseWriter, r *http.Request) { say(w, r, a) })
		return model(Config{})
	})
}

func TestThoughtsGoBackWithTheirSeals_H24(t *testing.T) {
	first := true
	s, model := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if !first {
			say(w, r, coretest.Answer{Text: []string{"ok"}})
			return
		}
		first = false
		emit(w, obj{"type": "message_start", "message": obj{}},
			begin(0, obj{"type": "thinking", "thinking": ""}), piece(0, obj{"type": "thinking_delta", "thinking": "let me"}),
			piece(0, obj{"type": "signature_delta", "signature": "SIG"}), stop(0),
			begin(1, obj{"type": "redacted_thinking", "data": "HIDDEN"}), stop(1),
			begin(2, obj{"type": "tool_use", "id": "t1", "name": "f", "input": obj{}}), stop(2),
			obj{"type": "message_delta", "delta": obj{"stop_reason": "tool_use"}}, obj{"type": "message_stop"})
	})
	m := model(Config{})
	req := &llm.Request{Messages: []llm.Message{llm.UserText("x")}, Limits: llm.Limits{Effort: "low"}}
	a, err := llm.Collect(m.Stream(t.Context(), req))
	if err != nil {
		t.Fatal(err)
	}
	foreign := llm.Part{Kind: llm.ReasoningPart, Text: "of another provider", Opaque: json.RawMessage(`{"openai":{"reasoning_content":"x"}}`)}
	a.Message.Parts = append([]llm.Part{foreign}, a.Message.Parts...)
	req.Messages = append(req.Messages, a.Message, llm.Message{Role: llm.ToolRole, Parts: []llm.Part{
		{Kind: llm.ToolResultPart, Result: &llm.ToolResult{CallID: "t1", Name: "f", IsError: true, Parts: []llm.Part{llm.Text("r")}}}}})
	if _, err := llm.Collect(m.Stream(t.Context(), req)); err != nil {
		t.Fatal(err)
	}
	want := `{"role":"assistant","content":[{"type":"thinking","thinking":"let me","signature":"SIG"},{"type":"redacted_thinking","data":"HIDDEN"},` +
		`{"type":"tool_use","id":"t1","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1",` +
		`"content":[{"type":"text","text":"r"}],"is_error":true,"cache_control":{"type":"ephemeral"}}]}`
	if !strings.Contains(s.Bodies()[1], want) {
		t.Errorf("got %s", s.Bodies()[1])
	}
	if !strings.Contains(s.Bodies()[0], `"thinking":{"type":"enabled","budget_tokens":2048}`) {
		t.Errorf("got %s", s.Bodies()[0])
	}
}

func TestTheBodyIsStableAndHasItsBreakpoints(t *testing.T) {
	m := &model{newServer("anthropic", Config{}), "m"}
	req := &llm.Request{
		System: []llm.Part{llm.NamedText("system", "S")}, Context: []llm.Part{llm.NamedText("listing", "C")},
		Tools: []llm.Tool{
			{Name: "b", Description: "B <x>"}, {Name: "broken", Parameters: json.RawMessage(`[]`)}, {Name: "later", Deferred: true},
		},
		Messages: []llm.Message{llm.UserText("one"), llm.UserText("two"), {Role: llm.Assistant}},
		Choice:   llm.ToolChoice{Mode: "required", NoParallel: true},
	}
	body, warnings, err := m.Body(req, wire.NewNames(wire.Common))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"model":"m","max_tokens":8192,"tools":[{"name":"b","description":"B <x>","input_schema":{"properties":{},"type":"object"},"cache_control":{"type":"ephemeral"}}],` +
		`"tool_choice":{"disable_parallel_tool_use":true,"type":"any"},"system":[{"type":"text","text":"S","cache_control":{"type":"ephemeral"}},{"type":"text","text":"C"}],` +
		`"messages":[{"role":"user","content":[{"type":"text","text":"one"},{"type":"text","text":"two","cache_control":{"type":"ephemeral"}}]}],"stream":true}`
	if diff := cmp.Diff(strings.Split(want, ","), strings.Split(string(body), ",")); diff != "" {
		t.Error(diff)
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0], "tool broken is left out") {
		t.Errorf("warnings %q", warnings)
	}
}

func TestNativeDeferralRevealsByReference(t *testing.T) {
	s, model := serve(t, func(w http.ResponseWriter, r *http.Request) { say(w, r, coretest.Answer{Text: []string{"ok"}}) })
	m := model(Config{NativeDefer: true})
	if !m.Describe().Capabilities.NativeDeferral {
		t.Error("the model does not say that it can defer")
	}
	req := &llm.Request{
		Native: true,
		Tools:  []llm.Tool{{Name: "tool_search"}, {Name: "hidden", Deferred: true}},
		Messages: []llm.Message{llm.UserText("x"),
			{Role: llm.Assistant, Parts: []llm.Part{{Kind: llm.ToolCallPart, Call: &llm.ToolCall{ID: "1", Name: "tool_search", Args: `{"query":"x"}`}}}},
			{Role: llm.ToolRole, Parts: []llm.Part{{Kind: llm.ToolResultPart, Result: &llm.ToolResult{CallID: "1", Name: "tool_search", Parts: []llm.Part{
				llm.Text("found"), {Kind: llm.ToolReferencePart, Name: "hidden"}, {Kind: llm.ToolReferencePart, Name: "gone"}}}}}}},
	}
	if _, err := llm.Collect(m.Stream(t.Context(), req)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`{"name":"hidden","input_schema":{"properties":{},"type":"object"},"defer_loading":true}]`,
		`"content":[{"type":"text","text":"found"},{"type":"tool_reference","tool_name":"hidden"}]`,
	} {
		if !strings.Contains(s.Bodies()[0], want) {
			t.Errorf("no %s in %s", want, s.Bodies()[0])
		}
	}
	if s.Header().Get("anthropic-beta") != deferralBeta {
		t.Errorf("sent %v", s.Header())
	}
	req.Native = false
	if _, err := llm.Collect(m.Stream(t.Context(), req)); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(s.Bodies()[1], "hidden") || s.Header().Get("anthropic-beta") != "" {
		t.Errorf("got %s", s.Bodies()[1])
	}
}

func TestErrorsOfTheAPI(t *testing.T) {
	for _, tt := range []struct {
		status        int
		kind, message string
		want          llm.ErrorKind
		tool          string
	}{
		{529, "overloaded_error", "Overloaded", llm.ErrOverloaded, ""},
		{400, "invalid_request_error", "prompt is too long: 300000 tokens > 200000 maximum", llm.ErrTooLarge, ""},
		{400, "invalid_request_error", "tools.1.custom.input_schema: bad", llm.ErrBadRequest, "second"},
		{403, "permission_error", "no", llm.ErrAuth, ""},
	} {
		_, model := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("request-id", "req_1")
			w.WriteHeader(tt.status)
			fmt.Fprint(w, jsonOf(obj{"type": "error", "error": obj{"type": tt.kind, "message": tt.message}}))
		})
		_, err := llm.Collect(model(Config{}).Stream(t.Context(), &llm.Request{Tools: []llm.Tool{
			{Name: "first"}, {Name: "left_out", Parameters: json.RawMessage(`[]`)}, {Name: "second"}}}))
		e, ok := err.(*llm.Error)
		if !ok || e.Kind != tt.want || e.ToolName != tt.tool || e.RequestID != "req_1" {
			t.Errorf("%d %s: got %+v", tt.status, tt.message, err)
		}
	}
}

func TestErrorWithinTheStream(t *testing.T) {
	_, model := serve(t, func(w http.ResponseWriter, r *http.Request) {
		emit(w, obj{"type": "message_start", "message": obj{}}, begin(0, obj{"type": "text", "text": "half"}),
			obj{"type": "error", "error": obj{"type": "overloaded_error", "message": "Overloaded"}})
	})
	a, err := llm.Collect(model(Config{}).Stream(t.Context(), &llm.Request{}))
	e, ok := err.(*llm.Error)
	if !ok || e.Kind != llm.ErrOverloaded || a.Message.Text() != "half" {
		t.Errorf("%+v %+v", a, err)
	}
}

func TestE26_TheKeyIsInNoErrorAndNothingIsAmbient(t *testing.T) {
	const key = "sk-canary-0123456789"
	t.Setenv("ANTHROPIC_API_KEY", "sk-ambient-000000")
	t.Setenv("ANTHROPIC_AUTH_TOKEN", "ambient-token")
	t.Setenv("ANTHROPIC_BASE_URL", "http://ambient.invalid")
	s, model := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(401)
		fmt.Fprint(w, jsonOf(obj{"type": "error", "error": obj{"type": "authentication_error", "message": "wrong " + r.Header.Get("X-Api-Key")}}))
	})
	_, err := llm.Collect(model(Config{}).Stream(t.Context(), &llm.Request{}))
	if dump := fmt.Sprintf("%v %+v %#v", err, err, err); err == nil || strings.Contains(dump, key) {
		t.Errorf("got %s", dump)
	}
	if s.Header().Get("X-Api-Key") != key || strings.Contains(strings.ToLower(fmt.Sprint(s.Header())), "ambient") {
		t.Errorf("sent %v", s.Header())
	}
	if ok, lacks := newServer("anthropic", Config{}).Ready(); ok || lacks != "apiKey is not set" {
		t.Errorf("ready %v, %q", ok, lacks)
	}
}

func TestPerMinuteHoldsForTheProviderNotForEachModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer("anthropic", Config{APIKey: "k", Options: provider.Options{PerMinute: 2}})
		s.client.Transport = hello{}
		begin := time.Now()
		for _, name := range []string{"", "", "another"} {
			m, err := s.Model(name)
			if err != nil {
				t.Fatal(err)
			}
			if a, err := llm.Collect(m.Stream(t.Context(), &llm.Request{Messages: []llm.Message{llm.UserText("x")}})); err != nil || a.Message.Text() != "hi" {
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
		_, err := llm.Collect(model(Config{Options: provider.Options{Retries: 3}}).Stream(t.Context(), &llm.Request{Messages: []llm.Message{llm.UserText("x")}}))
		want := "anthropic: bad_request: the server redirects to " + to + ", which is not followed: set baseURL to the final address"
		if err == nil || err.Error() != want {
			t.Errorf("%d: got %v, want %s", status, err, want)
		}
		if asked.Load() != 0 || sent.Load() != 1 {
			t.Errorf("%d: %d requests, %d to where they were sent on", status, sent.Load(), asked.Load())
		}
	}
}
