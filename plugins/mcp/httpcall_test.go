package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/agentd-host/agentd/core"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A crafted server speaks the legacy era over HTTP; how its tools answer is
// for the test to write.
type crafted struct {
	*httptest.Server
	mu      sync.Mutex // guards the fields below
	calls   map[string]int
	inits   int
	deletes int
	refuses bool // the handshake
}

// A craftedCall is a request for a tool, to be answered as one likes.
type craftedCall struct {
	tool string
	id   json.RawMessage
	w    http.ResponseWriter
	r    *http.Request
}

func (c *craftedCall) json(status int, text string) {
	c.w.Header().Set("Content-Type", "application/json")
	c.w.WriteHeader(status)
	_, _ = io.WriteString(c.w, strings.ReplaceAll(text, "$ID", string(c.id)))
}

func (c *craftedCall) text(text string) {
	c.json(200, fmt.Sprintf(`{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":%q}]}}`, text))
}

// craft serves these tools, and "echo".
func craft(t *testing.T, tools map[string]func(*craftedCall)) *crafted {
	t.Helper()
	s := &crafted{calls: map[string]int{}}
	listed := []string{tool("echo")}
	for name := range tools {
		listed = append(listed, tool(name))
	}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ Name string }
		}
		_ = json.NewDecoder(r.Body).Decode(&m)
		c := &craftedCall{m.Params.Name, m.ID, w, r}
		switch {
		case r.Method == http.MethodDelete:
			s.count(func() { s.deletes++ })
		case r.Method != http.MethodPost:
			w.WriteHeader(http.StatusMethodNotAllowed)
		case len(m.ID) == 0 || m.Method == "":
			s.count(func() { s.calls[m.Method]++ })
			w.WriteHeader(http.StatusAccepted)
		case m.Method == "initialize" && s.refusing():
			c.json(200, `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32000,"message":"no licence"}}`)
		case m.Method == "initialize":
			s.count(func() { s.inits++ })
			w.Header().Set("Mcp-Session-Id", "s")
			c.json(200, `{"jsonrpc":"2.0","id":$ID,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"crafted","version":"1"}}}`)
		case m.Method == "tools/list":
			c.json(200, `{"jsonrpc":"2.0","id":$ID,"result":{"tools":[`+strings.Join(listed, ",")+`]}}`)
		case m.Method == "tools/call":
			s.count(func() { s.calls[c.tool]++ })
			if do := tools[c.tool]; do != nil {
				do(c)
				return
			}
			c.text("echo")
		default:
			c.json(200, `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32601,"message":"no"}}`)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func tool(name string) string {
	return fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"}}`, name)
}

func (s *crafted) count(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// called is how often the tool was.
func (s *crafted) called(tool string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[tool]
}

// initialised is how many sessions there were.
func (s *crafted) initialised() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.inits
}

func (s *crafted) refusing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refuses
}

// ended is how many sessions the client ended.
func (s *crafted) ended() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.deletes
}

func (s *crafted) config() ServerConfig { return ServerConfig{URL: s.URL, Era: eraLegacy} }

// The SDK has these codes for states of its own.
func TestRule4_AServersOwnErrorIsNoLostConnection(t *testing.T) {
	codes := []int64{-32001, -32003, -32004, -32005, -32603}
	for _, status := range []int{200, 400, 403, 500} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			tools := map[string]func(*craftedCall){}
			for _, code := range codes {
				tools[fmt.Sprintf("code%d", -code)] = func(c *craftedCall) {
					c.json(status, fmt.Sprintf(`{"jsonrpc":"2.0","id":$ID,"error":{"code":%d,"message":"my own error"}}`, code))
				}
			}
			s := craft(t, tools)
			r := start(t, map[string]ServerConfig{"u": s.config()})
			r.ready("u")
			url := r.serve(ServeOptions{})
			mount := dial(t, url+"/servers/u", eraLegacy, nil)
			for _, code := range codes {
				name := fmt.Sprintf("code%d", -code)
				res := r.Call("mcp__u__"+name, nil)
				want := fmt.Sprintf("the server refused the call: my own error (%d)", code)
				if res.Err == nil || res.Err.Code != core.CodeFailed || res.Err.Message != want {
					t.Errorf("%s = %v, want %s", name, res.Err, want)
				}
				_, err := mount.CallTool(t.Context(), &mcp.CallToolParams{Name: name})
				var rpc *jsonrpc.Error
				if !errors.As(err, &rpc) || rpc.Code != code || rpc.Message != "my own error" {
					// The client's SDK takes two of the codes for its own.
					if code != -32003 && code != -32004 || err == nil || !strings.Contains(err.Error(), "my own error") {
						t.Errorf("%s through the mount: %v", name, err)
					}
				}
				if n := s.called(name); n != 2 {
					t.Errorf("%s ran %d times for two calls", name, n)
				}
			}
			if n := s.initialised(); n != 1 {
				t.Errorf("%d sessions", n)
			}
		})
	}
}

// The SDK ends all calls of a session that is lost for one of them.
func TestRule4_ACallUnderWayIsNotMadeAgainWhenTheSessionIsLost(t *testing.T) {
	release := make(chan struct{})
	var lose sync.Once
	s := craft(t, map[string]func(*craftedCall){
		"slow": func(c *craftedCall) { <-release; c.text("slow") },
		"lost": func(c *craftedCall) {
			lost := false
			lose.Do(func() { lost = true })
			if !lost {
				c.text("found")
				return
			}
			c.json(http.StatusNotFound, "")
			close(release)
		},
	})
	r := start(t, map[string]ServerConfig{"u": s.config()})
	r.ready("u")
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.Call("mcp__u__slow", nil)
	}()
	eventually(t, "the slow call is under way", func() bool { return s.called("slow") == 1 })
	if got := r.text("mcp__u__lost", nil); got != "found" {
		t.Errorf("the other call = %q", got)
	}
	<-done
	if n := s.called("slow"); n != 1 {
		t.Errorf("the slow call ran %d times", n)
	}
}

// A connection that broke under one call is replaced for the next ones; those
// that are under way on it go on.
func TestRule4_ABrokenCallDoesNotHoldUpOthers(t *testing.T) {
	release := make(chan struct{})
	s := craft(t, map[string]func(*craftedCall){
		"slow": func(c *craftedCall) { <-release; c.text("slow") },
		"reset": func(c *craftedCall) {
			conn, _, err := http.NewResponseController(c.w).Hijack()
			if err == nil {
				_ = conn.Close()
			}
		},
	})
	r := start(t, map[string]ServerConfig{"u": s.config()})
	r.ready("u")
	slow := make(chan core.Result, 1)
	go func() { slow <- r.Call("mcp__u__slow", nil) }()
	eventually(t, "the slow call is under way", func() bool { return s.called("slow") == 1 })
	for i := range 3 {
		if res := r.Call("mcp__u__reset", nil); res.Err == nil {
			t.Errorf("reset = %+v", res)
		}
		if n := s.called("reset"); n != i+1 {
			t.Errorf("it ran %d times for %d calls", n, i+1)
		}
		if got := r.text("mcp__u__echo", nil); got != "echo" {
			t.Errorf("echo = %q", got)
		}
	}
	if st := r.status("u"); st.State != core.SourceReady || st.Error != "" {
		t.Errorf("status = %+v", st)
	}
	close(release)
	if res := <-slow; res.Err != nil || res.Text() != "slow" {
		t.Errorf("the call that was under way = %q, %v", res.Text(), res.Err)
	}
	eventually(t, "the sessions that broke are ended", func() bool { return s.ended() == 3 })
}

// A server that is removed ends the calls of its former connections, too.
func TestRule4_ABrokenConnectionEndsWithItsServer(t *testing.T) {
	release := make(chan struct{})
	s := craft(t, map[string]func(*craftedCall){
		"slow":  func(c *craftedCall) { <-release; c.text("slow") },
		"reset": func(c *craftedCall) { panic(http.ErrAbortHandler) },
	})
	r := start(t, map[string]ServerConfig{"u": s.config()})
	r.ready("u")
	p, _ := r.service.hub.find("u")
	slow := make(chan error, 1)
	go func() {
		_, err := p.server.do(t.Context(), exchange{params: &mcp.CallToolParams{Name: "slow"}})
		slow <- err
	}()
	eventually(t, "the slow call is under way", func() bool { return s.called("slow") == 1 })
	r.Call("mcp__u__reset", nil)
	if got := r.text("mcp__u__echo", nil); got != "echo" {
		t.Errorf("echo = %q", got)
	}
	if err := core.Update(t.Context(), r.Fiber, Config{}); err != nil {
		t.Fatal(err)
	}
	if err := <-slow; !errors.Is(err, errServerClosed) {
		t.Errorf("the call that was under way: %v", err)
	}
	close(release)
}

// What one call is answered with is no business of the others.
func TestRule4_AnAnswerThatIsNoneFailsOneCall(t *testing.T) {
	raw := func(status int, media, body string) func(*craftedCall) {
		return func(c *craftedCall) {
			if media != "" {
				c.w.Header().Set("Content-Type", media)
			}
			c.w.WriteHeader(status)
			_, _ = io.WriteString(c.w, strings.ReplaceAll(body, "$ID", string(c.id)))
		}
	}
	rows := map[string]struct {
		answer func(*craftedCall)
		says   string
	}{
		"s400":      {raw(400, "text/plain", "bad thing\n"), "MCP server u: the server answered 400 Bad Request: bad thing"},
		"s401":      {raw(401, "", ""), "MCP server u: the server answered 401 Unauthorized"},
		"s403":      {raw(403, "text/html", "<html>"), "MCP server u: the server answered 403 Forbidden"},
		"s410":      {raw(410, "", ""), "410 Gone"},
		"s500":      {raw(500, "text/plain", "boom"), "500 Internal Server Error: boom"},
		"s302":      {raw(302, "", ""), "302 Found"},
		"html":      {raw(200, "text/html", "<html>"), `is no message but 200 OK "text/html"`},
		"empty":     {raw(200, "application/json", ""), "the server's answer is empty"},
		"accepted":  {raw(202, "", ""), "is no message but 202 Accepted"},
		"nojson":    {raw(200, "application/json", "oops"), "can't be read: oops"},
		"null_id":   {raw(200, "application/json", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse"}}`), "the server refused the call: parse (-32700)"},
		"other_id":  {raw(200, "application/json", `{"jsonrpc":"2.0","id":77,"error":{"code":-1,"message":"mine"}}`), "the server refused the call: mine (-1)"},
		"question":  {raw(200, "application/json", `{"jsonrpc":"2.0","id":77,"method":"ping"}`), "can't be read"},
		"event":     {raw(200, "text/event-stream", "data: not json\n\n"), "can't be read: not json"},
		"no_event":  {raw(200, "text/event-stream", ""), "terminated without response"},
		"odd_event": {raw(200, "text/event-stream", "oops\ndata: {\"jsonrpc\":\"2.0\",\"id\":$ID,\"error\":{\"code\":-1,\"message\":\"mine\"}}\n\n"), "mine (-1)"},
	}
	tools := map[string]func(*craftedCall){}
	for name, row := range rows {
		tools[name] = row.answer
	}
	release := make(chan struct{})
	tools["slow"] = func(c *craftedCall) { <-release; c.text("slow") }
	s := craft(t, tools)
	r := start(t, map[string]ServerConfig{"u": with(s.config(), func(c *ServerConfig) {
		c.Headers = map[string]string{"Authorization": "Bearer x"} // there is no login
	})})
	r.ready("u")
	slow := make(chan core.Result, 1)
	go func() { slow <- r.Call("mcp__u__slow", nil) }()
	eventually(t, "the slow call is under way", func() bool { return s.called("slow") == 1 })
	for name, row := range rows {
		if res := r.Call("mcp__u__"+name, nil); res.Err == nil || !strings.Contains(res.Err.Message, row.says) {
			t.Errorf("%s = %v, want %s", name, res.Err, row.says)
		}
		if n := s.called(name); n != 1 {
			t.Errorf("%s ran %d times", name, n)
		}
	}
	close(release)
	if res := <-slow; res.Err != nil || res.Text() != "slow" {
		t.Errorf("the call that was under way = %q, %v", res.Text(), res.Err)
	}
	if n := s.initialised(); n != 1 {
		t.Errorf("%d sessions", n)
	}
}

// Servers say in a message, too, that a session is lost.
func TestRule5_ALostSessionWithAMessage(t *testing.T) {
	var lose sync.Once
	s := craft(t, map[string]func(*craftedCall){"lost": func(c *craftedCall) {
		lost := false
		lose.Do(func() { lost = true })
		if lost {
			c.json(http.StatusNotFound, `{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Session not found"}}`)
			return
		}
		c.text("found")
	}})
	r := start(t, map[string]ServerConfig{"u": s.config()})
	r.ready("u")
	if got := r.text("mcp__u__lost", nil); got != "found" || s.initialised() != 2 {
		t.Errorf("it = %q in session %d", got, s.initialised())
	}
}
