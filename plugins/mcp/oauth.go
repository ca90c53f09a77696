package mcp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
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

	mu       sync.Mutex                     // guards the fields below
	handler  *auth.AuthorizationCodeHandler // made with the first login
	redirect *redirect                      // likewise
	stored   oauth2.TokenSource             // of an earlier run, until there is a handler
	via      *http.Client
	failed   error
}

// errLoginNeeded is matched by failures of servers that want a login.
var errLoginNeeded = errors.New("login needed")

func newLogin(s *server) *login {
	l := &login{server: s}
	l.client = &http.Client{Transport: l, Timeout: time.Minute}
	l.file = stateName(s.hub.state, "tokens", s.name)
	l.stored = l.kept()
	return l
}

// TokenSource gives the tokens to send, nil if there are none.
func (l *login) TokenSource(ctx context.Context) (oauth2.TokenSource, error) {
	l.mu.Lock()
	h, stored := l.handler, l.stored
	l.mu.Unlock()
	if h == nil {
		return stored, nil
	}
	return h.TokenSource(ctx)
}

// Authorize gets a token after the server refused a request. Only one person
// is asked, however many requests were refused.
func (l *login) Authorize(ctx context.Context, req *http.Request, resp *http.Response) error {
	h, err := l.flow(ctx)
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

// flow is the SDK's handler, made with the first login: only then is there an
// address to come back to.
func (l *login) flow(ctx context.Context) (*auth.AuthorizationCodeHandler, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.handler != nil {
		return l.handler, nil
	}
	back, err := openRedirect(l.fixedPort())
	if err != nil {
		return nil, fmt.Errorf("%w, but its answer can't be received: %v", errLoginNeeded, err)
	}
	cfg := &auth.AuthorizationCodeHandlerConfig{
		RedirectURL: back.address(), AuthorizationCodeFetcher: l.fetch, Client: l.client,
		RequestRefreshToken: true, NewTokenSource: l.keep, InitialTokenSource: l.stored,
		DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
			RedirectURIs: []string{back.address()}, ClientName: "agentd",
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
	if err != nil {
		back.close(ctx)
		return nil, err
	}
	l.handler, l.redirect = h, back
	return h, nil
}

func (l *login) fixedPort() int {
	if o := l.server.cfg.OAuth; o != nil {
		return o.RedirectPort
	}
	return 0
}

// close ends the login with its server.
func (l *login) close(ctx context.Context) {
	l.mu.Lock()
	back := l.redirect
	l.mu.Unlock()
	if back != nil {
		back.close(ctx)
	}
}

// fetch shows the address to open and waits for the browser to come back.
func (l *login) fetch(ctx context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
	if u, err := url.Parse(args.URL); err != nil || (u.Scheme != "https" && u.Scheme != "http") {
		return nil, errors.New("the authorization server's address is neither http nor https")
	}
	l.mu.Lock()
	back := l.redirect
	l.mu.Unlock()
	answer, end, err := back.await()
	if err != nil {
		return nil, fmt.Errorf("%w, but its answer can't be received: %v", errLoginNeeded, err)
	}
	defer end(ctx)
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

var _ auth.OAuthHandler = (*login)(nil)
