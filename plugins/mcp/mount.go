package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"

	"github.com/agentd-host/agentd/core"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A mount is a view for MCP clients: of one server, or of all tools of the
// host. All of its sessions share one server of the SDK, which speaks both
// eras; what it answers comes from here.
type mount struct {
	g      *gateway
	name   string // of the one server, empty for the merged view
	server *mcp.Server
	seats  *seats
	bell   bell

	listeners sync.Map // *mcp.ServerSession: leave waits for its end

	mu     sync.Mutex        // guards the fields below
	known  map[string]uint64 // the tools that clients were told of, with the hash of what is listed
	synced bool
}

func newMount(g *gateway, name string) *mount {
	m := &mount{g: g, name: name, known: map[string]uint64{}}
	m.server = mcp.NewServer(implementation, &mcp.ServerOptions{
		Logger:     slog.New(slog.DiscardHandler),
		PageSize:   maxEntries,
		HasTools:   true,
		HasPrompts: true, HasResources: true,
		Capabilities:       everything,
		SubscribeHandler:   m.subscribe,
		UnsubscribeHandler: m.unsubscribe,
	})
	m.seats = newSeats(maxSeats, sessionTimeout)
	m.server.AddReceivingMiddleware(m.receive)
	m.server.AddSendingMiddleware(m.bell.send, bySend)
	return m
}

// close ends the sessions.
func (m *mount) close() {
	for ss := range m.server.Sessions() {
		_ = ss.Close()
	}
}

// A request is one request of a client, as the handlers below need it.
type request struct {
	session *mcp.ServerSession
	modern  bool
	params  mcp.Params
}

// receive answers what is ours to answer and leaves the rest, which is the
// state of sessions, to the SDK.
func (m *mount) receive(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		ss, ok := req.GetSession().(*mcp.ServerSession)
		if !ok {
			return next(ctx, method, req)
		}
		m.seats.touch(ss)
		r := request{session: ss, modern: isModernRequest(ss, req), params: req.GetParams()}
		switch method {
		case "initialize":
			m.seats.take(ss)
			return m.greet(ctx, r)(next(ctx, method, req))
		case "server/discover":
			return m.greet(ctx, r)(next(ctx, method, req))
		case "logging/setLevel":
			m.setLevel(ctx, r)
			return next(ctx, method, req)
		case "tools/list", "prompts/list", "resources/list", "resources/templates/list":
			return r.result(m.list(ctx, method, r))
		case "tools/call":
			return r.result(m.callTool(ctx, r))
		case "prompts/get", "resources/read", "completion/complete":
			return r.result(m.forward(ctx, method, r))
		}
		return next(ctx, method, req)
	}
}

// result dresses a raw result for the client's era.
func (r request) result(raw json.RawMessage, err error) (mcp.Result, error) {
	if err != nil {
		return nil, protocolError(err)
	}
	res := &rawResult{raw: raw}
	if r.modern {
		res.modern = implementation
		switch r.params.(type) {
		case *mcp.CallToolParamsRaw, *mcp.GetPromptParams, *mcp.CompleteParams:
		default:
			res.cached = true
		}
	}
	return res, nil
}

// protocolError keeps an error of the protocol as it is, and makes one of any
// other.
func protocolError(err error) error {
	var rpc *jsonrpc.Error
	if errors.As(err, &rpc) {
		return rpc
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()}
}

func isModernRequest(ss *mcp.ServerSession, req mcp.Request) bool {
	if p := req.GetParams(); p != nil {
		if v, ok := metaOf(p)[mcp.MetaKeyProtocolVersion].(string); ok {
			return eraOf(v) == eraModern
		}
	}
	p := ss.InitializeParams()
	return p != nil && eraOf(p.ProtocolVersion) == eraModern
}

// metaOf is a request's _meta; params may be a nil pointer in disguise.
func metaOf(p mcp.Params) (meta map[string]any) {
	defer func() {
		if recover() != nil {
			meta = nil
		}
	}()
	return p.GetMeta()
}

// greet corrects what the SDK says about us: a transparent mount is what its
// server is.
func (m *mount) greet(ctx context.Context, r request) func(mcp.Result, error) (mcp.Result, error) {
	return func(res mcp.Result, err error) (mcp.Result, error) {
		if err != nil {
			return res, err
		}
		caps, instructions, info := m.about(ctx)
		switch res := res.(type) {
		case *mcp.InitializeResult:
			res.Capabilities, res.Instructions = caps, instructions
			if info != nil {
				res.ServerInfo = info
			}
		case *mcp.DiscoverResult:
			res.Capabilities, res.Instructions = caps, instructions
			if info != nil {
				res.Meta = mcp.Meta{mcp.MetaKeyServerInfo: info}
			}
		}
		return res, nil
	}
}

// about says what the mount can do: a transparent one what its server can. The
// merged view can do everything, whatever there is now: plugins and servers
// come and go while a client stays.
func (m *mount) about(ctx context.Context) (*mcp.ServerCapabilities, string, *mcp.Implementation) {
	if m.name == "" {
		return everything, "Tools of this agent and of its MCP servers. Names of a server's begin with mcp__ and its name.", nil
	}
	caps := &mcp.ServerCapabilities{
		Tools: &mcp.ToolCapabilities{ListChanged: true}, Logging: &mcp.LoggingCapabilities{},
	}
	p, ok := m.g.projection(m.name)
	if !ok {
		return caps, "", nil
	}
	x, err := p.server.session(ctx)
	if err != nil {
		return caps, "", nil // its tools may be known from before
	}
	init := x.cs.InitializeResult()
	if init == nil {
		return caps, "", nil
	}
	if init.Capabilities != nil {
		caps = init.Capabilities
	}
	return caps, init.Instructions, init.ServerInfo
}

// everything is all that the protocol knows; it is not changed.
var everything = &mcp.ServerCapabilities{
	Logging:     &mcp.LoggingCapabilities{},
	Tools:       &mcp.ToolCapabilities{ListChanged: true},
	Prompts:     &mcp.PromptCapabilities{ListChanged: true},
	Resources:   &mcp.ResourceCapabilities{ListChanged: true, Subscribe: true},
	Completions: &mcp.CompletionCapabilities{},
}

// servers are those in the view, sorted by name.
func (m *mount) servers() []*server {
	if m.g.hub == nil {
		return nil
	}
	var out []*server
	for _, p := range m.g.hub.all() {
		if m.name == "" || p.server.name == m.name {
			out = append(out, p.server)
		}
	}
	return out
}

// setLevel asks the servers for the messages that a client wants. The SDK
// filters for each session; the servers are asked for the most.
func (m *mount) setLevel(ctx context.Context, r request) {
	p, ok := r.params.(*mcp.SetLoggingLevelParams)
	if !ok || p == nil {
		return
	}
	for _, s := range m.servers() {
		if x := s.live(); x == nil || !x.alive() {
			continue
		}
		if q, ok := m.g.projection(s.name); ok && m.name != "" {
			s = q.inEra(ctx, false)
		}
		x, err := s.session(ctx)
		if err != nil {
			continue
		}
		if !x.takesLevel() || !s.wantsMore(p.Level) {
			continue
		}
		if _, err := s.do(ctx, exchange{params: &mcp.SetLoggingLevelParams{Level: p.Level}}); err != nil {
			m.g.c.Logger().Info("logging level not taken", "server", s.name, "err", err)
		}
	}
}

// levels from the most to the fewest messages.
var levels = []mcp.LoggingLevel{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// wantsMore notes a level and tells whether it asks for more than any before.
func (s *server) wantsMore(l mcp.LoggingLevel) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, known := range levels {
		switch known {
		case s.level:
			return false
		case l:
			s.level = l
			return true
		}
	}
	return false
}

// changed passes on a notification of a server, or of ours for the empty
// name.
func (m *mount) changed(server, method string, params []byte) {
	switch method {
	// The SDK tells its sessions of a list when something is put on its own,
	// which is never shown.
	case "notifications/prompts/list_changed":
		m.server.AddPrompt(&mcp.Prompt{Name: "changed"}, nil)
	case "notifications/resources/list_changed":
		m.server.AddResource(&mcp.Resource{URI: "agentd:changed", Name: "changed"}, nil)
	case "notifications/resources/updated":
		var p mcp.ResourceUpdatedNotificationParams
		if json.Unmarshal(params, &p) != nil {
			return
		}
		p.Meta = nil // of the subscription at the server
		if server != "" {
			p.URI = m.publicURI(server, p.URI)
		}
		_ = m.server.ResourceUpdated(context.WithoutCancel(m.g.c), &p)
	case "notifications/message":
		var p mcp.LoggingMessageParams
		if json.Unmarshal(params, &p) != nil {
			return
		}
		for ss := range m.server.Sessions() {
			_ = ss.Log(context.WithoutCancel(m.g.c), &p)
		}
	}
}

// viewer is who asks, in the terms of the registry.
func (m *mount) viewer(name string, ss *mcp.ServerSession) core.Viewer {
	v := core.Viewer{Session: name}
	if p := ss.InitializeParams(); p != nil && p.ClientInfo != nil {
		v.User = "mcp:" + clean(p.ClientInfo.Name)
	}
	return m.g.c.Viewer(v)
}
