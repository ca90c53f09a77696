package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/coretest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// formServer is a server of the modern era whose tool asks for a name and then
// for a town before it answers.
func formServer(t *testing.T) *upstream {
	t.Helper()
	u := newUpstream(t, true)
	question := func(key string) mcp.InputRequestMap {
		return mcp.InputRequestMap{key: &mcp.ElicitParams{Mode: "form", Message: "Your " + key + "?", RequestedSchema: choiceSchema(nil)}}
	}
	answerTo := func(r *mcp.CallToolRequest, key string) any {
		res, ok := r.Params.InputResponses[key].(*mcp.ElicitResult)
		if !ok {
			return nil
		}
		return res.Content["answer"]
	}
	u.server.AddTool(&mcp.Tool{Name: "form", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			name, named := strings.CutPrefix(r.Params.RequestState, "named ")
			switch {
			case named:
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf("%s of %v", name, answerTo(r, "town"))}}}, nil
			case r.Params.RequestState == "begun":
				return &mcp.CallToolResult{InputRequests: question("town"), RequestState: fmt.Sprintf("named %v", answerTo(r, "name"))}, nil
			}
			return &mcp.CallToolResult{InputRequests: question("name"), RequestState: "begun"}, nil
		})
	return u
}

// One approval holds for all rounds of the call that it was given for.
func TestRule15_OneApprovalForTheRoundsOfACall(t *testing.T) {
	u := formServer(t)
	broker := &relayBroker{}
	r := start(t, map[string]ServerConfig{"u": {URL: u.URL, Era: eraModern}}, coretest.Provide[core.Broker](core.Approvals, broker),
		coretest.With(askFor(broker, "mcp__u__form"), struct{}{}))
	r.ready("u")
	url := r.serve(ServeOptions{})
	for _, tt := range []struct{ url, tool string }{{url + "/servers/u", "form"}, {url, "mcp__u__form"}} {
		var asked []string
		cs := dial(t, tt.url, eraModern, &mcp.ClientOptions{ElicitationHandler: func(_ context.Context, q *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			first, _, _ := strings.Cut(q.Params.Message, " the tool")
			asked = append(asked, first)
			answer := map[string]any{"May": "once", "Your name?": "Ada", "Your town?": "London"}[first]
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"answer": answer}}, nil
		}})
		for range 2 { // the approval was for one call: the next one asks again
			asked = nil
			if got := textOf(invoke(t, cs, tt.tool, nil)); got != "Ada of London" {
				t.Errorf("%s = %q", tt.tool, got)
			}
			if want := []string{"May", "Your name?", "Your town?"}; !slices.Equal(asked, want) {
				t.Errorf("%s asked %q, want %q", tt.tool, asked, want)
			}
		}
	}
}

// rawCall calls a tool of a transparent mount as a client of the modern era
// that can elicit, and gives the answer as it is on the wire.
func rawCall(t *testing.T, url, tool, more string) string {
	t.Helper()
	meta := strings.Replace(modernMeta, `clientCapabilities":{}`, `clientCapabilities":{"elicitation":{"form":{}}}`, 1)
	_, body := post(t, url, "tools/call", `{"name":"`+tool+`","arguments":{},`+more+meta+`}`,
		http.Header{"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Name": {tool}})
	for line := range strings.Lines(body) {
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			return data
		}
	}
	return body
}

// The state that the server gave stays with the call that it belongs to: the
// client gets another one, which goes once and for that call only.
func TestRule15_TheStateOfARoundIsOursAndGoesOnce(t *testing.T) {
	u := formServer(t)
	r := start(t, map[string]ServerConfig{"u": {URL: u.URL, Era: eraModern}, "v": {URL: u.URL, Era: eraModern}})
	r.ready("u")
	r.ready("v")
	base := r.serve(ServeOptions{})
	url := base + "/servers/u"
	state := func(answer string) string {
		var m struct {
			Result struct{ ResultType, RequestState string }
		}
		if err := json.Unmarshal([]byte(answer), &m); err != nil || m.Result.ResultType != "input_required" ||
			!strings.HasPrefix(m.Result.RequestState, jobPrefix) || strings.Contains(answer, "begun") {
			t.Fatalf("asked: %s, %v", answer, err)
		}
		return `"requestState":"` + m.Result.RequestState + `",`
	}
	first := state(rawCall(t, url, "form", ""))
	named := `"inputResponses":{"name":{"action":"accept","content":{"answer":"Eve"}}},`
	second := state(rawCall(t, url, "form", named+first))
	if got := rawCall(t, url, "form", named+first); !strings.Contains(got, "unknown, expired") {
		t.Errorf("a state that was used: %s", got)
	}
	if got := rawCall(t, url, "greet", named+second); !strings.Contains(got, "of another call") {
		t.Errorf("another tool: %s", got)
	}
	third := state(rawCall(t, url, "form", ""))
	if got := rawCall(t, base+"/servers/v", "form", named+third); !strings.Contains(got, "of another call") {
		t.Errorf("another server: %s", got)
	}
	if got := rawCall(t, url, "form", `"requestState":"agentd-job.AAAAAAAAAAAAAAAAAAAAAAAAAA",`); !strings.Contains(got, "unknown, expired") {
		t.Errorf("a state that was made up: %s", got)
	}
}
