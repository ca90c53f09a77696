package anthropic

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/agentd-host/agentd/core/coretest"
	"github.com/agentd-host/agentd/core/llm"
	"github.com/agentd-host/agentd/core/llm/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server is a fake of the API that keeps what it was sent.
type server struct {
	*httptest.Server
	mu     sync.Mutex
	bodies []string
	header http.Header
}

func serve(t *testing.T, handle func(http.ResponseWriter, *http.Request)) (*server, func(Config) *provider) {
	t.Helper()
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		s.mu.Lock()
		s.bodies, s.header = append(s.bodies, string(body)), r.Header
		s.mu.Unlock()
		if r.URL.Path != "/v1/messages" || r.Method != http.MethodPost {
			t.Errorf("%s %s", r.Method, r.URL.Path)
		}
		handle(w, r)
	}))
	t.Cleanup(s.Close)
	return s, func(cfg Config) *provider {
		cfg.BaseURL = s.URL
		cfg.APIKey = "sk-canary-0123456789"
		p := newProvider("anthropic", cfg)
		t.Cleanup(p.client.CloseIdleConnections)
		return p
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
		if a.RetryAfter > 0 {
			w.Header().Set("Retry-After", fmt.Sprint(int(a.RetryAfter.Seconds())))
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(a.Status)
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
		half := len(c.Args) / 2
		for half > 0 && c.Args[half]&0xC0 == 0x80 {
			half--
		}
		for _, part := range []string{c.Args[:half], c.Args[half:]} {
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

func must(t *testing.T, p *provider) llm.Model {
	t.Helper()
	m, err := p.Model("")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestConformance(t *testing.T) {
	coretest.TestModel(t, func(t *testing.T, a coretest.Answer) llm.Model {
		_, provider := serve(t, func(w http.ResponseWriter, r *http.Request) { say(w, r, a) })
		return must(t, provider(Config{}))
	})
}

func TestThoughtsGoBackWithTheirSeals_H24(t *testing.T) {
	first := true
	s, provider := serve(t, func(w http.ResponseWriter, r *http.Request) {
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
	m := must(t, provider(Config{}))
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
	if !strings.Contains(s.bodies[1], want) {
		t.Errorf("got %s", s.bodies[1])
	}
	if !strings.Contains(s.bodies[0], `"thinking":{"type":"enabled","budget_tokens":2048}`) {
		t.Errorf("got %s", s.bodies[0])
	}
}

func TestTheBodyIsStableAndHasItsBreakpoints(t *testing.T) {
	m := &model{newProvider("anthropic", Config{}), "m"}
	req := &llm.Request{
		System: []llm.Part{llm.NamedText("system", "S")}, Context: []llm.Part{llm.NamedText("listing", "C")},
		Tools: []llm.Tool{
			{Name: "b", Description: "B <x>"}, {Name: "broken", Parameters: json.RawMessage(`[]`)}, {Name: "later", Deferred: true},
		},
		Messages: []llm.Message{llm.UserText("one"), llm.UserText("two"), {Role: llm.Assistant}},
		Choice:   llm.ToolChoice{Mode: "required", NoParallel: true},
	}
	body, warnings, err := m.body(req, wire.NewNames(wire.Common))
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
	s, provider := serve(t, func(w http.ResponseWriter, r *http.Request) { say(w, r, coretest.Answer{Text: []string{"ok"}}) })
	m := must(t, provider(Config{NativeDefer: true}))
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
		if !strings.Contains(s.bodies[0], want) {
			t.Errorf("no %s in %s", want, s.bodies[0])
		}
	}
	if s.header.Get("anthropic-beta") != deferralBeta {
		t.Errorf("sent %v", s.header)
	}
	req.Native = false
	if _, err := llm.Collect(m.Stream(t.Context(), req)); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(s.bodies[1], "hidden") || s.header.Get("anthropic-beta") != "" {
		t.Errorf("got %s", s.bodies[1])
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
		_, provider := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("request-id", "req_1")
			w.WriteHeader(tt.status)
			fmt.Fprint(w, jsonOf(obj{"type": "error", "error": obj{"type": tt.kind, "message": tt.message}}))
		})
		_, err := llm.Collect(must(t, provider(Config{})).Stream(t.Context(), &llm.Request{Tools: []llm.Tool{
			{Name: "first"}, {Name: "left_out", Parameters: json.RawMessage(`[]`)}, {Name: "second"}}}))
		e, ok := err.(*llm.Error)
		if !ok || e.Kind != tt.want || e.ToolName != tt.tool || e.RequestID != "req_1" {
			t.Errorf("%d %s: got %+v", tt.status, tt.message, err)
		}
	}
}

func TestErrorWithinTheStream(t *testing.T) {
	_, provider := serve(t, func(w http.ResponseWriter, r *http.Request) {
		emit(w, obj{"type": "message_start", "message": obj{}}, begin(0, obj{"type": "text", "text": "half"}),
			obj{"type": "error", "error": obj{"type": "overloaded_error", "message": "Overloaded"}})
	})
	a, err := llm.Collect(must(t, provider(Config{})).Stream(t.Context(), &llm.Request{}))
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
	s, provider := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(401)
		fmt.Fprint(w, jsonOf(obj{"type": "error", "error": obj{"type": "authentication_error", "message": "wrong " + r.Header.Get("X-Api-Key")}}))
	})
	_, err := llm.Collect(must(t, provider(Config{})).Stream(t.Context(), &llm.Request{}))
	if dump := fmt.Sprintf("%v %+v %#v", err, err, err); err == nil || strings.Contains(dump, key) {
		t.Errorf("got %s", dump)
	}
	if s.header.Get("X-Api-Key") != key || strings.Contains(strings.ToLower(fmt.Sprint(s.header)), "ambient") {
		t.Errorf("sent %v", s.header)
	}
	if ok, lacks := newProvider("anthropic", Config{}).Ready(); ok || lacks != "apiKey is not set" {
		t.Errorf("ready %v, %q", ok, lacks)
	}
}

func TestConfigWantsAnAddress(t *testing.T) {
	for _, bad := range []string{"localhost:1", "ftp://x", "://"} {
		if err := (Config{BaseURL: bad}).validate(); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

// TestToolsOfRealServersAreSentOrNamed: of the tools of real servers none is
// lost without a word, and all that is sent is an object with properties.
func TestToolsOfRealServersAreSentOrNamed(t *testing.T) {
	files, err := filepath.Glob("../../../shared/mcp/catalogs/*.json")
	if err != nil || len(files) == 0 {
		t.Skip("the catalogues of real servers (../shared/mcp/catalogs) are not here")
	}
	req := &llm.Request{}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var catalogue struct {
			Tools []struct {
				Name, Description string
				InputSchema       json.RawMessage
			}
		}
		if err := json.Unmarshal(raw, &catalogue); err != nil {
			t.Fatal(err)
		}
		server := strings.TrimSuffix(filepath.Base(file), ".json")
		for _, tool := range catalogue.Tools {
			req.Tools = append(req.Tools, llm.Tool{Name: "mcp__" + server + "__" + tool.Name, Description: tool.Description, Parameters: tool.InputSchema})
		}
	}
	names := wire.NewNames(wire.Common)
	m := &model{newProvider("p", Config{}), "m"}
	raw, warnings, err := m.body(req, names)
	if err != nil {
		t.Fatal(err)
	}
	var body struct{ Tools []tool }
	if err := json.Unmarshal(raw, &body); err != nil {
		t.Fatal(err)
	}
	if len(body.Tools)+len(warnings) != len(req.Tools) || len(body.Tools) < 100 {
		t.Errorf("%d tools, %d sent, %d warnings", len(req.Tools), len(body.Tools), len(warnings))
	}
	seen := map[string]bool{}
	for i, tool := range body.Tools {
		name, schema := tool.Name, tool.Schema
		if back := names.Canonical(name); len(name) > 64 || seen[name] || back != req.Tools[i].Name {
			t.Errorf("%q is sent as %q and comes back as %q", req.Tools[i].Name, name, back)
		}
		seen[name] = true
		if !strings.Contains(string(schema), `"type":"object"`) || !strings.Contains(string(schema), `"properties":{`) {
			t.Errorf("%s: %s", name, schema)
		}
	}
}
