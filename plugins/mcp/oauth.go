package mcp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"
)

// loginTime is how long a person has for a login.
const loginTime = 10 * time.Minute

// A login gets tokens for one server: those that were kept, refreshed ones,
// or new ones after a person opened the address that the status shows. It
// opens no browser.
type login struct {
	server *server
	client *http.Client // sends by way of the present connection's
	file   string       // where tokens are kept, empty for nowhere

	mu      sync.Mutex // guards the fields below
	handler *auth.AuthorizationCodeHandler
	port    int // of the redirect address
	via     *http.Client
	failed  error
}

// grant is what is kept of a login, bound to the server that it is for.
type grant struct {
	Resource string        `json:"resource"` // the server's address
	ClientID string        `json:"clientId"`
	Secret   string        `json:"clientSecret,omitempty"`
	AuthURL  string        `json:"authUrl"`
	TokenURL string        `json:"tokenUrl"`
	Style    int           `json:"authStyle"`
	Scopes   []string      `json:"scopes,omitempty"`
	Token    *oauth2.Token `json:"token"`
}

// errLoginNeeded is matched by failures of servers that want a login.
var errLoginNeeded = errors.New("login needed")

func newLogin(s *server) *login {
	l := &login{server: s}
	l.client = &http.Client{Transport: l, Timeout: time.Minute}
	if s.memory != "" {
		l.file = strings.Replace(s.memory, string(filepath.Separator)+"servers"+string(filepath.Separator),
			string(filepath.Separator)+"tokens"+string(filepath.Separator), 1)
	}
	return l
}

// TokenSource gives the tokens to send, nil if there are none.
func (l *login) TokenSource(ctx context.Context) (oauth2.TokenSource, error) {
	h, err := l.flow()
	if err != nil {
		return nil, err
	}
	return h.TokenSource(ctx)
}

// Authorize gets a token after the server refused a request. Only one person
// is asked, however many requests were refused.
func (l *login) Authorize(ctx context.Context, req *http.Request, resp *http.Response) error {
	h, err := l.flow()
	if err == nil {
		err = l.failure()
	}
	if err != nil {
		_ = resp.Body.Close()
		return err
	}
	err = h.Authorize(ctx, req, resp)
	l.setPending("")
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failed = err
	return err
}

// failure is why the login of this attempt to connect failed: a person is
// asked once for each, not again for the next request of the same one.
func (l *login) failure() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failed
}

// flow is the SDK's handler, made with the first request.
func (l *login) flow() (*auth.AuthorizationCodeHandler, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.handler != nil {
		return l.handler, nil
	}
	if err := l.choosePort(); err != nil {
		return nil, err
	}
	redirect := fmt.Sprintf("http://127.0.0.1:%d/callback", l.port)
	cfg := &auth.AuthorizationCodeHandlerConfig{
		RedirectURL: redirect, AuthorizationCodeFetcher: l.fetch, Client: l.client,
		RequestRefreshToken: true, NewTokenSource: l.keep, InitialTokenSource: l.kept(),
		DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
			RedirectURIs: []string{redirect}, ClientName: "agentd",
			GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"},
		}},
	}
	if o := l.server.cfg.OAuth; o != nil {
		if o.ClientID != "" {
			cfg.PreregisteredClient = &oauthex.ClientCredentials{ClientID: o.ClientID}
			if o.ClientSecret != "" {
				cfg.PreregisteredClient.ClientSecretAuth = &oauthex.ClientSecretAuth{ClientSecret: o.ClientSecret}
			}
		}
		if o.MetadataURL != "" {
			cfg.ClientIDMetadataDocumentConfig = &auth.ClientIDMetadataDocumentConfig{URL: o.MetadataURL}
		}
		if len(o.Scopes) > 0 {
			cfg.ScopeFilter = func([]string) []string { return o.Scopes }
		}
	}
	h, err := auth.NewAuthorizationCodeHandler(cfg)
	if err == nil {
		l.handler = h
	}
	return h, err
}

// choosePort settles the redirect address; l.mu is held. The port is given
// back until a login begins: dynamic registration only needs its number.
func (l *login) choosePort() error {
	if o := l.server.cfg.OAuth; o != nil && o.RedirectPort > 0 {
		l.port = o.RedirectPort
		return nil
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	l.port = ln.Addr().(*net.TCPAddr).Port
	return ln.Close()
}

// fetch shows the address to open and waits for the browser to come back.
func (l *login) fetch(ctx context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
	if u, err := url.Parse(args.URL); err != nil || (u.Scheme != "https" && u.Scheme != "http") {
		return nil, errors.New("the authorization server's address is neither http nor https")
	}
	ln, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", l.port))
	if err != nil {
		return nil, fmt.Errorf("%w, but its answer can't be received: %v", errLoginNeeded, err)
	}
	answer := make(chan *auth.AuthorizationResult, 1)
	srv := &http.Server{Handler: callback(answer), ReadHeaderTimeout: 10 * time.Second}
	served := make(chan struct{})
	go func() { defer close(served); _ = srv.Serve(ln) }()
	defer func() { hangUp(ctx, srv); <-served }()
	l.setPending(args.URL)
	l.server.log.Warn("MCP server wants a login: open the address in a browser on this machine", "server", l.server.name, "url", args.URL)
	limit := time.NewTimer(loginTime)
	defer limit.Stop()
	select {
	case res := <-answer:
		if res.Code == "" {
			return nil, fmt.Errorf("%w: the authorization server refused it", errLoginNeeded)
		}
		return res, nil
	case <-limit.C:
		return nil, fmt.Errorf("%w: nobody logged in for %v", errLoginNeeded, loginTime)
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: open %s", errLoginNeeded, args.URL)
	}
}

// hangUp ends a server when the pages under way were sent.
func hangUp(ctx context.Context, srv *http.Server) {
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
	defer cancel()
	if srv.Shutdown(end) != nil {
		_ = srv.Close()
	}
}

// callback receives the browser, once.
func callback(answer chan<- *auth.AuthorizationResult) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /callback", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		select {
		case answer <- &auth.AuthorizationResult{Code: q.Get("code"), State: q.Get("state"), Iss: q.Get("iss")}:
		default:
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = fmt.Fprintln(w, "agentd has what it needs. You can close this page.")
	})
	return mux
}

func (l *login) setPending(address string) {
	l.server.mu.Lock()
	defer l.server.mu.Unlock()
	l.server.loginURL = address
}

// setClient begins an attempt to connect, which sends through hc.
func (l *login) setClient(hc *http.Client) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.via, l.failed = hc, nil
}

// RoundTrip sends through the present client's transport: handler and tokens
// outlive connections.
func (l *login) RoundTrip(req *http.Request) (*http.Response, error) {
	l.mu.Lock()
	via := l.via
	l.mu.Unlock()
	return via.Transport.RoundTrip(req)
}

// keep is called with each new token: it makes the source that refreshes it
// and keeps what comes out.
func (l *login) keep(ctx context.Context, cfg *oauth2.Config, token *oauth2.Token) (oauth2.TokenSource, error) {
	g := grant{Resource: l.server.cfg.URL, ClientID: cfg.ClientID, Secret: cfg.ClientSecret, AuthURL: cfg.Endpoint.AuthURL,
		TokenURL: cfg.Endpoint.TokenURL, Style: int(cfg.Endpoint.AuthStyle), Scopes: cfg.Scopes}
	k := &keeper{login: l, grant: g, source: cfg.TokenSource(ctx, token)}
	return k, k.save(token)
}

// kept is the source of the tokens of an earlier run, nil without any.
func (l *login) kept() oauth2.TokenSource {
	var g grant
	if l.file == "" || readState(l.file, &g) != nil || g.Token == nil || g.Resource != l.server.cfg.URL {
		return nil
	}
	cfg := &oauth2.Config{ClientID: g.ClientID, ClientSecret: g.Secret, Scopes: g.Scopes,
		Endpoint: oauth2.Endpoint{AuthURL: g.AuthURL, TokenURL: g.TokenURL, AuthStyle: oauth2.AuthStyle(g.Style)}}
	ctx := context.WithValue(context.WithoutCancel(l.server.hub.ctx), oauth2.HTTPClient, l.client)
	return &keeper{login: l, grant: g, source: cfg.TokenSource(ctx, g.Token), last: g.Token.AccessToken}
}

// A keeper writes each refreshed token to the file.
type keeper struct {
	login  *login
	grant  grant
	source oauth2.TokenSource

	mu   sync.Mutex // guards last
	last string
}

// Token gives a token that is valid now.
func (k *keeper) Token() (*oauth2.Token, error) {
	t, err := k.source.Token()
	if err != nil {
		return nil, err
	}
	k.mu.Lock()
	changed := t.AccessToken != k.last
	k.mu.Unlock()
	if changed {
		if err := k.save(t); err != nil {
			k.login.server.log.Warn("MCP server's token is not kept", "server", k.login.server.name, "err", err)
		}
	}
	return t, nil
}

func (k *keeper) save(t *oauth2.Token) error {
	k.mu.Lock()
	k.last = t.AccessToken
	k.mu.Unlock()
	if k.login.file == "" {
		return nil
	}
	g := k.grant
	g.Token = t
	return writeState(k.login.file, g)
}

var (
	_ auth.OAuthHandler  = (*login)(nil)
	_ oauth2.TokenSource = (*keeper)(nil)
)
