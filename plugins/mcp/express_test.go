package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/coretest"
)

// A rawClient speaks the legacy era over HTTP, message by message.
type rawClient struct {
	t       *testing.T
	url     string
	session string
	client  *http.Client
}

func newRawClient(t *testing.T, url, capabilities string) *rawClient {
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	c := &rawClient{t: t, url: url, client: &http.Client{Transport: tr}}
	resp := c.send(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":` +
		capabilities + `,"clientInfo":{"name":"raw","version":"1"}}}`)
	c.session = resp.Header.Get("Mcp-Session-Id")
	resp.Body.Close()
	c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`).Body.Close()
	return c
}

// send posts a message and gives the answer with its body unread.
func (c *rawClient) send(body string) *http.Response {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, c.url, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if c.session != "" {
		req.Header.Set("Mcp-Session-Id", c.session)
	}
	resp, err := c.client.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	return resp
}

// events reads the messages of a stream one by one.
func events(body io.Reader) func() string {
	lines := bufio.NewScanner(body)
	return func() string {
		rest := ""
		for lines.Scan() {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok && data != "" {
				return data
			}
			rest += lines.Text()
		}
		return "no event, but " + rest
	}
}

func (c *rawClient) all(body string) (*http.Response, string) {
	c.t.Helper()
	resp := c.send(body)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return resp, string(data)
}

func call(id, tool, rest string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%q%s}}`, id, tool, rest)
}

func TestRule14_ACallIsAnsweredAsJSONOrAsAStream(t *testing.T) {
	r := start(t, map[string]ServerConfig{"a": fakeServer()})
	r.ready("a")
	url := r.serve(ServeOptions{})
	for _, mount := range []struct{ url, prefix string }{{url, "mcp__a__"}, {url + "/servers/a", ""}} {
		c := newRawClient(t, mount.url, `{"elicitation":{}}`)
		for _, id := range []string{`1`, `"one"`, `9007199254740993`} { // as it was written
			resp, body := c.all(call(id, mount.prefix+"echo", `,"arguments":{"text":"hi"}`))
			want := `{"jsonrpc":"2.0","id":` + id + `,"result":{"content":[{"type":"text","text":"echo: hi"}]}}`
			if body != want || resp.Header.Get("Content-Type") != "application/json" {
				t.Errorf("%s %s: %s\nwant %s", resp.Status, resp.Header.Get("Content-Type"), body, want)
			}
		}
		if _, body := c.all(call("2", mount.prefix+"refuses", "")); !strings.Contains(body, `"error":{"code":-32099,"message":"not today"}`) {
			t.Errorf("an error of the server's: %s", body)
		}
		if _, body := c.all(call("2", "nothing", "")); !strings.Contains(body, `"code":-32602`) {
			t.Errorf("a tool that is none: %s", body)
		}
		resp := c.send(call("3", mount.prefix+"sleep", `,"arguments":{"n":4},"_meta":{"progressToken":"p"}`))
		next := events(resp.Body)
		for i := range 4 {
			if got, want := next(), fmt.Sprintf(`"progressToken":"p","progress":%d,`, i+1); !strings.Contains(got, `"notifications/progress"`) || !strings.Contains(got, want) {
				t.Errorf("event %d: %s", i, got)
			}
		}
		if got := next(); !strings.Contains(got, `"id":3,"result"`) || !strings.Contains(got, "slept") {
			t.Errorf("after the progress: %s", got)
		}
		resp.Body.Close()
	}
}

func TestRule15_QuestionsComeOnTheStreamOfTheirCall(t *testing.T) {
	r := start(t, map[string]ServerConfig{"a": fakeServer()})
	r.ready("a")
	c := newRawClient(t, r.serve(ServeOptions{}), `{"elicitation":{}}`)
	for _, tt := range []struct{ answer, want string }{
		{`"result":{"action":"accept","content":{"name":"Ada"}}`, `Ada`},
		{`"result":{"action":"decline"}`, `decline`},
		{`"error":{"code":-32000,"message":"no window"}`, `no window`},
	} {
		resp := c.send(call("7", "mcp__a__elicit", ""))
		next := events(resp.Body)
		var question struct {
			ID     string
			Method string
		}
		if first := next(); json.Unmarshal([]byte(first), &question) != nil || question.Method != "elicitation/create" {
			t.Fatalf("question = %s", first)
		}
		other := newRawClient(t, c.url, `{"elicitation":{}}`)
		other.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"result":{"action":"accept","content":{"name":"Eve"}}}`, question.ID)).Body.Close()
		answer := c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,%s}`, question.ID, tt.answer))
		answer.Body.Close()
		if answer.StatusCode != http.StatusAccepted {
			t.Errorf("the answer got %s", answer.Status)
		}
		if got := next(); !strings.Contains(got, `"id":7`) || !strings.Contains(got, tt.want) || strings.Contains(got, "Eve") {
			t.Errorf("result = %s, want %s in it", got, tt.want)
		}
		resp.Body.Close()
	}
}

// A later call of the same session does not get the questions of policy about
// an earlier one: it would take them with it when it ends.
func TestRule15_ApprovalsComeOnTheStreamOfTheirCall(t *testing.T) {
	broker := &relayBroker{hold: make(chan struct{})}
	r := start(t, map[string]ServerConfig{"a": fakeServer()}, coretest.Provide[core.Broker](core.Approvals, broker),
		coretest.With(askFor(broker, "mcp__a__echo"), struct{}{}))
	r.ready("a")
	c := newRawClient(t, r.serve(ServeOptions{}), `{"elicitation":{}}`)
	type event struct{ call, data string }
	got := make(chan event, 2)
	go func() {
		resp := c.send(call("1", "mcp__a__echo", `,"arguments":{"text":"hi"}`))
		defer resp.Body.Close()
		got <- event{"first", events(resp.Body)()}
	}()
	broker.hold <- struct{}{} // the first call has come so far
	later := c.send(call("2", "mcp__a__elicit", ""))
	defer later.Body.Close()
	next := events(later.Body)
	if question := next(); !strings.Contains(question, "Your name?") {
		t.Fatalf("the later call got %s", question)
	}
	go func() { got <- event{"later", next()} }()
	broker.hold <- struct{}{}
	if e := <-got; e.call != "first" || !strings.Contains(e.data, "mcp__a__echo") {
		t.Errorf("the %s call got %s", e.call, e.data)
	}
}

func TestRule10_ACallEndsWhenItsClientSaysSoOrLeaves(t *testing.T) {
	r := start(t, map[string]ServerConfig{"a": fakeServer()})
	r.ready("a")
	c := newRawClient(t, r.serve(ServeOptions{}), `{"elicitation":{}}`)
	for _, end := range []func(){
		func() {
			c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"x"}}`).Body.Close()
		},
		func() {
			req, _ := http.NewRequestWithContext(t.Context(), http.MethodDelete, c.url, nil)
			req.Header.Set("Mcp-Session-Id", c.session)
			if resp, err := c.client.Do(req); err == nil {
				resp.Body.Close()
			}
		},
	} {
		resp := c.send(call(`"x"`, "mcp__a__elicit", ""))
		next := events(resp.Body)
		if got := next(); !strings.Contains(got, "elicitation/create") {
			t.Fatalf("question = %s", got)
		}
		if _, body := c.all(call(`"x"`, "mcp__a__echo", "")); !strings.Contains(body, "under way") {
			t.Errorf("a second call of that id: %s", body)
		}
		end()
		last := next()
		for strings.Contains(last, "notifications/cancelled") { // of the question
			last = next()
		}
		if !strings.Contains(last, `"id":"x"`) || strings.Contains(last, "action") {
			t.Errorf("the call ended with %s", last)
		}
		resp.Body.Close()
	}
	if resp := c.send(call("1", "mcp__a__echo", "")); resp.StatusCode != http.StatusNotFound {
		t.Errorf("a call of a session that is over: %s", resp.Status)
	}
}

func TestM22_ASilentSessionEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ss := inMemory(t)
		s := newSeats(2, time.Hour)
		s.take(ss)
		here := func() bool { synctest.Wait(); return s.of(ss.ID()) != nil }
		time.Sleep(50 * time.Minute)
		s.touch(ss)
		time.Sleep(50 * time.Minute)
		if !here() {
			t.Error("a session that was used is gone")
		}
		done := s.busy(ss)
		time.Sleep(3 * time.Hour)
		if !here() {
			t.Error("a session with a call under way is gone")
		}
		done()
		hangUp := s.listens(ss.ID())
		time.Sleep(3 * time.Hour)
		if !here() {
			t.Error("a session that listens is gone")
		}
		hangUp()
		ctx, cancel := context.WithCancelCause(t.Context())
		if seat := s.of(ss.ID()); seat.begin("1", cancel) != nil || seat.begin("1", cancel) == nil {
			t.Error("one id, two calls")
		}
		time.Sleep(3 * time.Hour)
		if here() {
			t.Error("a session that is silent stays")
		}
		if ctx.Err() == nil {
			t.Error("its call goes on")
		}
	})
}

func TestRule16_AClientListensWhileItsStreamIsOpen(t *testing.T) {
	g, err := newGateway(start(t, nil).Host.Root())
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(g.router())
	t.Cleanup(srv.Close)
	c := newRawClient(t, srv.URL+"/mcp", `{}`)
	ctx, hangUp := context.WithCancel(t.Context())
	defer hangUp()
	req, _ := http.NewRequestWithContext(ctx, http.MethodGet, c.url, nil)
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("Mcp-Session-Id", c.session)
	resp, err := c.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	seats := g.mount("").seats
	open := func() int {
		seats.mu.Lock()
		defer seats.mu.Unlock()
		return seats.byID[c.session].open
	}
	if n := open(); resp.StatusCode != http.StatusOK || n != 1 {
		t.Errorf("%s, %d streams", resp.Status, n)
	}
	hangUp()
	eventually(t, "the stream is over", func() bool { return open() == 0 })
}

func FuzzMessage(f *testing.F) {
	for _, seed := range []string{
		call("1", "x", ""), `{"jsonrpc":"2.0","id":"agentd-ask-1","result":{}}`, `{"id":"agentd-ask-1","error":{"code":1}}`,
		`{"method":"notifications/cancelled","params":{"requestId":"1"}}`, `[]`, `null`, `{"id":{}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s := &seat{calls: map[string]context.CancelCauseFunc{}, asks: map[string]chan message{}}
		cancelled := false
		_ = s.begin("1", func(error) { cancelled = true })
		id, answer := s.expect()
		var msg message
		if json.Unmarshal(data, &msg) != nil {
			return
		}
		if took := s.cancel(msg.Params); took != cancelled {
			t.Errorf("took the cancelling: %v, cancelled: %v", took, cancelled)
		}
		took := s.answer(msg)
		var of string
		if ours := json.Unmarshal(msg.ID, &of) == nil && of == id && (msg.Result != nil || msg.Error != nil); took != ours || took != (len(answer) == 1) {
			t.Errorf("took the answer: %v, ours: %v", took, ours)
		}
	})
}

// A client that initialises its session again has made no second one: its
// calls can still be cancelled.
func TestM22_ASessionHasOneSeat(t *testing.T) {
	r := start(t, map[string]ServerConfig{"a": fakeServer()})
	r.ready("a")
	c := newRawClient(t, r.serve(ServeOptions{}), `{"elicitation":{}}`)
	resp := c.send(call(`"x"`, "mcp__a__elicit", ""))
	defer resp.Body.Close()
	next := events(resp.Body)
	if got := next(); !strings.Contains(got, "elicitation/create") {
		t.Fatalf("question = %s", got)
	}
	_, body := c.all(`{"jsonrpc":"2.0","id":9,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`)
	if !strings.Contains(body, `duplicate`) {
		t.Errorf("initialising again: %s", body)
	}
	if _, body := c.all(call(`"x"`, "mcp__a__echo", "")); !strings.Contains(body, "under way") {
		t.Errorf("a second call of the id, with the first under way: %s", body)
	}
}

// Line breaks of any kind between a message's members are not those of the
// stream.
func TestRule14_AnEventIsOneLine(t *testing.T) {
	for _, space := range []string{"\n", "\r", "\r\n"} {
		w := httptest.NewRecorder()
		l := &line{w: w}
		l.send("first")
		l.finish(json.RawMessage("1"), json.RawMessage(`{`+space+`"a":`+space+`1}`), nil)
		want := "event: message\ndata: \"first\"\n\nevent: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":1}}\n\n"
		if got := w.Body.String(); got != want {
			t.Errorf("%q: %q", space, got)
		}
	}
}

// A session is one of the mount that it began at, and no other.
func TestRule14_ASessionBelongsToItsMount(t *testing.T) {
	r := start(t, map[string]ServerConfig{"a": fakeServer(), "b": fakeServer()})
	r.ready("a")
	r.ready("b")
	url := r.serve(ServeOptions{})
	c := newRawClient(t, url+"/servers/a", `{}`)
	for path, want := range map[string]int{"/servers/a": http.StatusOK, "/servers/b": http.StatusNotFound, "": http.StatusNotFound} {
		c.url = url + path
		for _, body := range []string{call("1", "echo", ""), `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`} {
			resp := c.send(body)
			resp.Body.Close()
			if resp.StatusCode != want {
				t.Errorf("%s: %s got %s, want %d", path, body, resp.Status, want)
			}
		}
	}
}
