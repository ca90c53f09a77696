package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"iter"
	"net/url"
	"strings"

	"github.com/agentd-host/agentd/core"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// list answers one of the lists, in one page: some clients never ask for a
// second one.
func (m *mount) list(ctx context.Context, method string, r request) (json.RawMessage, error) {
	if c := cursorOf(r.params); c != "" {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "the list has one page; there is no cursor " + fmt.Sprintf("%q", printable(c))}
	}
	if method == "tools/list" {
		tools, err := m.tools(ctx, r)
		return encodeList("tools", tools), err
	}
	l := lists[method]
	entries := m.offers(method)
	for _, s := range m.servers() {
		m.wake(ctx, s)
		got, err := s.listOf(ctx, l)
		if err != nil {
			if m.name != "" {
				return nil, err
			}
			m.g.c.Logger().Warn("MCP server's list", "server", s.name, "list", l.key, "err", err)
		}
		for i, raw := range got {
			public := m.public(s.name, l, raw)
			if public == nil {
				m.g.c.Logger().Warn("MCP server's list has an entry that is none", "server", s.name, "list", l.key, "entry", i+1)
				continue
			}
			entries = append(entries, public)
		}
	}
	return encodeList(l.key, entries), nil
}

// wake starts the server of a transparent mount for a list. The merged view
// shows what is known of servers that do not run.
func (m *mount) wake(ctx context.Context, s *server) {
	if m.name == "" {
		return
	}
	if _, err := s.session(ctx); err != nil {
		m.g.c.Logger().Warn("MCP server not there for a list", "server", s.name, "err", err)
	}
}

func cursorOf(p mcp.Params) string {
	switch p := p.(type) {
	case *mcp.ListToolsParams:
		if p != nil {
			return p.Cursor
		}
	case *mcp.ListPromptsParams:
		if p != nil {
			return p.Cursor
		}
	case *mcp.ListResourcesParams:
		if p != nil {
			return p.Cursor
		}
	case *mcp.ListResourceTemplatesParams:
		if p != nil {
			return p.Cursor
		}
	}
	return ""
}

func encodeList(key string, entries []json.RawMessage) json.RawMessage {
	if entries == nil {
		entries = []json.RawMessage{}
	}
	parts := make([]string, len(entries))
	for i, e := range entries {
		parts[i] = string(e)
	}
	return json.RawMessage(`{"` + key + `":[` + strings.Join(parts, ",") + `]}`)
}

// public is an entry as the mount shows it: in the merged view under a name
// that leads back to its server, and fit for strict clients. nil if it can't
// be shown.
func (m *mount) public(server string, l aList, raw json.RawMessage) json.RawMessage {
	if m.name != "" {
		return raw
	}
	f, err := readFields(raw)
	var id string
	if err != nil || json.Unmarshal(orNull(f.get(l.id)), &id) != nil || id == "" {
		return nil
	}
	if l.id == "name" {
		f = f.with("name", encode(publicName(server, id)))
	} else {
		f = f.with(l.id, encode(m.publicURI(server, id)))
		if _, named := aText(orNull(f.get("name"))); !named {
			f = f.with("name", encode(id))
		}
	}
	fitted, _ := l.entry(f.raw())
	return fitted
}

func (m *mount) publicURI(server, uri string) string {
	if m.name != "" {
		return uri
	}
	return core.MCPScheme + url.PathEscape(server) + "/" + uri
}

// ownURI finds the server of a URI and what it is called there.
func (m *mount) ownURI(public string) (server, uri string, ok bool) {
	if m.name != "" {
		return m.name, public, true
	}
	rest, ok := strings.CutPrefix(public, core.MCPScheme)
	if !ok {
		return "", "", false
	}
	server, uri, ok = strings.Cut(rest, "/")
	if name, err := url.PathUnescape(server); err == nil {
		server = name
	}
	return server, uri, ok
}

// ownPrompt finds the server of a prompt and its name there.
func (m *mount) ownPrompt(ctx context.Context, public string) (server, name string, ok bool) {
	if m.name != "" {
		return m.name, public, true
	}
	l := lists["prompts/list"]
	for _, s := range m.servers() {
		if !strings.HasPrefix(public, core.MCPPrefix+clean(s.name)) {
			continue
		}
		entries, _ := s.listOf(ctx, l) // what it knew before will do
		for _, raw := range entries {
			var p struct {
				Name string `json:"name"`
			}
			if json.Unmarshal(raw, &p) == nil && publicName(s.name, p.Name) == public {
				return s.name, p.Name, true
			}
		}
	}
	return "", "", false
}

// tools is the list for one client.
func (m *mount) tools(ctx context.Context, r request) ([]json.RawMessage, error) {
	v := m.viewer(m.g.sessionName(r.session, r.modern), r.session)
	if m.name != "" {
		return m.ownTools(ctx, v)
	}
	surface := core.Surface{Viewer: v, Tools: m.g.c.Tools().List(v)}
	surface, err := core.ToolSurface.Run(m.hosted(ctx), surface, func(_ context.Context, s core.Surface) (core.Surface, error) { return s, nil })
	if err != nil {
		return nil, err
	}
	out := make([]json.RawMessage, 0, len(surface.Tools))
	for _, t := range surface.Tools {
		if raw := m.g.listing(t); raw != nil {
			out = append(out, raw)
		}
	}
	return out, nil
}

// hosted is ctx for those who must find the host in it.
func (m *mount) hosted(ctx context.Context) context.Context { return hostedContext{ctx, m.g.c} }

// A hostedContext ends with one context and knows what two know.
type hostedContext struct {
	context.Context
	host context.Context
}

func (h hostedContext) Value(key any) any {
	if v := h.Context.Value(key); v != nil {
		return v
	}
	return h.host.Value(key)
}

// ownTools is a server's list as received, less what this viewer may not see.
func (m *mount) ownTools(ctx context.Context, v core.Viewer) ([]json.RawMessage, error) {
	p, ok := m.g.projection(m.name)
	if !ok {
		return nil, fmt.Errorf("the server %s is gone", m.name)
	}
	m.wake(ctx, p.server)
	shown := names(m.g.c.Tools().List(v))
	var out []json.RawMessage
	for _, l := range p.listed() {
		if shown[l.public] {
			out = append(out, l.def.Raw)
		}
	}
	return out, nil
}

func names(tools []core.Tool) map[string]bool {
	out := make(map[string]bool, len(tools))
	for _, t := range tools {
		out[t.Name] = true
	}
	return out
}

// listing is one tool of the merged view.
func (g *gateway) listing(t core.Tool) json.RawMessage {
	if t.Source.Kind == core.FromMCP {
		if p, ok := g.projection(t.Source.Name); ok {
			if d := p.definitionOf(t.Name); d != nil {
				return d.listing(t.Name)
			}
		}
	}
	f := fields{{"name", encode(t.Name)}}
	if t.Title != "" {
		f = append(f, field{"title", encode(t.Title)})
	}
	input, _ := madeObject(t.Parameters)
	f = append(f, field{"description", encode(t.Description)}, field{"inputSchema", input})
	if output, ok := ofObject(t.Output); ok {
		f = append(f, field{"outputSchema", output})
	}
	if t.Traits.Effect != core.Undeclared {
		f = append(f, field{"annotations", encode(map[string]bool{"readOnlyHint": t.Traits.Effect == core.Read})})
	}
	return f.raw()
}

// sync tells clients when the set of tools changed.
func (m *mount) sync() {
	m.mu.Lock()
	defer m.mu.Unlock()
	now, news := map[string]uint64{}, map[string]json.RawMessage{}
	for name, raw := range m.shown() {
		hash := maphash.Bytes(hashSeed, raw)
		now[name] = hash
		if old, known := m.known[name]; !known || old != hash {
			news[name] = raw
		}
	}
	var gone []string
	for name := range m.known {
		if _, still := now[name]; !still {
			gone = append(gone, name)
		}
	}
	m.known, m.synced = now, true
	if len(news)+len(gone) == 0 {
		return
	}
	m.bell.begin()
	for name, raw := range news {
		m.teach(name, raw)
	}
	m.server.RemoveTools(gone...)
	m.bell.end(m.server)
}

var hashSeed = maphash.MakeSeed()

// shown are the tools of the view and how they are listed.
func (m *mount) shown() iter.Seq2[string, json.RawMessage] {
	tools := m.g.c.Tools().List(m.g.c.Viewer(core.Viewer{}))
	if m.name == "" {
		return func(yield func(string, json.RawMessage) bool) {
			for _, t := range tools {
				if raw := m.g.listing(t); raw != nil && !yield(t.Name, raw) {
					return
				}
			}
		}
	}
	p, ok := m.g.projection(m.name)
	if !ok {
		return func(func(string, json.RawMessage) bool) {}
	}
	visible := names(tools)
	return func(yield func(string, json.RawMessage) bool) {
		for _, l := range p.listed() {
			if visible[l.public] && !yield(l.def.Name, l.def.Raw) {
				return
			}
		}
	}
}

// teach tells the SDK of a tool whose schema asks for headers, which the SDK
// checks. It need not know others: lists and calls are answered here.
func (m *mount) teach(name string, raw json.RawMessage) {
	if !bytes.Contains(raw, []byte("x-mcp-header")) {
		m.server.RemoveTools(name)
		return
	}
	var d struct {
		Input json.RawMessage `json:"inputSchema"`
	}
	if json.Unmarshal(raw, &d) != nil {
		return
	}
	input, ok := ofObject(d.Input)
	if !ok {
		return
	}
	defer func() { _ = recover() }() // of a schema that the SDK can't take
	m.server.AddTool(&mcp.Tool{Name: name, InputSchema: input}, neverCalled)
}

// neverCalled is the SDK's handler of tools that receive answers before it.
func neverCalled(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the call went a wrong way"}
}
