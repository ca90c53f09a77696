package mcp

import (
	"context"
	"sync"

	"golang.org/x/oauth2"
)

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

var _ oauth2.TokenSource = (*keeper)(nil)
