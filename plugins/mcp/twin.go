package mcp

import (
	"context"
	"encoding/json"
	"time"
)

// twinIdle is how long a second connection is kept without use.
const twinIdle = 5 * time.Minute

// inEra gives the connection for clients of an era. Servers that speak both
// may do in one what they can't in the other: one that asks its client back
// can do so within a call in the legacy era only. For clients of that era such
// a server gets a second connection, made when the first of them calls. One
// that has no legacy era is asked for it once while it is connected; the SDK
// translates what it can.
func (p *projection) inEra(ctx context.Context, modern bool) *server {
	s := p.server
	x, err := s.session(ctx)
	if err != nil || modern || eraOf(x.version()) != eraModern || s.cfg.Era == eraModern {
		return s
	}
	twin := p.legacyTwin()
	if twin == nil || !p.mayBeLegacy(x, twin) {
		return s
	}
	if _, err := twin.session(ctx); err != nil {
		p.c.Logger().Debug("MCP server has no legacy era", "server", s.name, "err", err)
		return s
	}
	return twin
}

// forClient gives the connection for a call of a client. relay: what the server
// wants of it is an answer, for the client itself.
func (p *projection) forClient(ctx context.Context, c *client) (to *server, relay bool) {
	to = p.inEra(ctx, c.job != nil)
	if x := to.live(); x != nil {
		relay = c.job != nil && eraOf(x.version()) == eraModern
	}
	return to, relay
}

// mayBeLegacy tells whether to try the second connection beside the first.
func (p *projection) mayBeLegacy(first *session, twin *server) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.tried == first {
		return !twin.barren()
	}
	p.tried = first
	return true
}

// barren tells whether a second connection was tried in vain: the server does
// not know that era, which it learns no later.
func (s *server) barren() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.second && !s.reached && s.err != nil && s.attempt == nil
}

// legacyTwin is the second connection, nil if it can't be.
func (p *projection) legacyTwin() *server {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.twin != nil {
		return p.twin
	}
	cfg := p.server.cfg
	cfg.Era, cfg.Lazy, cfg.IdleStop = eraLegacy, true, twinIdle
	t := newServer(p.server.hub, p.server.name, cfg, p.c.Logger())
	t.second, t.memoryFile = true, ""
	t.onChange = func(method string, params json.RawMessage) {
		// Of lists the first connection tells.
		switch method {
		case "notifications/resources/updated", "notifications/message":
			p.server.onChange(method, params)
		}
	}
	if p.c.Go("legacy connection", t.run) != nil {
		return nil
	}
	p.twin = t
	return t
}

// second is the second connection if there is one.
func (p *projection) second() []*server {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.twin == nil {
		return nil
	}
	return []*server{p.twin}
}
