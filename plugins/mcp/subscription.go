package mcp

import (
	"context"
	"maps"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// subscribe asks the server to tell of a resource's changes for as long as the
// holder wants to know, whatever process serves it meanwhile.
func (s *server) subscribe(ctx context.Context, uri string, holder any) error {
	// First, so that who unsubscribes at this time sees it.
	s.mu.Lock()
	if s.subs[uri] == nil {
		s.subs[uri] = map[any]struct{}{}
	}
	_, known := s.subs[uri][holder]
	s.subs[uri][holder] = struct{}{}
	s.mu.Unlock()
	_, err := s.do(ctx, exchange{params: &mcp.SubscribeParams{URI: uri}})
	if err != nil && !known {
		s.dropHolder(uri, holder)
	}
	return err
}

// dropHolder takes a holder out. It reports whether nobody else listens.
func (s *server) dropHolder(uri string, holder any) (last bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, known := s.subs[uri][holder]
	delete(s.subs[uri], holder)
	if !known || len(s.subs[uri]) > 0 {
		return false
	}
	delete(s.subs, uri)
	return true
}

// heardBy are the resources that a holder listens to.
func (s *server) heardBy(holder any) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var uris []string
	for uri, holders := range s.subs {
		if _, listens := holders[holder]; listens {
			uris = append(uris, uri)
		}
	}
	return uris
}

// unsubscribe is the holder's end of interest. A server that nobody listens to
// any more is told so, if it runs.
func (s *server) unsubscribe(ctx context.Context, uri string, holder any) error {
	last, x := s.dropHolder(uri, holder), s.live()
	if !last || x == nil || !x.alive() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.StartTimeout)
	defer cancel()
	_, err := x.request(ctx, exchange{params: &mcp.UnsubscribeParams{URI: uri}})
	s.mu.Lock()
	again := len(s.subs[uri]) > 0
	s.mu.Unlock()
	if again { // whose request may have come before ours
		_, err = x.request(ctx, exchange{params: &mcp.SubscribeParams{URI: uri}})
	}
	return err
}

// renew tells a new process what the one before it was told: the level of
// logging and the resources that somebody listens to. It returns those.
func (s *server) renew(ctx context.Context, x *session) []string {
	s.mu.Lock()
	uris, level := slices.Sorted(maps.Keys(s.subs)), s.level
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, s.cfg.StartTimeout)
	defer cancel()
	again := make([]exchange, 0, len(uris)+1)
	if level != "" && x.takesLevel() {
		again = append(again, exchange{params: &mcp.SetLoggingLevelParams{Level: level}})
	}
	for _, uri := range uris {
		again = append(again, exchange{params: &mcp.SubscribeParams{URI: uri}})
	}
	for _, e := range again {
		if _, err := x.request(ctx, e); err != nil {
			s.log.Warn("MCP server did not take up what it was asked for before it ended", "server", s.name, "err", s.clean(err))
		}
	}
	return uris
}

// missed tells those who listen that a resource may have changed while nobody
// was there to notice.
func (s *server) missed(uris []string) {
	for _, uri := range uris {
		s.onChange("notifications/resources/updated", encode(map[string]string{"uri": uri}))
	}
}

// takesLevel tells whether the server can be told a level of logging.
func (x *session) takesLevel() bool {
	init := x.cs.InitializeResult()
	return init != nil && init.Capabilities != nil && init.Capabilities.Logging != nil && eraOf(init.ProtocolVersion) != eraModern
}

var errNoResource = &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "there is no such resource"}

// subscribe is the SDK's handler: a client listens until it says otherwise or
// leaves.
func (m *mount) subscribe(ctx context.Context, r *mcp.SubscribeRequest) error {
	if m.name == "" && m.g.c.Resources().Has(r.Params.URI) {
		return nil // the SDK knows who wants to be told
	}
	s, uri, ok := m.resource(ctx, r.Session, r, r.Params.URI)
	if !ok {
		return errNoResource
	}
	if err := s.subscribe(ctx, uri, r.Session); err != nil {
		return protocolError(err)
	}
	if _, waiting := m.listeners.LoadOrStore(r.Session, nil); !waiting {
		go m.leave(r.Session)
	}
	return nil
}

// leave waits for the end of a session and drops what it listened to. Who
// subscribes after the session left the listeners has it wait anew.
func (m *mount) leave(ss *mcp.ServerSession) {
	_ = ss.Wait()
	m.listeners.Delete(ss)
	ctx := context.WithoutCancel(m.g.c)
	for _, s := range m.connections() {
		for _, uri := range s.heardBy(ss) {
			_ = s.unsubscribe(ctx, uri, ss)
		}
	}
}

// connections are those of the servers in the view, second ones too.
func (m *mount) connections() []*server {
	out := m.servers()
	for _, s := range out {
		if p, ok := m.g.projection(s.name); ok {
			out = append(out, p.second()...)
		}
	}
	return out
}

// unsubscribe is the SDK's handler.
func (m *mount) unsubscribe(ctx context.Context, r *mcp.UnsubscribeRequest) error {
	s, uri, ok := m.resource(ctx, r.Session, r, r.Params.URI)
	if !ok {
		return nil
	}
	// A listener of the modern era unsubscribes by leaving: its context is over.
	if err := s.unsubscribe(context.WithoutCancel(ctx), uri, r.Session); err != nil {
		return protocolError(err)
	}
	return nil
}

// resource finds the connection of a resource, and the resource's name there.
func (m *mount) resource(ctx context.Context, ss *mcp.ServerSession, r mcp.Request, public string) (*server, string, bool) {
	name, uri, ok := m.ownURI(public)
	if !ok {
		return nil, "", false
	}
	p, ok := m.g.projection(name)
	if !ok {
		return nil, "", false
	}
	return p.inEra(ctx, isModernRequest(ss, r)), uri, true
}
