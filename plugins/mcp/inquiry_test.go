package mcp

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/coretest"
	"github.com/agentd-host/agentd/core/llm"
	"github.com/agentd-host/agentd/plugins/mcp/internal/fixture"
	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// open answers whatever is asked.
func open(g *gathered) *mcp.ClientOptions {
	return &mcp.ClientOptions{
		ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			g.add("form %s", r.Params.Message)
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ada", "color": "blue", "context": "here"}}, nil
		},
		CreateMessageHandler: func(_ context.Context, r *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			g.add("model %s %d", r.Params.Messages[0].Content.(*mcp.TextContent).Text, r.Params.MaxTokens)
			return &mcp.CreateMessageResult{Model: "theirs", Role: "assistant", Content: &mcp.TextContent{Text: "Hi."}}, nil
		},
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			g.add("progress %v %v of %v", r.Params.ProgressToken, r.Params.Progress, r.Params.Total)
		},
		LoggingMessageHandler: func(_ context.Context, r *mcp.LoggingMessageRequest) {
			g.add("log %s %s %v", r.Params.Level, r.Params.Logger, r.Params.Data)
		},
	}
}

func TestRule15_ToolsOfPluginsAskTheirClient(t *testing.T) {
	r := start(t, nil, coretest.With(fixture.Plugin, struct{}{}))
	url := r.serve(ServeOptions{})
	for _, era := range []string{eraLegacy, eraModern} {
		t.Run(era, func(t *testing.T) {
			var g gathered
			cs := dial(t, url, era, open(&g))
			for tool, want := range map[string]string{
				"test_input_required_result_multiple_inputs": "user_name: {\"color\":\"blue\",\"context\":\"here\",\"name\":\"Ada\"} (declined: false); greeting: Hi.; client_roots: []",
				"test_input_required_result_multi_round":     "step2: {\"color\":\"blue\"",
				"test_input_required_result_capabilities":    "greeting: Hi.",
				"test_missing_capability":                    "any: Hi.",
			} {
				if got := textOf(invoke(t, cs, tool, nil)); !strings.Contains(got, want) {
					t.Errorf("%s = %q, want %q", tool, got, want)
				}
			}
			p, err := cs.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "test_input_required_result_prompt"})
			if err != nil || !strings.Contains(p.Messages[0].Content.(*mcp.TextContent).Text, "here") {
				t.Errorf("prompt = %+v, %v", p, err)
			}
			asked := strings.Join(g.all(), "\n")
			for _, want := range []string{"form What is your name?", "form Which colour do you like?", "model Greet somebody. 100", "form In which context?"} {
				if !strings.Contains(asked, want) {
					t.Errorf("asked:\n%s\nwant %q", asked, want)
				}
			}
		})
	}
}

func TestRule15_ToolsOfPluginsTellTheirClient(t *testing.T) {
	r := start(t, nil, coretest.With(fixture.Plugin, struct{}{}))
	url := r.serve(ServeOptions{})
	for _, era := range []string{eraLegacy, eraModern} {
		t.Run(era, func(t *testing.T) {
			var g gathered
			cs := dial(t, url, era, open(&g))
			meta := mcp.Meta{"progressToken": "mine", mcp.MetaKeyLogLevel: "info"}
			if era == eraLegacy {
				if err := cs.SetLoggingLevel(t.Context(), &mcp.SetLoggingLevelParams{Level: "info"}); err != nil {
					t.Fatal(err)
				}
				delete(meta, mcp.MetaKeyLogLevel)
			}
			for _, tool := range []string{"test_tool_with_progress", "test_logging_tool"} {
				if _, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Meta: meta}); err != nil {
					t.Fatal(err)
				}
			}
			want := []string{"progress mine 0 of 100", "progress mine 50 of 100", "progress mine 100 of 100",
				"log info fixture A line that only clients get that want it"}
			eventually(t, "the client's handlers ran", func() bool { return len(g.all()) == len(want) })
			if diff := cmp.Diff(want, g.all()); diff != "" {
				t.Errorf("told (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRule15_AClientThatCannotBeAskedIsToldSo(t *testing.T) {
	r := start(t, nil, coretest.With(fixture.Plugin, struct{}{}))
	url := r.serve(ServeOptions{})
	mute := &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}}
	legacy := dial(t, url, eraLegacy, mute)
	for tool, want := range map[string]string{
		"test_missing_capability":                "sampling",
		"test_input_required_result_elicitation": "elicitation",
		"test_input_required_result_list_roots":  "roots",
	} {
		res := invoke(t, legacy, tool, nil)
		if got := textOf(res); !res.IsError || !strings.Contains(got, "nobody can be asked") || !strings.Contains(got, want) {
			t.Errorf("%s: %s", tool, got)
		}
	}
	modern := dial(t, url, eraModern, mute)
	_, err := modern.CallTool(t.Context(), &mcp.CallToolParams{Name: "test_missing_capability"})
	wantRPC(t, err, mcp.CodeMissingRequiredClientCapabilities, "sampling")
	if got := textOf(invoke(t, modern, "test_input_required_result_capabilities", nil)); got != "state-ok" {
		t.Errorf("a tool that asks only what is possible: %q", got)
	}
}

// rounds calls a tool as a client of the modern era that answers by hand.
func rounds(t *testing.T, url, tool, more string) (result struct {
	ResultType   string
	RequestState string
	Requests     map[string]struct{ Method string } `json:"inputRequests"`
	Content      []struct{ Text string }
}, raw string) {
	t.Helper()
	meta := strings.Replace(modernMeta, `clientCapabilities":{}`, `clientCapabilities":{"elicitation":{},"sampling":{},"roots":{}}`, 1)
	_, body := post(t, url, "tools/call", `{"name":"`+tool+`","arguments":{},`+more+meta+`}`,
		http.Header{"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Name": {tool}})
	for line := range strings.Lines(body) {
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			body = data
		}
	}
	var m struct{ Result any }
	m.Result = &result
	if err := json.Unmarshal([]byte(body), &m); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return result, body
}

func TestRule15_InputIsAskedForInRounds(t *testing.T) {
	r := start(t, nil, coretest.With(fixture.Plugin, struct{}{}))
	url := r.serve(ServeOptions{})
	const name = `"user_name":{"action":"accept","content":{"name":"Ada"}}`
	const others = `"greeting":{"role":"assistant","model":"m","content":{"type":"text","text":"Hi."}},"client_roots":{"roots":[{"uri":"file:///r"}]}`

	all, raw := rounds(t, url, "test_input_required_result_multiple_inputs", "")
	if all.ResultType != "input_required" || len(all.Requests) != 3 || all.Requests["greeting"].Method != "sampling/createMessage" {
		t.Fatalf("first round: %s", raw)
	}
	state := func(s string) string { return `,"requestState":"` + s + `",` }
	rest, raw := rounds(t, url, "test_input_required_result_multiple_inputs", `"inputResponses":{`+name+`,"more":{"roots":[]}}`+state(all.RequestState))
	if len(rest.Requests) != 2 || rest.Requests["user_name"].Method != "" || rest.RequestState == all.RequestState {
		t.Fatalf("a round with one answer: %s", raw)
	}
	done, raw := rounds(t, url, "test_input_required_result_multiple_inputs", `"inputResponses":{`+others+`}`+state(rest.RequestState))
	if done.ResultType != "complete" || !strings.Contains(done.Content[0].Text, `{"name":"Ada"} (declined: false); greeting: Hi.; client_roots: [{file:///r }]`) {
		t.Errorf("last round: %s", raw)
	}

	given, raw := rounds(t, url, "test_input_required_result_elicitation", `"inputResponses":{`+name+`},`)
	if given.ResultType != "complete" || !strings.Contains(given.Content[0].Text, "Ada") {
		t.Errorf("an answer that comes with the call: %s", raw)
	}
	again, raw := rounds(t, url, "test_input_required_result_elicitation", `"inputResponses":{"user_name":{"roots":[]}},`)
	if again.ResultType != "input_required" || again.Requests["user_name"].Method == "" {
		t.Errorf("an answer to something else: %s", raw)
	}
	misfit, raw := rounds(t, url, "test_input_required_result_elicitation", `"inputResponses":{"user_name":{"action":"accept","content":{"name":7}}},`)
	if !strings.Contains(raw, `"isError":true`) || !strings.Contains(misfit.Content[0].Text, "name") {
		t.Errorf("an answer that does not fit the form: %s", raw)
	}
	if _, raw := rounds(t, url, "test_input_required_result_elicitation", `"inputResponses":{}`+state(all.RequestState)); !strings.Contains(raw, "unknown, expired") {
		t.Errorf("a state that was used: %s", raw)
	}
}

// A prompt of a server of the other era asks as well: its client calls again
// with the answer.
func TestRule15_PromptsOfServersAskTheirClient(t *testing.T) {
	r := start(t, map[string]ServerConfig{"a": fakeServer()})
	r.ready("a")
	url := r.serve(ServeOptions{})
	for _, era := range []string{eraLegacy, eraModern} {
		var g gathered
		p, err := dial(t, url, era, open(&g)).GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "mcp__a__greet", Arguments: map[string]string{"ask": "yes"}})
		if err != nil || !strings.Contains(p.Messages[0].Content.(*mcp.TextContent).Text, "Ada") {
			t.Errorf("%s: %+v, %v", era, p, err)
		}
	}
}

// A server that is taken out of the configuration does not stay for a request
// whose client keeps it waiting.
func TestRule1_RequestsEndWithTheirServer(t *testing.T) {
	r := start(t, map[string]ServerConfig{"a": with(fakeServer(), func(c *ServerConfig) { c.CallTimeout = 20 * time.Second })})
	r.ready("a")
	url := r.serve(ServeOptions{})
	asked, over := make(chan struct{}), make(chan struct{})
	defer close(over)
	cs := dial(t, url, eraLegacy, &mcp.ClientOptions{ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		close(asked)
		<-over
		return &mcp.ElicitResult{Action: "decline"}, nil
	}})
	done := make(chan error, 1)
	go func() {
		_, err := cs.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "mcp__a__greet", Arguments: map[string]string{"ask": "yes"}})
		done <- err
	}()
	<-asked
	if err := core.Update(t.Context(), r.Fiber, Config{}); err != nil {
		t.Error(err)
	}
	if err := <-done; err == nil || !strings.Contains(err.Error(), "removed from the configuration") {
		t.Errorf("the request ended with %v", err)
	}
}

// The question whether a call may run is not answered before it was asked; what
// its tool asks after that may be.
func TestRule15_ApprovalsTakeNoAnswerInAdvance(t *testing.T) {
	const tool = "test_input_required_result_elicitation"
	broker := &relayBroker{}
	r := start(t, nil, coretest.With(fixture.Plugin, struct{}{}), coretest.Provide[core.Broker](core.Approvals, broker),
		coretest.With(askFor(broker, tool), struct{}{}))
	url := r.serve(ServeOptions{})
	const once = `"question":{"action":"accept","content":{"answer":"once"}}`
	asked, raw := rounds(t, url, tool, `"inputResponses":{`+once+`,"user_name":{"action":"accept","content":{"name":"Ada"}}},`)
	if asked.ResultType != "input_required" || len(asked.Requests) != 1 || asked.Requests["question"].Method == "" {
		t.Fatalf("first round: %s", raw)
	}
	done, raw := rounds(t, url, tool, `"inputResponses":{`+once+`},"requestState":"`+asked.RequestState+`",`)
	if done.ResultType != "complete" || !strings.Contains(done.Content[0].Text, "Ada") {
		t.Errorf("second round: %s", raw)
	}
}

func TestLevelsOnTheWire(t *testing.T) {
	for level, want := range map[slog.Level]mcp.LoggingLevel{
		slog.LevelDebug: "debug", slog.LevelInfo: "info", slog.LevelWarn: "warning", slog.LevelError: "error", slog.LevelError + 4: "error",
	} {
		if got := wireLevel(level); got != want {
			t.Errorf("%v = %s, want %s", level, got, want)
		}
	}
}

func TestSamplingsOnTheWire(t *testing.T) {
	half := 0.5
	p := samplingParams(&llm.Request{
		System: []llm.Part{llm.Text("Be brief.")}, Limits: llm.Limits{Temperature: &half},
		Messages: []llm.Message{
			{Role: llm.User, Parts: []llm.Part{llm.Text("Look."), {Kind: llm.ImagePart, Data: []byte{1}, MIME: "image/png"}}},
			{Role: llm.Assistant, Parts: []llm.Part{llm.Text("Yes?")}},
		},
	})
	want := `{"maxTokens":8192,"messages":[{"content":[{"type":"text","text":"Look."},{"type":"image","mimeType":"image/png","data":"AQ=="}],"role":"user"},` +
		`{"content":{"type":"text","text":"Yes?"},"role":"assistant"}],"systemPrompt":"Be brief.","temperature":0.5}`
	if got := string(encode(p)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
