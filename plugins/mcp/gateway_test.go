package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/coretest"
	"github.com/agentd-host/agentd/core/llm"
	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// serve starts a gateway over HTTP on a free port and gives its base URL.
func (r *rig) serve(o ServeOptions) string {
	r.t.Helper()
	o.HTTP = "127.0.0.1:0"
	url := make(chan string, 1)
	o.Ready = func(u string) { url <- u }
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.t.Context()))
	done := make(chan error, 1)
	go func() { done <- Serve(ctx, r.Host.Root(), o) }()
	r.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			r.t.Errorf("serve: %v", err)
		}
	})
	select {
	case u := <-url:
		return u
	case err := <-done:
		done <- nil
		r.t.Fatalf("serve: %v", err)
		return ""
	}
}

// dial connects a client of the SDK in an era.
func dial(t *testing.T, url, era string, o *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	cs, err := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, o).Connect(t.Context(),
		&mcp.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: tr}},
		&mcp.ClientSessionOptions{ProtocolVersion: versionOf(era)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cs.Close() })
	return cs
}

func textOf(res *mcp.CallToolResult) string {
	var b strings.Builder
	for _, c := range res.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			b.WriteString(t.Text)
		}
	}
	return b.String()
}

func invoke(t *testing.T, cs *mcp.ClientSession, tool string, args any) *mcp.CallToolResult {
	t.Helper()
	res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	return res
}

// ownTool is a plugin with one tool of the host's own.
var ownTool = core.Plugin[struct{}]{Name: "own", Apply: func(c *core.Context, _ struct{}) error {
	return c.Tools().Define(core.Tool{Name: "own_tool", Description: "Ours.", Traits: core.Traits{Effect: core.Read},
		Run: func(context.Context, *core.Invocation) (core.Result, error) { return core.TextResult("from us"), nil }})
}}

func TestRule14_MountsInBothEras(t *testing.T) {
	r := start(t, map[string]ServerConfig{"a": fakeServer("-bad-schemas")}, coretest.With(ownTool, struct{}{}))
	r.ready("a")
	url := r.serve(ServeOptions{})
	for _, era := range []string{eraLegacy, eraModern} {
		t.Run(era, func(t *testing.T) {
			merged := dial(t, url, era, nil)
			list, err := merged.ListTools(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, tool := range list.Tools {
				names = append(names, tool.Name)
				if m, ok := tool.InputSchema.(map[string]any); !ok || m["type"] != "object" {
					t.Errorf("%s: a strict client refuses the list for %v", tool.Name, tool.InputSchema)
				}
			}
			if !slices.Contains(names, "own_tool") || !slices.Contains(names, "mcp__a__echo") || list.NextCursor != "" {
				t.Errorf("merged = %q", names)
			}
			if got := textOf(invoke(t, merged, "mcp__a__echo", map[string]any{"text": "x"})); got != "echo: x" {
				t.Errorf("echo = %q", got)
			}
			if got := textOf(invoke(t, merged, "own_tool", nil)); got != "from us" {
				t.Errorf("own_tool = %q", got)
			}
			single := dial(t, url+"/servers/a", era, nil)
			if got := textOf(invoke(t, single, "x.y", map[string]any{"text": "x"})); got != "x.y: x" {
				t.Errorf("x.y = %q", got)
			}
			if info := single.InitializeResult(); info.Instructions != "Be kind." || info.ServerInfo == nil || info.ServerInfo.Name != "fake" {
				t.Errorf("about = %+v", info)
			}
			prompts, err := merged.ListPrompts(t.Context(), &mcp.ListPromptsParams{})
			if err != nil || len(prompts.Prompts) != 1 || prompts.Prompts[0].Name != "mcp__a__greet" {
				t.Errorf("prompts = %+v, %v", prompts, err)
			}
			if p, err := merged.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "mcp__a__greet"}); err != nil || len(p.Messages) != 1 {
				t.Errorf("prompt = %+v, %v", p, err)
			}
			res, err := merged.ListResources(t.Context(), &mcp.ListResourcesParams{})
			if err != nil || len(res.Resources) != 1 || res.Resources[0].URI != "agentd://a/fake://readme" {
				t.Fatalf("resources = %+v, %v", res, err)
			}
			if c, err := merged.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: res.Resources[0].URI}); err != nil || c.Contents[0].Text != "read me" {
				t.Errorf("resource = %+v, %v", c, err)
			}
		})
	}
}

// post sends one JSON-RPC message of the modern era and gives status and body.
func post(t *testing.T, url, method, params string, header http.Header) (int, string) {
	t.Helper()
	body := `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}`
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Mcp-Method", method)
	for k, v := range header {
		req.Header[k] = v
	}
	if host := header.Get("Host"); host != "" {
		req.Host = host
	}
	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	resp, err := tr.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`

func TestM12_TheTransparentListIsAsReceived(t *testing.T) {
	r := start(t, map[string]ServerConfig{"a": fakeServer()})
	r.ready("a")
	url := r.serve(ServeOptions{})
	_, body := post(t, url+"/servers/a", "tools/list", `{`+modernMeta+`}`, http.Header{"Mcp-Protocol-Version": {"2026-07-28"}})
	want := `{"name":"echo","title":"Echo","description":"Says it again.","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}},` +
		`"annotations":{"readOnlyHint":true},"x-unknown":{"kept":[1,2]},"execution":{"taskSupport":"forbidden"}}`
	if !strings.Contains(body, want) {
		t.Errorf("transparent list: %s", body)
	}
	_, body = post(t, url, "tools/list", `{`+modernMeta+`}`, http.Header{"Mcp-Protocol-Version": {"2026-07-28"}})
	if !strings.Contains(body, strings.Replace(want, `"name":"echo"`, `"name":"mcp__a__echo"`, 1)) {
		t.Errorf("merged list: %s", body)
	}
}

func TestM32_M34_ResultsPassUnchanged(t *testing.T) {
	r := start(t, map[string]ServerConfig{"a": fakeServer()})
	r.ready("a")
	url := r.serve(ServeOptions{}) + "/servers/a"
	call := func(tool string) string {
		_, body := post(t, url, "tools/call", `{"name":"`+tool+`","arguments":{},`+modernMeta+`}`,
			http.Header{"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Name": {tool}})
		return body
	}
	if got := call("unknown_block"); !strings.Contains(got, `"content":[{"type":"hologram","frames":[1,2,3]},{"type":"text","text":"seen"}],"extra":true`) {
		t.Errorf("unknown_block: %s", got)
	}
	if got := call("fails"); !strings.Contains(got, `{"type":"text","text":"try later"}],"isError":true`) {
		t.Errorf("fails: %s", got)
	}
	if got := call("refuses"); !strings.Contains(got, `"error":{"code":-32099,"message":"not today"`) {
		t.Errorf("refuses: %s", got)
	}
	if got := call("media"); strings.Count(got, `"aGk="`) != 4 {
		t.Errorf("media: %s", got)
	}
	if got := call("no_such_tool"); !strings.Contains(got, `"code":-32602`) {
		t.Errorf("no_such_tool: %s", got)
	}
}

func TestM37_ProgressOverHTTPComesBeforeTheResult(t *testing.T) {
	r := start(t, map[string]ServerConfig{"a": fakeServer()})
	r.ready("a")
	url := r.serve(ServeOptions{}) + "/servers/a"
	for _, era := range []string{eraLegacy, eraModern} {
		var mu sync.Mutex
		var got []any
		cs := dial(t, url, era, &mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, p *mcp.ProgressNotificationClientRequest) {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, p.Params.ProgressToken, p.Params.Progress)
		}})
		p := &mcp.CallToolParams{Name: "sleep", Arguments: map[string]any{"n": 8}, Meta: mcp.Meta{"progressToken": "mine"}}
		if _, err := cs.CallTool(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the client's handler ran", func() bool { mu.Lock(); defer mu.Unlock(); return len(got) == 8 })
		mu.Lock()
		if diff := cmp.Diff([]any{"mine", 1.0, "mine", 2.0, "mine", 3.0, "mine", 4.0}, got); diff != "" {
			t.Errorf("%s: %s", era, diff)
		}
		mu.Unlock()
	}
}

// elicits answers questions with a name.
func elicits(name string, asked *[]string, mu *sync.Mutex) *mcp.ClientOptions {
	return &mcp.ClientOptions{ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		mu.Lock()
		defer mu.Unlock()
		*asked = append(*asked, r.Params.Message)
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": name}}, nil
	}}
}

func TestM39_QuestionsGoToTheCallingClient(t *testing.T) {
	r := start(t, map[string]ServerConfig{"a": fakeServer()})
	r.ready("a")
	url := r.serve(ServeOptions{}) + "/servers/a"
	for _, era := range []string{eraLegacy, eraModern} {
		t.Run(era, func(t *testing.T) {
			var mu sync.Mutex
			var first, second []string
			ada := dial(t, url, era, elicits("Ada", &first, &mu))
			dial(t, url, era, elicits("Bob", &second, &mu))
			if got := textOf(invoke(t, ada, "elicit", nil)); !strings.Contains(got, "Ada") {
				t.Errorf("the server got %s", got)
			}
			if len(first) != 1 || first[0] != "Your name?" || len(second) != 0 {
				t.Errorf("asked %q and %q", first, second)
			}
			mute := dial(t, url, era, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
			for tool, want := range map[string]string{"elicit": "elicitation/create", "sample": "sampling/createMessage", "roots": "roots/list"} {
				if got := textOf(invoke(t, mute, tool, nil)); !strings.Contains(got, "-32601") || !strings.Contains(got, want) {
					t.Errorf("%s without the capability: the server got %s", tool, got)
				}
			}
		})
	}
}

func TestM39_SamplingAndRootsOfTheCallingClient(t *testing.T) {
	r := start(t, map[string]ServerConfig{"a": fakeServer()})
	r.ready("a")
	url := r.serve(ServeOptions{}) + "/servers/a"
	for _, era := range []string{eraLegacy, eraModern} {
		client := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, &mcp.ClientOptions{
			CreateMessageHandler: func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
				return &mcp.CreateMessageResult{Model: "theirs", Role: "assistant", Content: &mcp.TextContent{Text: "hi"}}, nil
			}})
		client.AddRoots(&mcp.Root{URI: "file:///theirs"})
		tr := &http.Transport{}
		cs, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: tr}},
			&mcp.ClientSessionOptions{ProtocolVersion: versionOf(era)})
		if err != nil {
			t.Fatal(err)
		}
		if got := textOf(invoke(t, cs, "sample", nil)); !strings.Contains(got, "theirs") {
			t.Errorf("%s: sampling: %s", era, got)
		}
		if got := textOf(invoke(t, cs, "roots", nil)); !strings.Contains(got, "file:///theirs") {
			t.Errorf("%s: roots: %s", era, got)
		}
		_ = cs.Close()
		tr.CloseIdleConnections()
	}
}

func TestRule15_E9_PolicyHoldsForClients(t *testing.T) {
	r := start(t, map[string]ServerConfig{"a": fakeServer()})
	r.ready("a")
	r.policy.Set("mcp__a__echo", core.Off)
	url := r.serve(ServeOptions{})
	for _, era := range []string{eraLegacy, eraModern} {
		for _, tt := range []struct{ url, name string }{{url, "mcp__a__echo"}, {url + "/servers/a", "echo"}} {
			cs := dial(t, tt.url, era, nil)
			list, err := cs.ListTools(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, tool := range list.Tools {
				if tool.Name == tt.name {
					t.Errorf("%s %s lists %s, which is off", era, tt.url, tt.name)
				}
			}
			_, err = cs.CallTool(t.Context(), &mcp.CallToolParams{Name: tt.name, Arguments: map[string]any{"text": "x"}})
			var rpc *jsonrpc.Error
			if err == nil || !errors.As(err, &rpc) || rpc.Code != jsonrpc.CodeInvalidParams || !strings.Contains(rpc.Message, "unknown tool") {
				t.Errorf("%s %s: %v", era, tt.name, err)
			}
		}
	}
}

func TestRule15_AskBecomesAnElicitation(t *testing.T) {
	for _, era := range []string{eraLegacy, eraModern} {
		t.Run(era, func(t *testing.T) {
			broker := &relayBroker{}
			r := start(t, map[string]ServerConfig{"a": fakeServer()}, coretest.Provide[core.Broker](core.Approvals, broker),
				coretest.With(askFor(broker, "mcp__a__echo"), struct{}{}))
			r.ready("a")
			url := r.serve(ServeOptions{})
			var asked []string
			answer := "once"
			yes := dial(t, url, era, &mcp.ClientOptions{ElicitationHandler: func(_ context.Context, q *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				asked = append(asked, q.Params.Message)
				return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"answer": answer}}, nil
			}})
			if got := textOf(invoke(t, yes, "mcp__a__echo", map[string]any{"text": "x\u200b"})); !strings.HasPrefix(got, "echo: x") {
				t.Errorf("allowed: %q", got)
			}
			if len(asked) != 1 || !strings.Contains(asked[0], "mcp__a__echo") || !strings.Contains(asked[0], "<U+200B>") {
				t.Errorf("asked %q", asked)
			}
			answer = "reject"
			if res := invoke(t, yes, "mcp__a__echo", map[string]any{"text": "x"}); !res.IsError {
				t.Errorf("rejected: %q", textOf(res))
			}
			mute := dial(t, url, era, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
			refused := invoke(t, mute, "mcp__a__echo", map[string]any{"text": "x"})
			for _, want := range []string{"nobody can be asked", "supports elicitation", `"mcp__a__echo": auto under tools.policy`} {
				if !refused.IsError || !strings.Contains(textOf(refused), want) {
					t.Errorf("without elicitation: %q, want %q in it", textOf(refused), want)
				}
			}
		})
	}
}

// relayBroker is a broker with one asker and no queue.
type relayBroker struct {
	core.Broker
	hold  chan struct{} // if set, read twice before each question is put
	mu    sync.Mutex    // guards asker
	asker core.Asker
}

func (b *relayBroker) AddAsker(c *core.Context, a core.Asker) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asker = a
	return nil
}

func (b *relayBroker) Request(ctx context.Context, q core.Approval) (core.Answer, error) {
	b.mu.Lock()
	a := b.asker
	b.mu.Unlock()
	if a == nil || !a.Takes(q.Session) {
		return core.Answer{}, core.ErrNobodyToAsk
	}
	if b.hold != nil {
		<-b.hold
		<-b.hold
	}
	return a.Ask(ctx, q)
}

// askFor is a policy in miniature: a middleware that asks about one tool.
func askFor(b *relayBroker, tool string) core.Plugin[struct{}] {
	return core.Plugin[struct{}]{Name: "asks", Apply: func(c *core.Context, _ struct{}) error {
		return c.Tools().Use(-50, func(next core.Handler) core.Handler {
			return func(ctx context.Context, inv *core.Invocation) core.Result {
				if inv.Name != tool {
					return next(ctx, inv)
				}
				a, err := b.Request(ctx, core.Approval{Tool: inv.Name, Args: inv.Args, Session: inv.Viewer.Session,
					Answers: []core.AnswerKind{core.AnswerOnce, core.AnswerSession, core.AnswerAlways, core.AnswerReject}})
				if errors.Is(err, core.ErrNobodyToAsk) {
					return denied(tool, core.CodeNobody, err.Error())
				}
				if err != nil {
					return denied(tool, core.CodeDenied, err.Error())
				}
				if !a.Kind.Allows() {
					return denied(tool, core.CodeDenied, "rejected")
				}
				return next(ctx, inv)
			}
		})
	}}
}

func denied(tool string, code core.ErrorCode, why string) core.Result {
	return core.Result{Parts: []llm.Part{llm.Text(why)}, Err: &core.ToolError{Code: code, Tool: tool, Message: why}}
}

func TestRule17_OneNotificationForAChange(t *testing.T) {
	r := start(t, map[string]ServerConfig{"a": fakeServer()})
	r.ready("a")
	url := r.serve(ServeOptions{})
	for _, era := range []string{eraLegacy, eraModern} {
		changes := make(chan struct{}, 100)
		cs := dial(t, url, era, &mcp.ClientOptions{ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changes <- struct{}{} }})
		before, err := cs.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		name := "extra_" + era
		f, err := core.Load(r.Host.Root(), core.Plugin[struct{}]{Name: name, Apply: func(c *core.Context, _ struct{}) error {
			return c.Tools().Define(core.Tool{Name: name, Description: "More.", Run: neverRun})
		}}, struct{}{})
		if err == nil {
			err = f.Ready(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		<-changes
		after, err := cs.ListTools(t.Context(), nil)
		if err != nil || len(after.Tools) != len(before.Tools)+1 {
			t.Errorf("%s: %d tools, then %d, %v", era, len(before.Tools), len(after.Tools), err)
		}
		// A fetch of the same set tells nobody.
		p, _ := r.service.hub.find("a")
		lists := p.server.fetches.Load()
		signal(p.server.refresh)
		eventually(t, "the fetch", func() bool { return p.server.fetches.Load() > lists })
		if len(changes) != 0 {
			t.Errorf("%s: %d more notifications", era, len(changes))
		}
	}
}

// A server that the configuration takes out and puts back is told of once each
// time, whatever the SDK takes for a pause.
func TestRule17_OneNotificationForAnEdit(t *testing.T) {
	in := Config{Servers: map[string]ServerConfig{"a": fakeServer("-tools", "100"), "b": fakeServer()}}
	out := Config{Servers: map[string]ServerConfig{"b": in.Servers["b"]}}
	r := start(t, in.Servers)
	r.ready("a")
	r.ready("b")
	url := r.serve(ServeOptions{})
	for _, era := range []string{eraLegacy, eraModern} {
		var told atomic.Int32
		cs := dial(t, url, era, &mcp.ClientOptions{ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { told.Add(1) }})
		// edit makes one change and waits until the client was told of it.
		edits := int32(0)
		edit := func(cfg Config, there bool) {
			edits++
			if err := core.Update(t.Context(), r.Fiber, cfg); err != nil {
				t.Fatal(err)
			}
			eventually(t, "it runs again", func() bool { return !there || r.status("a").PID != 0 })
			eventually(t, "list_changed", func() bool { return told.Load() >= edits })
			list, err := cs.ListTools(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := slices.ContainsFunc(list.Tools, func(t *mcp.Tool) bool { return t.Name == "mcp__a__more_99" }); got != there {
				t.Errorf("%s: after edit %d the tools are there: %v", era, edits, got)
			}
		}
		for range 3 {
			edit(out, false)
			edit(in, true)
		}
		if got := told.Load(); got != edits {
			t.Errorf("%s: told %d times of %d edits", era, got, edits)
		}
	}
}

func TestE1_WhereWeListen(t *testing.T) {
	for addr, want := range map[string]bool{
		"127.0.0.1:0": true, "localhost:80": true, "[::1]:80": true,
		"0.0.0.0:80": false, ":80": false, "[::]:80": false, "192.168.1.1:80": false, "example.com:80": false, "80": false,
	} {
		if err := (ServeOptions{HTTP: addr}).CheckListen(); (err == nil) != want {
			t.Errorf("CheckListen(%s) = %v", addr, err)
		}
	}
	if err := (ServeOptions{HTTP: "0.0.0.0:80", CertFile: "c", KeyFile: "k"}).CheckListen(); err != nil {
		t.Errorf("with TLS: %v", err)
	}
	if err := (ServeOptions{HTTP: "127.0.0.1:80", CertFile: "c"}).CheckListen(); err == nil {
		t.Error("half of TLS was accepted")
	}
}

func TestE2_E3_E4_TheDoor(t *testing.T) {
	d := &door{token: "the-right-token", hosts: []string{"localhost", "127.0.0.1", "::1"}, origins: []string{"https://trusted.example"}}
	const local, remote = "127.0.0.1:5000", "203.0.113.9:5000"
	for _, tt := range []struct {
		name, remote, host string
		header             map[string]string
		want               int
	}{
		{"a local program", local, "127.0.0.1:80", nil, 0},
		{"a local program over IPv6", "[::1]:5000", "[::1]:80", nil, 0},
		{"another host name", local, "evil.example", nil, 403},
		{"another host name with the token", local, "evil.example", map[string]string{"Authorization": "Bearer the-right-token"}, 403},
		{"a foreign origin", local, "localhost", map[string]string{"Origin": "https://evil.example"}, 403},
		{"a foreign origin with the token", local, "localhost", map[string]string{"Origin": "https://evil.example", "Authorization": "Bearer the-right-token"}, 403},
		{"the null origin", local, "localhost", map[string]string{"Origin": "null"}, 403},
		{"an empty origin", local, "localhost", map[string]string{"Origin": ""}, 403},
		{"a named origin", local, "localhost", map[string]string{"Origin": "https://trusted.example"}, 0},
		{"our own origin", local, "localhost:80", map[string]string{"Origin": "http://localhost:80"}, 0},
		{"another local page", local, "localhost:80", map[string]string{"Origin": "http://localhost:3000"}, 401},
		{"another local page with the token", local, "localhost:80", map[string]string{"Origin": "http://localhost:3000", "Authorization": "Bearer the-right-token"}, 0},
		{"cross-site", local, "localhost", map[string]string{"Sec-Fetch-Site": "cross-site"}, 403},
		{"same-site", local, "localhost", map[string]string{"Sec-Fetch-Site": "same-site"}, 403},
		{"same-site, a local page", local, "localhost:80", map[string]string{"Sec-Fetch-Site": "same-site", "Origin": "http://localhost:3000"}, 401},
		{"same-site, a local page with the token", local, "localhost:80", map[string]string{"Sec-Fetch-Site": "same-site", "Origin": "http://localhost:3000",
			"Authorization": "Bearer the-right-token"}, 0},
		{"through a proxy of this machine", local, "localhost", map[string]string{"X-Forwarded-For": "203.0.113.9"}, 401},
		{"through a proxy that says so in the standard's way", local, "localhost", map[string]string{"Forwarded": "for=203.0.113.9"}, 401},
		{"through a proxy with the token", local, "localhost", map[string]string{"Via": "1.1 x", "Authorization": "Bearer the-right-token"}, 0},
		{"no-cors", local, "localhost", map[string]string{"Sec-Fetch-Mode": "no-cors"}, 403},
		{"remote without a token", remote, "localhost", nil, 401},
		{"remote with a wrong one", remote, "localhost", map[string]string{"Authorization": "Bearer nope"}, 401},
		{"remote with a prefix", remote, "localhost", map[string]string{"Authorization": "Bearer the-right"}, 401},
		{"remote with an empty one", remote, "localhost", map[string]string{"Authorization": "Bearer "}, 401},
		{"remote with the right one", remote, "localhost", map[string]string{"Authorization": "Bearer the-right-token"}, 0},
	} {
		req := &http.Request{Method: http.MethodPost, Host: tt.host, RemoteAddr: tt.remote, Header: http.Header{}}
		for k, v := range tt.header {
			req.Header.Set(k, v)
		}
		if got, why := d.check(req); got != tt.want {
			t.Errorf("%s: %d %s, want %d", tt.name, got, why, tt.want)
		}
	}
}

func TestE2_TheTokenIsMadeOnceAndKept(t *testing.T) {
	r := start(t, nil)
	r.serve(ServeOptions{})
	file := filepath.Join(r.state, "mcp", "token")
	first, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if info, _ := os.Stat(file); info.Mode().Perm() != 0o600 || len(strings.TrimSpace(string(first))) < 26 {
		t.Errorf("%s: %v, %d bytes", file, info.Mode(), len(first))
	}
	r.serve(ServeOptions{})
	if second, _ := os.ReadFile(file); string(second) != string(first) {
		t.Error("the token was made anew")
	}
}

func TestE5_E8_WhatAPostMayBe(t *testing.T) {
	r := start(t, nil)
	url := r.serve(ServeOptions{})
	for _, version := range []string{"", "2025-11-25", "2026-07-28"} {
		h := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
		big := http.Header{}
		if version != "" {
			h.Set("Mcp-Protocol-Version", version)
			big.Set("Mcp-Protocol-Version", version)
		}
		if status, _ := post(t, url, "tools/list", `{}`, h); status != http.StatusUnsupportedMediaType {
			t.Errorf("%q: a form got %d", version, status)
		}
		if status, _ := post(t, url, "tools/list", `{"x":"`+strings.Repeat("x", maxBody+1)+`"}`, big); status != http.StatusRequestEntityTooLarge && status != http.StatusBadRequest {
			t.Errorf("%q: a huge body got %d", version, status)
		}
	}
	if status, _ := post(t, url+"/servers/none", "tools/list", `{}`, nil); status != http.StatusNotFound {
		t.Errorf("a server that is none got %d", status)
	}
}

func TestM44_TheClientsTokenStaysHere(t *testing.T) {
	u := newUpstream(t, true)
	r := start(t, map[string]ServerConfig{"u": {URL: u.URL, Headers: map[string]string{"Authorization": "Bearer ours"}}})
	r.ready("u")
	url := r.serve(ServeOptions{Token: "client-token"}) + "/servers/u"
	_, body := post(t, url, "tools/call", `{"name":"greet","arguments":{"name":"x"},`+modernMeta+`}`, http.Header{
		"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Name": {"greet"}, "Authorization": {"Bearer client-token"}, "Cookie": {"c=client-token"}})
	if !strings.Contains(body, "hello x") {
		t.Fatalf("greet: %s", body)
	}
	for _, h := range u.headers() {
		if strings.Contains(string(encode(h)), "client-token") || h.Get("Authorization") != "Bearer ours" {
			t.Errorf("upstream got %v", h)
		}
	}
}

// inMemory is a server's session of the legacy era, with its client at the
// other end, until the test ends.
func inMemory(t *testing.T) *mcp.ServerSession { return named(t, "one") }

// named is one with an id, as sessions over HTTP have.
func named(t *testing.T, id string) *mcp.ServerSession {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
	a, b := mcp.NewInMemoryTransports()
	ss, err := server.Connect(t.Context(), namedTransport{a, id}, nil)
	if err != nil {
		t.Fatal(err)
	}
	cs, err := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, nil).Connect(t.Context(), b, &mcp.ClientSessionOptions{ProtocolVersion: legacyVersion})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = cs.Close(), ss.Close() })
	return ss
}

type namedTransport struct {
	mcp.Transport
	id string
}

func (n namedTransport) Connect(ctx context.Context) (mcp.Connection, error) {
	conn, err := n.Transport.Connect(ctx)
	return namedConn{conn, n.id}, err
}

type namedConn struct {
	mcp.Connection
	id string
}

func (n namedConn) SessionID() string { return n.id }

func TestM22_SessionsAreEvicted(t *testing.T) {
	r := start(t, nil)
	url := r.serve(ServeOptions{})
	g := newSeats(2, time.Hour)
	var sessions []*mcp.ServerSession
	for range 3 {
		sessions = append(sessions, inMemory(t))
	}
	g.take(sessions[0])
	done := g.busy(sessions[0]) // has something under way
	g.take(sessions[1])
	g.take(sessions[2])
	if err := sessions[1].Wait(); err != nil {
		t.Logf("the silent one ended with %v", err)
	}
	g.mu.Lock()
	_, first := g.taken[sessions[0]]
	_, second := g.taken[sessions[1]]
	g.mu.Unlock()
	if !first || second {
		t.Errorf("kept the busy one: %v, the silent one: %v", first, second)
	}
	done()
	// Over HTTP: far more initialises than seats.
	var ids []string
	for range maxSeats + 10 {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(
			`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`))
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		ids = append(ids, resp.Header.Get("Mcp-Session-Id"))
	}
	defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	eventually(t, "the first session is gone", func() bool {
		status, _ := post(t, url, "ping", `{}`, http.Header{"Mcp-Session-Id": {ids[0]}})
		return status == http.StatusNotFound
	})
	if status, _ := post(t, url, "ping", `{}`, http.Header{"Mcp-Session-Id": {ids[len(ids)-1]}}); status != http.StatusOK {
		t.Errorf("the newest session got %d", status)
	}
}

// A client that only listens keeps its session, but not at the cost of others:
// if all do, the one that asked for nothing for longest goes.
func TestRule16_SessionsThatListenAreEvictedLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newSeats(2, time.Hour)
		listens, silent, newer, newest := named(t, "listens"), named(t, "silent"), named(t, "newer"), named(t, "newest")
		taken := func(want ...*mcp.ServerSession) {
			t.Helper()
			synctest.Wait()
			for _, ss := range want {
				if g.of(ss.ID()) == nil {
					t.Errorf("%s is gone", ss.ID())
				}
			}
			if len(g.taken) != len(want) {
				t.Errorf("%d seats are taken, want %d", len(g.taken), len(want))
			}
		}
		g.take(listens)
		defer g.listens(listens.ID())()
		time.Sleep(time.Minute)
		g.take(silent)
		time.Sleep(time.Minute)
		g.take(newer)
		taken(listens, newer)
		defer g.listens(newer.ID())()
		time.Sleep(time.Minute)
		g.take(newest)
		taken(newer, newest)
	})
}

func TestRule14_Stdio(t *testing.T) {
	r := start(t, map[string]ServerConfig{"a": fakeServer()})
	r.ready("a")
	for server, tool := range map[string]string{"": "mcp__a__echo", "a": "echo"} {
		inRead, inWrite := io.Pipe()
		outRead, outWrite := io.Pipe()
		done := make(chan error, 1)
		go func() {
			done <- Serve(t.Context(), r.Host.Root(), ServeOptions{Server: server, In: inRead, Out: outWrite})
		}()
		cs, err := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, nil).Connect(t.Context(), &mcp.IOTransport{Reader: outRead, Writer: inWrite}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := textOf(invoke(t, cs, tool, map[string]any{"text": "x"})); got != "echo: x" {
			t.Errorf("%s = %q", tool, got)
		}
		_ = cs.Close()
		if err := <-done; err != nil {
			t.Errorf("the client left, and serve says %v", err)
		}
	}
	if err := Serve(t.Context(), r.Host.Root(), ServeOptions{Server: "none"}); err == nil || !strings.Contains(err.Error(), `no MCP server "none"`) {
		t.Errorf("a server that is none: %v", err)
	}
}

// The one client on stdin may be silent for as long as it likes.
func TestRule16_SilenceEndsNoSessionOverStdio(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := coretest.Start(t, ownTool, struct{}{})
		inRead, inWrite := io.Pipe()
		outRead, outWrite := io.Pipe()
		done := make(chan error, 1)
		go func() { done <- Serve(t.Context(), r.Host.Root(), ServeOptions{In: inRead, Out: outWrite}) }()
		cs, err := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, nil).Connect(t.Context(),
			&mcp.IOTransport{Reader: outRead, Writer: inWrite}, &mcp.ClientSessionOptions{ProtocolVersion: legacyVersion})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * sessionTimeout)
		synctest.Wait()
		if _, err := cs.ListTools(t.Context(), nil); err != nil {
			t.Errorf("after hours of silence: %v", err)
		}
		_ = cs.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestRule15_AJobOfAnotherCallIsRefused(t *testing.T) {
	r := start(t, map[string]ServerConfig{"a": fakeServer()})
	r.ready("a")
	url := r.serve(ServeOptions{}) + "/servers/a"
	asked := rawCall(t, url, "elicit", "")
	var m struct {
		Result struct {
			ResultType   string `json:"resultType"`
			RequestState string `json:"requestState"`
			Requests     map[string]struct{ Method string }
		}
	}
	if err := json.Unmarshal([]byte(asked), &m); err != nil || m.Result.ResultType != "input_required" || !strings.HasPrefix(m.Result.RequestState, jobPrefix) {
		t.Fatalf("asked: %s, %v", asked, err)
	}
	answer := `"inputResponses":{"question":{"action":"accept","content":{"name":"Eve"}}},"requestState":"` + m.Result.RequestState + `",`
	if got := rawCall(t, url, "echo", answer); !strings.Contains(got, "of another call") {
		t.Errorf("another tool: %s", got)
	}
	if got := rawCall(t, url, "elicit", answer); !strings.Contains(got, "unknown, expired") {
		t.Errorf("a state that was used: %s", got)
	}
}

// A request that comes when the gateway is closing opens no mount, which
// nobody would close.
func TestRule16_AClosedGatewayOpensNothing(t *testing.T) {
	r := start(t, nil)
	g, err := newGateway(r.Host.Root())
	if err != nil {
		t.Fatal(err)
	}
	if g.mount("") == nil {
		t.Error("no mount")
	}
	g.close()
	if g.mount("") != nil {
		t.Error("a mount after the end")
	}
}
