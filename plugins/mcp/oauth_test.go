package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/agentd-host/agentd/core"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// guarded is an MCP server that wants tokens, and the authorization server
// that gives them.
type guarded struct {
	*httptest.Server
	registered, logins, refreshes atomic.Int64
	challenge                     atomic.Value // the PKCE challenge of the last login
	valid                         atomic.Value // the token that is taken now
	noRefresh                     atomic.Bool
}

func newGuarded(t *testing.T) *guarded {
	t.Helper()
	g := &guarded{}
	g.valid.Store("none")
	server := mcp.NewServer(&mcp.Implementation{Name: "guarded", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: "hi", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{}, nil
	})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true})
	mux := http.NewServeMux()
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+g.valid.Load().(string) {
			w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+g.URL+`/.well-known/oauth-protected-resource/mcp"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	})
	reply := func(w http.ResponseWriter, v any) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(encode(v))
	}
	mux.HandleFunc("/.well-known/oauth-protected-resource/mcp", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, map[string]any{"resource": g.URL + "/mcp", "authorization_servers": []string{g.URL}})
	})
	mux.HandleFunc("/.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, map[string]any{"issuer": g.URL, "authorization_endpoint": g.URL + "/authorize", "token_endpoint": g.URL + "/token",
			"registration_endpoint": g.URL + "/register", "response_types_supported": []string{"code"},
			"code_challenge_methods_supported": []string{"S256"}, "token_endpoint_auth_methods_supported": []string{"none"}})
	})
	mux.HandleFunc("/register", func(w http.ResponseWriter, r *http.Request) {
		g.registered.Add(1)
		var in map[string]any
		_ = json.NewDecoder(r.Body).Decode(&in)
		in["client_id"], in["token_endpoint_auth_method"] = "c1", "none"
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write(encode(in))
	})
	mux.HandleFunc("/authorize", func(w http.ResponseWriter, r *http.Request) {
		g.logins.Add(1)
		q := r.URL.Query()
		g.challenge.Store(q.Get("code_challenge"))
		http.Redirect(w, r, q.Get("redirect_uri")+"?code=the-code&state="+url.QueryEscape(q.Get("state")), http.StatusFound)
	})
	mux.HandleFunc("/token", func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		switch {
		case r.Form.Get("grant_type") == "refresh_token" && r.Form.Get("refresh_token") == "again" && !g.noRefresh.Load():
			g.refreshes.Add(1)
		case r.Form.Get("code") == "the-code" && r.Form.Get("code_verifier") != "" && r.Form.Get("resource") == g.URL+"/mcp":
		default:
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		token := fmt.Sprintf("token-%d-%d", g.logins.Load(), g.refreshes.Load())
		g.valid.Store(token)
		reply(w, map[string]any{"access_token": token, "token_type": "Bearer", "refresh_token": "again", "expires_in": 3600})
	})
	g.Server = httptest.NewServer(mux)
	t.Cleanup(g.Close)
	return g
}

// loginURL waits for the address that a person must open.
func (r *rig) loginURL(server string) string {
	r.t.Helper()
	var address string
	eventually(r.t, "the login is shown", func() bool {
		_, after, ok := strings.Cut(r.status(server).Detail, "login needed: open ")
		address, _, _ = strings.Cut(after, "\n")
		return ok
	})
	return address
}

// openInBrowser follows an address as a person's browser would.
func openInBrowser(t *testing.T, address string) {
	t.Helper()
	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	resp, err := (&http.Client{Transport: tr}).Get(address)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
}

func TestRule5_E23_LoginRefreshAndRestart(t *testing.T) {
	g := newGuarded(t)
	state := t.TempDir()
	cfg := map[string]ServerConfig{"g": {URL: g.URL + "/mcp"}}
	r := startIn(t, state, cfg)
	address := r.loginURL("g")
	u, err := url.Parse(address)
	if err != nil || u.Query().Get("code_challenge_method") != "S256" || u.Query().Get("state") == "" {
		t.Errorf("address = %s, %v", address, err)
	}
	if s := r.status("g"); s.State == core.SourceReady {
		t.Errorf("status before the login = %+v", s)
	}
	openInBrowser(t, address)
	if s := r.ready("g"); strings.Contains(s.Detail, "login") || s.Error != "" {
		t.Errorf("status after the login = %+v", s)
	}
	files, _ := filepath.Glob(filepath.Join(state, "mcp", "tokens", "*.json"))
	if len(files) != 1 {
		t.Fatalf("token files: %q", files)
	}
	if info, err := os.Stat(files[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%s: %v %v", files[0], info, err)
	}
	if err := r.Host.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	// The kept token serves the next run; an expired one is refreshed.
	var kept map[string]any
	if err := readState(files[0], &kept); err != nil {
		t.Fatal(err)
	}
	kept["token"].(map[string]any)["expiry"] = "2001-01-01T00:00:00Z"
	if err := writeState(files[0], kept); err != nil {
		t.Fatal(err)
	}
	again := startIn(t, state, cfg)
	eventually(t, "the second run is there", func() bool { s := again.status("g"); return s.State == core.SourceReady && s.Era != "" })
	if g.logins.Load() != 1 || g.refreshes.Load() != 1 || g.registered.Load() != 1 {
		t.Errorf("%d logins, %d refreshes, %d registrations", g.logins.Load(), g.refreshes.Load(), g.registered.Load())
	}
	data, _ := os.ReadFile(files[0])
	if !strings.Contains(string(data), g.valid.Load().(string)) {
		t.Error("the refreshed token is not kept")
	}
	// Tokens are bound to their server.
	other := newServer(again.service.hub, "g", ServerConfig{URL: "https://other.example/mcp"}, again.service.hub.c.Logger())
	if src := newLogin(other).kept(); src != nil {
		t.Error("a token of one server would be sent to another")
	}
}

func TestE23_AForeignStateIsRefused(t *testing.T) {
	g := newGuarded(t)
	r := start(t, map[string]ServerConfig{"g": {URL: g.URL + "/mcp"}})
	u, err := url.Parse(r.loginURL("g"))
	if err != nil {
		t.Fatal(err)
	}
	openInBrowser(t, u.Query().Get("redirect_uri")+"?code=the-code&state=forged")
	eventually(t, "it is refused", func() bool { return strings.Contains(r.status("g").Error, "state mismatch") })
}

// The authorization server knows the address of the first login: the second
// comes back to the same one, whoever wanted its port in between.
func TestE23_TheAddressOfALoginStaysOurs(t *testing.T) {
	g := newGuarded(t)
	r := start(t, map[string]ServerConfig{"g": {URL: g.URL + "/mcp"}})
	first := r.loginURL("g")
	openInBrowser(t, first)
	r.ready("g")
	u, err := url.Parse(redirectOf(t, first))
	if err != nil {
		t.Fatal(err)
	}
	if ln, err := net.Listen("tcp", u.Host); err == nil {
		t.Error("the port was free for anybody")
		defer ln.Close()
	}
	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	resp, err := (&http.Client{Transport: tr}).Get(u.String() + "?code=the-code&state=x")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusNotFound {
		t.Errorf("without a login the address says %s", resp.Status)
	}
	g.valid.Store("revoked")
	g.noRefresh.Store(true)
	called := make(chan core.Result, 1)
	go func() { called <- r.Call("mcp__g__hi", nil) }()
	second := r.loginURL("g")
	if redirectOf(t, second) != redirectOf(t, first) {
		t.Errorf("registered %s, came back to %s", redirectOf(t, first), redirectOf(t, second))
	}
	openInBrowser(t, second)
	if res := <-called; res.Err != nil {
		t.Errorf("call = %v", res.Err)
	}
	if n := g.logins.Load(); n != 2 {
		t.Errorf("%d logins", n)
	}
}

func redirectOf(t *testing.T, login string) string {
	t.Helper()
	u, err := url.Parse(login)
	if err != nil {
		t.Fatal(err)
	}
	return u.Query().Get("redirect_uri")
}
