package mcp

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/agentd-host/agentd/core"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// upstream is an MCP server of the SDK behind HTTP, which can forget its
// sessions.
type upstream struct {
	*httptest.Server
	inits    atomic.Int64
	handler  atomic.Pointer[http.Handler]
	mu       sync.Mutex // guards seen
	seen     []http.Header
	fail     atomic.Int32 // answer so many calls with 429 first
	server   *mcp.Server
	stateful bool
}

func newUpstream(t *testing.T, stateless bool) *upstream {
	t.Helper()
	u := &upstream{stateful: !stateless}
	u.server = mcp.NewServer(&mcp.Implementation{Name: "up", Version: "1"}, nil)
	mcp.AddTool(u.server, &mcp.Tool{Name: "greet", Description: "Greets."},
		func(_ context.Context, _ *mcp.CallToolRequest, in struct {
			Name string `json:"name"`
		}) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "hello " + in.Name}}}, nil, nil
		})
	u.forget()
	u.Server = httptest.NewServer(http.HandlerFunc(u.serve))
	t.Cleanup(func() {
		for session := range u.server.Sessions() {
			_ = session.Close()
		}
		u.Close()
	})
	return u
}

// forget drops all sessions, as a restart does.
func (u *upstream) forget() {
	var h http.Handler = mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return u.server },
		&mcp.StreamableHTTPOptions{Stateless: !u.stateful})
	u.handler.Store(&h)
}

func (u *upstream) serve(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		if strings.Contains(string(body), `"initialize"`) {
			u.inits.Add(1)
		}
		if strings.Contains(string(body), `"tools/call"`) && u.fail.Add(-1) >= 0 {
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
	}
	u.mu.Lock()
	u.seen = append(u.seen, r.Header.Clone())
	u.mu.Unlock()
	(*u.handler.Load()).ServeHTTP(w, r)
}

func (u *upstream) headers() []http.Header {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.seen
}

func TestRule5_StreamableHTTP(t *testing.T) {
	for era, version := range map[string]string{"legacy": "2025-11-25", "modern": "2026-07-28", "auto": "2026-07-28"} {
		t.Run(era, func(t *testing.T) {
			u := newUpstream(t, era != "legacy")
			r := start(t, map[string]ServerConfig{"u": {URL: u.URL, Era: era, Headers: map[string]string{"X-Key": "static-header"}}})
			if s := r.ready("u"); s.Era != version {
				t.Errorf("era = %s, want %s", s.Era, version)
			}
			if got := r.text("mcp__u__greet", map[string]any{"name": "you"}); got != "hello you" {
				t.Errorf("greet = %q", got)
			}
			for _, h := range u.headers() {
				if h.Get("X-Key") != "static-header" {
					t.Errorf("a request without the header: %v", h)
				}
			}
		})
	}
}

func TestRule5_LegacySSE(t *testing.T) {
	server := mcp.NewServer(&mcp.Implementation{Name: "old", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "hi"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "hi"}}}, nil, nil
	})
	srv := httptest.NewServer(mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return server }, nil))
	t.Cleanup(srv.Close)
	r := start(t, map[string]ServerConfig{"old": {URL: srv.URL, Type: "sse"}})
	r.ready("old")
	if got := r.text("mcp__old__hi", nil); got != "hi" {
		t.Errorf("hi = %q", got)
	}
}

func TestM19_ALostSessionIsInitialisedOnce(t *testing.T) {
	u := newUpstream(t, false)
	r := start(t, map[string]ServerConfig{"u": {URL: u.URL, Era: eraLegacy}})
	r.ready("u")
	for range 3 {
		before := u.inits.Load()
		u.forget()
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() {
				res := r.Call("mcp__u__greet", map[string]any{"name": "you"})
				if res.Err != nil || res.Text() != "hello you" {
					t.Errorf("greet = %q, %v", res.Text(), res.Err)
				}
			})
		}
		group.Wait()
		if n := u.inits.Load() - before; n != 1 {
			t.Errorf("%d initialisations for one lost session", n)
		}
	}
	if s := r.status("u"); s.State != core.SourceReady || s.Error != "" {
		t.Errorf("status = %+v", s)
	}
}

func TestRule5_RetryAfter(t *testing.T) {
	u := newUpstream(t, false)
	r := start(t, map[string]ServerConfig{"u": {URL: u.URL, Era: eraLegacy}})
	r.ready("u")
	u.fail.Store(2)
	if got := r.text("mcp__u__greet", map[string]any{"name": "you"}); got != "hello you" {
		t.Errorf("greet = %q", got)
	}
	u.fail.Store(100)
	if res := r.Call("mcp__u__greet", map[string]any{"name": "you"}); res.Err == nil || !strings.Contains(res.Err.Message, "Too Many Requests") {
		t.Errorf("greet = %+v", res)
	}
	u.fail.Store(0)
	if got := r.text("mcp__u__greet", map[string]any{"name": "you"}); got != "hello you" {
		t.Errorf("greet after all = %q", got)
	}
}

func TestRule4_AnHTTPServerThatGoesDownAndComesBack(t *testing.T) {
	u := newUpstream(t, true)
	r := start(t, map[string]ServerConfig{"u": {URL: u.URL}})
	r.ready("u")
	addr := u.Listener.Addr().String()
	u.CloseClientConnections()
	u.Close()
	res := r.Call("mcp__u__greet", map[string]any{"name": "you"})
	if res.Err == nil || res.Err.Code != core.CodeFailed {
		t.Fatalf("greet = %+v", res)
	}
	eventually(t, "the status tells", func() bool {
		s := r.status("u")
		return s.State == core.SourceUnavailable && strings.Contains(s.Error, "refused")
	})
	l, err := net.Listen("tcp", addr)
	if err != nil {
		t.Skip("the port was taken meanwhile: ", err)
	}
	back := &http.Server{Handler: http.HandlerFunc(u.serve)}
	go func() { _ = back.Serve(l) }()
	defer back.Close()
	if got := r.text("mcp__u__greet", map[string]any{"name": "you"}); got != "hello you" {
		t.Errorf("greet = %q", got)
	}
	if s := r.status("u"); s.State != core.SourceReady || s.Error != "" {
		t.Errorf("status = %+v", s)
	}
}

// Why there is no connection is not the answer to a call, though it may hold an
// error of the protocol.
func TestRule4_AnHTTPServerThatIsDown(t *testing.T) {
	s := craft(t, nil)
	addr := s.Listener.Addr().String()
	for _, tt := range []struct {
		name string
		down func()
		says []string
	}{
		{"refuses the handshake", func() { s.count(func() { s.refuses = true }) }, []string{"no licence"}},
		{"is not there", s.Close, []string{addr, "refused"}},
	} {
		t.Run("one that "+tt.name, func(t *testing.T) {
			state := t.TempDir()
			s.count(func() { s.refuses = false })
			startIn(t, state, map[string]ServerConfig{"u": s.config()}).ready("u")
			tt.down()
			r := startIn(t, state, map[string]ServerConfig{"u": s.config()})
			well := func(what, got string) {
				t.Helper()
				for _, want := range tt.says {
					if !strings.Contains(got, want) {
						t.Errorf("%s: %q has no %q", what, got, want)
					}
				}
				if strings.Count(got, "MCP server u: ") != 1 || strings.Contains(got, "rejected by transport") {
					t.Errorf("%s: %q", what, got)
				}
			}
			eventually(t, "it says so", func() bool { return r.status("u").Error != "" })
			if st := r.status("u"); st.State == core.SourceReady {
				t.Errorf("status = %+v", st)
			}
			well("status", r.status("u").Error)
			res := r.Call("mcp__u__echo", nil)
			if res.Err == nil || res.Err.Code != core.CodeFailed {
				t.Fatalf("echo = %+v", res)
			}
			well("call", res.Err.Message)
			mount := dial(t, r.serve(ServeOptions{})+"/servers/u", eraLegacy, nil)
			got := invoke(t, mount, "echo", nil)
			if !got.IsError {
				t.Errorf("echo through the mount = %+v", got)
			}
			well("call through the mount", textOf(got))
			_, err := mount.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "greet"})
			var rpc *jsonrpc.Error
			if !errors.As(err, &rpc) || rpc.Code != jsonrpc.CodeInternalError {
				t.Fatalf("prompt: %v", err)
			}
			well("prompt", rpc.Message)
		})
	}
}

// A flipResolver answers with one address first and with another after.
type flipResolver struct {
	answers []string
	n       int
}

func (f *flipResolver) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	a := f.answers[min(f.n, len(f.answers)-1)]
	f.n++
	return []netip.Addr{netip.MustParseAddr(a)}, nil
}

func TestE22_AddressesThatAreRefused(t *testing.T) {
	allow, err := newAllowList([]string{"10.1.0.0/16", "intranet.example", "192.168.7.7"})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		host, ip string
		want     bool
	}{
		{"example.com", "93.184.216.34", true},
		{"example.com", "2606:2800:220:1:248:1893:25c8:1946", true},
		{"intranet.example", "10.9.9.9", true},
		{"INTRANET.example", "10.9.9.9", true},
		{"x", "10.1.2.3", true},
		{"x", "192.168.7.7", true},
		{"x", "192.168.7.8", false},
		{"x", "10.2.0.1", false},
		{"x", "127.0.0.1", false},
		{"x", "0.0.0.0", false},
		{"x", "169.254.169.254", false},
		{"x", "100.64.1.1", false},
		{"x", "172.16.0.1", false},
		{"x", "224.0.0.1", false},
		{"x", "255.255.255.255", false},
		{"x", "::1", false},
		{"x", "::", false},
		{"x", "fe80::1", false},
		{"x", "fc00::1", false},
		{"x", "::ffff:127.0.0.1", false},
		{"x", "::ffff:169.254.169.254", false},
		{"x", "64:ff9b::a9fe:a9fe", false},
		{"x", "2002:7f00:1::", false},
	} {
		if got := allow.permits(tt.host, netip.MustParseAddr(tt.ip)); got != tt.want {
			t.Errorf("permits(%s, %s) = %v", tt.host, tt.ip, got)
		}
	}
}

func TestE22_URLs(t *testing.T) {
	allow, err := newAllowList([]string{"intranet.example"})
	if err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]bool{
		"https://example.com/mcp":        true,
		"http://example.com/mcp":         false,
		"http://127.0.0.1:8080/":         false, // not named by anyone
		"http://intranet.example/":       true,
		"https://10.0.0.1/":              false,
		"https://[::ffff:10.0.0.1]/":     false,
		"https://169.254.169.254/latest": false,
		"file:///etc/passwd":             false,
		"gopher://example.com":           false,
	} {
		u, err := url.Parse(in)
		if err != nil {
			t.Fatal(err)
		}
		if got := allow.checkURL(u) == nil; got != want {
			t.Errorf("checkURL(%s) = %v, want %v", in, allow.checkURL(u), want)
		}
	}
	own, _ := newAllowList(nil)
	own.name("127.0.0.1")
	if u, _ := url.Parse("http://127.0.0.1:8080/"); own.checkURL(u) != nil {
		t.Errorf("the server's own address: %v", own.checkURL(u))
	}
	for _, bad := range []string{"", "http://x", "a b", "10.0.0.0/99", "user@host"} {
		if _, err := newAllowList([]string{bad}); err == nil {
			t.Errorf("allow %q was accepted", bad)
		}
	}
}

func TestE22_TheAddressThatWasCheckedIsDialed(t *testing.T) {
	var dialed []string
	allow, _ := newAllowList(nil)
	d := &dialer{allow: allow, resolve: &flipResolver{answers: []string{"93.184.216.34", "127.0.0.1"}},
		proxy: func(*http.Request) (*url.URL, error) { return nil, nil },
		dial: func(_ context.Context, _, addr string) (net.Conn, error) {
			dialed = append(dialed, addr)
			return nil, io.EOF
		}}
	_, _ = d.DialContext(t.Context(), "tcp", "flips.example:443")
	_, err := d.DialContext(t.Context(), "tcp", "flips.example:443")
	if len(dialed) != 1 || dialed[0] != "93.184.216.34:443" {
		t.Errorf("dialed %q", dialed)
	}
	if err == nil || !strings.Contains(err.Error(), "name it under allow") {
		t.Errorf("err = %v", err)
	}
	// Decimal and octal hosts are names to us; what they resolve to counts.
	for _, host := range []string{"2130706433", "0177.0.0.1", "0x7f.1"} {
		d.resolve = &flipResolver{answers: []string{"127.0.0.1"}}
		if _, err := d.DialContext(t.Context(), "tcp", net.JoinHostPort(host, "80")); err == nil || len(dialed) != 1 {
			t.Errorf("%s was dialed", host)
		}
	}
}

// The proxy is trusted, not all that its host serves.
func TestE22_AProxyOpensItsPortAlone(t *testing.T) {
	var dialed []string
	allow, _ := newAllowList(nil)
	d := &dialer{allow: allow, resolve: &flipResolver{answers: []string{"127.0.0.1"}},
		dial: func(_ context.Context, _, addr string) (net.Conn, error) {
			dialed = append(dialed, addr)
			return nil, io.EOF
		}}
	for proxy, port := range map[string]string{
		"http://localhost:3128": "3128", "http://LOCALHOST": "80", "https://localhost": "443", "socks5://localhost": "1080", "socks5h://localhost:9": "9",
	} {
		d.proxy = func(*http.Request) (*url.URL, error) { return url.Parse(proxy) }
		dialed = nil
		for _, addr := range []string{"localhost:" + port, "localhost:8080", "elsewhere.example:" + port} {
			_, _ = d.DialContext(t.Context(), "tcp", addr)
		}
		if want := []string{"127.0.0.1:" + port}; !slices.Equal(dialed, want) {
			t.Errorf("%s: dialed %q, want %q", proxy, dialed, want)
		}
	}
}

func TestE22_Redirects(t *testing.T) {
	var got atomic.Pointer[http.Header]
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := r.Header.Clone()
		got.Store(&h)
	}))
	defer other.Close()
	target := "http://169.254.169.254/latest/meta-data"
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, target, http.StatusTemporaryRedirect)
	}))
	defer srv.Close()
	origin, _ := url.Parse(srv.URL)
	allow, _ := newAllowList(nil)
	allow.name(origin.Hostname())
	hc, base := newHTTPClient(allow, origin, map[string]string{"X-Secret": "s"})
	defer base.CloseIdleConnections()
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL, nil)
	if resp, err := hc.Do(req); err == nil {
		resp.Body.Close()
		t.Error("a redirect to the metadata address was followed")
	}
	target = other.URL
	req, _ = http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL, nil)
	req.Header.Set("Authorization", "Bearer s")
	resp, err := hc.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if h := *got.Load(); h.Get("Authorization") != "" || h.Get("X-Secret") != "" {
		t.Errorf("secrets went to another origin: %v", h)
	}
}
