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
// a server gets a second connection, made when the first of them calls.
func (p *projection) inEra(ctx context.Context, modern bool) *server {
	s := p.server
	x, err := s.session(ctx)
	if err != nil || modern || eraOf(x.version()) != eraModern || s.cfg.Era == eraModern {
		return s
	}
	twin := p.legacyTwin()
	if twin == nil {
		return s
	}
	if _, err := twin.session(ctx); err != nil {
		// It speaks the modern era only; the SDK translates what it can.
		p.c.Logger().Debug("MCP server has no legacy era", "server", s.name, "err", err)
		return s
	}
	return twin
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
