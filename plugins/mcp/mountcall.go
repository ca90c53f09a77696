package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/llm"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// callTool runs a tool for a client, through the registry like any other
// call.
func (m *mount) callTool(ctx context.Context, r request) (json.RawMessage, error) {
	p, ok := r.params.(*mcp.CallToolParamsRaw)
	if !ok || p == nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "params are missing"}
	}
	key := core.ArgsDigest(p.Name, p.Arguments)
	return m.converse(ctx, r, key, p.RequestState, p.InputResponses, p.Meta, func(ctx context.Context, c *client, o *outbox) (json.RawMessage, error) {
		return m.execute(ctx, p, c, o)
	})
}

func (m *mount) execute(ctx context.Context, p *mcp.CallToolParamsRaw, c *client, o *outbox) (json.RawMessage, error) {
	name := p.Name
	if m.name != "" {
		s, ok := m.g.projection(m.name)
		if !ok {
			return nil, unknownTool(p.Name)
		}
		public, known := s.publicOf(p.Name)
		if !known {
			return nil, unknownTool(p.Name)
		}
		name = public
	}
	ctx = core.WithCaller(ctx, patron{c, o})
	ctx = withGuest(ctx, &guest{caller: c, notify: o.put, params: p, exact: m.name != ""})
	res := m.g.c.Tools().Execute(ctx, core.Call{
		Name: name, Args: p.Arguments, Viewer: m.viewer(c.name, c.session), Via: core.ViaMCP,
	})
	if res.Err != nil && res.Err.Code == core.CodeNobody && !c.canElicit() {
		res.Parts = append(res.Parts, llm.Text(fmt.Sprintf("This client cannot put the question to its user. "+
			"Use one that supports elicitation, or set %q: auto under tools.policy in agent.yml.", name)))
	}
	return outcome(p.Name, res)
}

func unknownTool(name string) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("unknown tool %q", printable(name))}
}

// outcome turns the result of a call into that of the protocol. One that a
// server gave stays as it is, and so does an error of the protocol.
func outcome(name string, res core.Result) (json.RawMessage, error) {
	if len(res.Raw) > 0 {
		return res.Raw, nil
	}
	if res.Err != nil {
		var rpc *jsonrpc.Error
		switch {
		case res.Err.Code == core.CodeUnknown:
			return nil, unknownTool(name)
		case errors.As(res.Err.Cause, &rpc):
			return nil, rpc
		}
	}
	out := map[string]any{"content": blocksOf(res)}
	if len(res.Structured) > 0 && res.Structured[0] == '{' {
		out["structuredContent"] = res.Structured
	}
	if res.Err != nil {
		out["isError"] = true
	}
	return encode(out), nil
}

// blocksOf writes parts as content blocks.
func blocksOf(res core.Result) []any {
	out := []any{}
	for _, p := range res.Parts {
		switch p.Kind {
		case llm.TextPart:
			out = append(out, map[string]any{"type": "text", "text": p.Text})
		case llm.ImagePart, llm.AudioPart:
			out = append(out, map[string]any{"type": string(p.Kind), "data": p.Data, "mimeType": p.MIME})
		case llm.ResourcePart:
			out = append(out, map[string]any{"type": "resource", "resource": contentOf(p)})
		case llm.RawPart:
			out = append(out, p.Raw)
		}
	}
	if len(out) == 0 && res.Err != nil {
		out = append(out, map[string]any{"type": "text", "text": res.Err.Message})
	}
	return out
}

// contentOf writes a part as the content of a resource.
func contentOf(p llm.Part) map[string]any {
	out := map[string]any{"uri": p.URI}
	if p.MIME != "" {
		out["mimeType"] = p.MIME
	}
	if len(p.Data) > 0 {
		out["blob"] = p.Data
	} else {
		out["text"] = p.Text
	}
	return out
}

// forward answers a request for a prompt, a resource or a completion.
func (m *mount) forward(ctx context.Context, method string, r request) (json.RawMessage, error) {
	do, err := m.workFor(ctx, r.params)
	if err != nil {
		return nil, err
	}
	key, state, answers := roundOf(method, r.params)
	return m.converse(ctx, r, key, state, answers, metaOf(r.params), do)
}

// workFor has a plugin of ours answer, or the server that the request is for.
func (m *mount) workFor(ctx context.Context, params mcp.Params) (work, error) {
	if m.isOurs(params) {
		return func(ctx context.Context, c *client, o *outbox) (json.RawMessage, error) {
			return m.offered(core.WithCaller(ctx, patron{c, o}), params)
		}, nil
	}
	server, params, err := m.own(ctx, params)
	if err != nil {
		return nil, err
	}
	p, ok := m.g.projection(server)
	if !ok {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "no server has that"}
	}
	return func(ctx context.Context, c *client, o *outbox) (json.RawMessage, error) {
		to, relay := p.forClient(ctx, c)
		raw, err := to.callTool(ctx, exchange{params: params, caller: c, capabilities: c.capabilities(), relay: relay, notify: o.put}, false)
		return raw, nameServer(server, err)
	}, nil
}

// roundOf says what a request asks for, which is the same in each of its
// rounds, and what the client brought to this one.
func roundOf(method string, params mcp.Params) (key, state string, answers mcp.InputResponseMap) {
	switch p := params.(type) {
	case *mcp.GetPromptParams:
		return core.ArgsDigest(method+" "+p.Name, encode(p.Arguments)), p.RequestState, p.InputResponses
	case *mcp.ReadResourceParams:
		return core.ArgsDigest(method, encode(p.URI)), p.RequestState, p.InputResponses
	}
	return method, "", nil
}

// own translates a request's params into those for its server.
func (m *mount) own(ctx context.Context, params mcp.Params) (server string, out mcp.Params, err error) {
	ok := false
	switch p := params.(type) {
	case *mcp.GetPromptParams:
		q := *p
		q.Meta = ownMeta(p.Meta)
		server, q.Name, ok = m.ownPrompt(ctx, p.Name)
		out = &q
	case *mcp.ReadResourceParams:
		q := *p
		q.Meta = ownMeta(p.Meta)
		server, q.URI, ok = m.ownURI(p.URI)
		out = &q
	case *mcp.CompleteParams:
		q := *p
		q.Meta = ownMeta(p.Meta)
		if p.Ref != nil {
			ref := *p.Ref
			if ref.URI != "" {
				server, ref.URI, ok = m.ownURI(p.Ref.URI)
			} else {
				server, ref.Name, ok = m.ownPrompt(ctx, p.Ref.Name)
			}
			q.Ref = &ref
		}
		out = &q
	}
	if !ok {
		err = &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "there is no such prompt or resource"}
	}
	return server, out, err
}

// ownMeta leaves out what a client says about its own connection.
func ownMeta(meta mcp.Meta) mcp.Meta {
	out := mcp.Meta{}
	for k, v := range meta {
		switch k {
		case "progressToken", mcp.MetaKeyProtocolVersion, mcp.MetaKeyClientInfo, mcp.MetaKeyClientCapabilities:
		default:
			out[k] = v
		}
	}
	return out
}

// work is what a request has done for it.
type work func(ctx context.Context, c *client, o *outbox) (json.RawMessage, error)

// converse runs a request that may lead to questions to its client. A client
// of the legacy era is asked while it waits. One of the modern era gets the
// question as the answer, and the work goes on when it asks again.
func (m *mount) converse(
	ctx context.Context, r request, key, state string, answers mcp.InputResponseMap, meta map[string]any, do work,
) (json.RawMessage, error) {
	leaveSeat := m.seats.busy(r.session)
	defer leaveSeat()
	c := &client{ctx: ctx, session: r.session, name: m.g.sessionName(r.session, r.modern)}
	if init := r.session.InitializeParams(); init != nil {
		c.caps = init.Capabilities
	}
	c.declared = meta[mcp.MetaKeyClientCapabilities]
	o := newOutbox(ctx, r.session, meta["progressToken"])
	if !r.modern {
		defer m.g.enter(c)()
		defer o.flush()
		return do(ctx, c, o)
	}
	key = m.name + " " + key // of the same name, another server's tool is another
	j, err := m.g.parking.resume(key, state, answers)
	if err != nil {
		return nil, err
	}
	if j == nil {
		j = m.begin(ctx, c, o, key, answers, do)
	} else {
		j.outbox.attach(ctx, r.session, meta["progressToken"])
	}
	raw, err := j.wait(ctx, m.g.parking)
	j.outbox.flush()
	return raw, err
}

// begin starts a job, which may outlive the request that began it.
func (m *mount) begin(ctx context.Context, c *client, o *outbox, key string, given mcp.InputResponseMap, do work) *job {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	j := &job{key: key, given: given, outbox: o, ctx: ctx, cancel: cancel, asks: make(chan *ask), done: make(chan struct{})}
	c.ctx, c.job = ctx, j
	go func() {
		defer close(j.done)
		defer cancel()
		defer m.g.enter(c)()
		j.raw, j.err = do(ctx, c, o)
	}()
	return j
}
