package wire

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A peer answers the requests of a client in memory, as answer says.
type peer struct {
	out    chan jsonrpc.Message
	closed chan struct{}
	answer func(req *jsonrpc.Request) []string
	ended  error // what Read returns after Close
	broken error // what Write returns
}

func newPeer(answer func(req *jsonrpc.Request) []string) *peer {
	return &peer{out: make(chan jsonrpc.Message, 100), closed: make(chan struct{}), answer: answer, ended: io.EOF}
}

func (p *peer) Connect(context.Context) (mcp.Connection, error) { return p, nil }
func (p *peer) SessionID() string                               { return "" }

func (p *peer) Close() error {
	select {
	case <-p.closed:
	default:
		close(p.closed)
	}
	return nil
}

func (p *peer) Read(context.Context) (jsonrpc.Message, error) {
	select {
	case m := <-p.out:
		return m, nil
	case <-p.closed:
		return nil, p.ended
	}
}

func (p *peer) Write(_ context.Context, msg jsonrpc.Message) error {
	if p.broken != nil {
		return p.broken
	}
	req, ok := msg.(*jsonrpc.Request)
	if !ok {
		return nil
	}
	for _, text := range p.answer(req) {
		text = strings.ReplaceAll(text, "$ID", fmt.Sprint(req.ID.Raw()))
		msgs, err := Decode([]byte(text))
		if err != nil {
			return err
		}
		p.out <- msgs[0]
	}
	return nil
}

const initResult = `{"id":$ID,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"p","version":"1"}}}`

// The result that every SDK refuses: a block of an unknown type, and a field
// that no version of the protocol has.
const oddResult = `{"content":[{"type":"hologram","frames":[1]}],"zz":1,"aa":{"b":[2,1]}}`

func legacy(t *testing.T, answer func(req *jsonrpc.Request) []string) *mcp.ClientSession {
	t.Helper()
	p := newPeer(func(req *jsonrpc.Request) []string {
		switch {
		case req.Method == "initialize":
			return []string{initResult}
		case !req.IsCall():
			return nil
		}
		return answer(req)
	})
	return connect(t, Transport(p))
}

func connect(t *testing.T, tr mcp.Transport) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, nil)
	cs, err := client.Connect(t.Context(), tr, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cs.Close() })
	return cs
}

func callTool(t *testing.T, cs *mcp.ClientSession, tap *Tap) error {
	t.Helper()
	params := &mcp.CallToolParams{Name: "x", Meta: mcp.Meta{"progressToken": tap.ID}}
	_, err := cs.CallTool(WithTap(t.Context(), tap), params)
	return err
}

func TestRule9_ResultsAreKeptAsReceived(t *testing.T) {
	cs := legacy(t, func(req *jsonrpc.Request) []string {
		return []string{`{"id":$ID,"result":` + oddResult + `}`}
	})
	tap := &Tap{ID: "t1"}
	if err := callTool(t, cs, tap); err != nil {
		t.Fatal(err)
	}
	if got := string(tap.Result()); got != oddResult {
		t.Errorf("result = %s", got)
	}
	// Without a tap the SDK sees the same and fails: that is what taps are for.
	if _, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "x"}); err == nil {
		t.Error("the SDK now decodes unknown blocks; the stand-in can go")
	}
}

func TestRule7_BrokenToolsDoNotHideTheOthers(t *testing.T) {
	page := `{"tools":[{"name":"a","inputSchema":true},null,{"name":7},{"name":"b","inputSchema":{"type":"object"}}],"nextCursor":"n"}`
	cs := legacy(t, func(*jsonrpc.Request) []string { return []string{`{"id":$ID,"result":` + page + `}`} })
	tap := &Tap{ID: "t1"}
	res, err := cs.ListTools(WithTap(t.Context(), tap), nil)
	if err != nil {
		t.Fatal(err)
	}
	if string(tap.Result()) != page {
		t.Errorf("result = %s", tap.Result())
	}
	if len(res.Tools) != 2 || res.NextCursor != "" {
		t.Errorf("the SDK got %d tools, cursor %q", len(res.Tools), res.NextCursor)
	}
}

func TestRule10_ProgressComesBeforeTheResultAndNotAfter(t *testing.T) {
	progress := `{"method":"notifications/progress","params":{"progressToken":"t1","progress":%d}}`
	cs := legacy(t, func(*jsonrpc.Request) []string {
		return []string{
			fmt.Sprintf(progress, 1), fmt.Sprintf(progress, 2),
			`{"method":"notifications/progress","params":{"progressToken":"other","progress":9}}`,
			`{"id":$ID,"result":{"content":[]}}`, fmt.Sprintf(progress, 3),
		}
	})
	var got []string
	tap := &Tap{ID: "t1", Notify: func(method string, params json.RawMessage) {
		got = append(got, method+string(params))
	}}
	if err := callTool(t, cs, tap); err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || !strings.Contains(got[1], `"progress":2`) {
		t.Errorf("notified of %q", got)
	}
	if err := cs.Ping(t.Context(), nil); err == nil && len(got) != 2 {
		t.Errorf("late progress arrived: %q", got)
	}
}

func TestStandIn(t *testing.T) {
	ask := `{"resultType":"input_required","inputRequests":{"a":{}}}`
	for _, tt := range []struct {
		method, in string
		relay      bool
		want       string
	}{
		{"tools/call", oddResult, false, `{"content":[]}`},
		{"tools/call", ask, false, ask},
		{"tools/call", ask, true, `{"content":[]}`},
		{"tools/call", `{"content":[{"type":"text","text":"\"inputRequests\""}]}`, false, `{"content":[]}`},
		{"tools/list", `[]`, false, `{"tools":[]}`},
		{"resources/read", `{"contents":3}`, false, `{"contents":[]}`},
		{"other/method", `{"a":1}`, false, `{"a":1}`},
	} {
		if got := string(standIn(tt.method, json.RawMessage(tt.in), tt.relay)); got != tt.want {
			t.Errorf("standIn(%s, %s, %v) = %s, want %s", tt.method, tt.in, tt.relay, got, tt.want)
		}
	}
}

// serveHTTP answers initialize and lets answer write the rest.
func serveHTTP(t *testing.T, answer func(w http.ResponseWriter, id string)) *mcp.ClientSession {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if json.NewDecoder(r.Body).Decode(&m) != nil || len(m.ID) == 0 {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		if m.Method == "initialize" {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0",`+strings.ReplaceAll(initResult, "$ID", string(m.ID))[1:])
			return
		}
		answer(w, string(m.ID))
	}))
	t.Cleanup(srv.Close)
	hc := &http.Client{Transport: RoundTripper(srv.Client().Transport, 1<<20, false)}
	return connect(t, &mcp.StreamableClientTransport{Endpoint: srv.URL, HTTPClient: hc})
}

func TestRule9_OverHTTPAsJSON(t *testing.T) {
	cs := serveHTTP(t, func(w http.ResponseWriter, id string) {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		_, _ = io.WriteString(w, `{"id":"`+id+`","result":`+oddResult+`}`)
	})
	tap := &Tap{ID: "t1"}
	if err := callTool(t, cs, tap); err != nil {
		t.Fatal(err)
	}
	if got := string(tap.Result()); got != oddResult {
		t.Errorf("result = %s", got)
	}
}

func TestRule9_OverHTTPAsEvents(t *testing.T) {
	var got []string
	cs := serveHTTP(t, func(w http.ResponseWriter, id string) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, ": hello\n\nid: 1\nevent: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\r\ndata: \"params\":{\"progressToken\":\"t1\",\"progress\":1}}\n\n"+
			"event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":1}}\n\n"+
			"id: 2\ndata: {\"jsonrpc\":\"2.0\",\"id\":"+id+",\"result\":"+oddResult+"}\n\n")
	})
	tap := &Tap{ID: "t1", Notify: func(m string, _ json.RawMessage) { got = append(got, m) }}
	if err := callTool(t, cs, tap); err != nil {
		t.Fatal(err)
	}
	if string(tap.Result()) != oddResult {
		t.Errorf("result = %s", tap.Result())
	}
	if diff := cmp.Diff([]string{"notifications/progress", "notifications/message"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestRule2_OverHTTPALongAnswerFailsOneCall(t *testing.T) {
	cs := serveHTTP(t, func(w http.ResponseWriter, id string) {
		w.Header().Set("Content-Type", "application/json")
		text := "ok"
		if id == "2" {
			text = strings.Repeat("x", 2<<20)
		}
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":`+id+`,"result":{"content":[{"type":"text","text":"`+text+`"}]}}`)
	})
	if err := callTool(t, cs, &Tap{ID: "t1"}); err == nil || !strings.Contains(err.Error(), "over the limit") {
		t.Errorf("err = %v", err)
	}
	if err := callTool(t, cs, &Tap{ID: "t2"}); err != nil {
		t.Errorf("next call: %v", err)
	}
}

func TestRule2_OverHTTPALongEventFailsOneCall(t *testing.T) {
	cs := serveHTTP(t, func(w http.ResponseWriter, id string) {
		w.Header().Set("Content-Type", "text/event-stream")
		text := "ok"
		if id == "2" {
			text = strings.Repeat("x", 2<<20)
		}
		_, _ = io.WriteString(w, "id: 7\ndata: {\"jsonrpc\":\"2.0\",\"id\":"+id+`,"result":{"content":[{"type":"text","text":"`+text+"\"}]}}\n\n")
	})
	tap := &Tap{ID: "t1"}
	if err := callTool(t, cs, tap); err == nil || tap.Err() == nil || !strings.Contains(tap.Err().Error(), "over the limit") {
		t.Errorf("err = %v, %v", err, tap.Err())
	}
	if err := callTool(t, cs, &Tap{ID: "t2"}); err != nil {
		t.Errorf("next call: %v", err)
	}
}

// What is no message on a stream that belongs to no call is left out.
func TestRule4_OverHTTPNewsThatIsNoMessage(t *testing.T) {
	news := &filter{news: true}
	if got := news.message([]byte("oops")); got != nil {
		t.Errorf("news = %s", got)
	}
	if got := (&filter{}).message([]byte("oops")); string(got) != "oops" {
		t.Errorf("an answer to the SDK's own = %s", got)
	}
}

func TestRule15_QuestionsOverHTTPCarryTheirCall(t *testing.T) {
	in := json.RawMessage(`{"message":"m","_meta":{"a":1}}`)
	if got := string(withCallKey(in, "t9")); got != `{"_meta":{"a":1,"agentd.dev/call":"t9"},"message":"m"}` {
		t.Errorf("params = %s", got)
	}
	for _, odd := range []string{``, `null`, `{"_meta":null}`} {
		if got := string(withCallKey(json.RawMessage(odd), "t9")); !strings.Contains(got, `{"agentd.dev/call":"t9"}`) {
			t.Errorf("withCallKey(%s) = %s", odd, got)
		}
	}
	if got := string(withCallKey(json.RawMessage(`[1]`), "t9")); got != `[1]` {
		t.Errorf("withCallKey([1]) = %s", got)
	}
}

func FuzzEventFilter(f *testing.F) {
	f.Add("data\n\nevent\ndata\ndata: x\n\n")
	f.Add("id: 1\ndata: {}\n\n:c\n\ndata: a\r\ndata:b\n\n")
	f.Fuzz(func(t *testing.T, in string) {
		same := func(b []byte) []byte { return b }
		none := func() []byte { return nil }
		once, err1 := io.ReadAll(newEventFilter(io.NopCloser(strings.NewReader(in)), 1<<16, same, none))
		twice, err2 := io.ReadAll(newEventFilter(io.NopCloser(strings.NewReader(string(once))), 1<<16, same, none))
		if err1 == nil && err2 == nil && string(once) != string(twice) {
			t.Errorf("filtering %q gives %q, then %q", in, once, twice)
		}
	})
}
