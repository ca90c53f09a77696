package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"

	"github.com/agentd-host/agentd/plugins/mcp/internal/wire"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A caller is who a server's questions go to: whoever made the call in which
// it asks. Each method may be called concurrently.
type caller interface {
	// key is the same for callers that are one and the same to the server.
	key() any
	elicit(ctx context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error)
	sample(ctx context.Context, p *mcp.CreateMessageWithToolsParams) (*mcp.CreateMessageWithToolsResult, error)
	// roots may say that there are none of its own: nil, nil.
	roots(ctx context.Context) (*mcp.ListRootsResult, error)
}

// callerKey finds the caller in the context of a request to a server.
type callerKey struct{}

// clientOptions is what we offer to servers.
func (x *session) clientOptions() *mcp.ClientOptions {
	s := x.server
	return &mcp.ClientOptions{
		Logger: slog.New(slog.DiscardHandler),
		Capabilities: &mcp.ClientCapabilities{
			RootsV2:  &mcp.RootCapabilities{ListChanged: true},
			Sampling: &mcp.SamplingCapabilities{},
			Elicitation: &mcp.ElicitationCapabilities{
				Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{},
			},
		},
		CreateMessageWithToolsHandler: func(ctx context.Context, r *mcp.CreateMessageWithToolsRequest) (*mcp.CreateMessageWithToolsResult, error) {
			c, answered, err := x.asked(ctx, r.Params.GetMeta())
			if err != nil {
				return nil, err
			}
			defer answered()
			return c.sample(ctx, r.Params)
		},
		ElicitationHandler: func(ctx context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			c, answered, err := x.asked(ctx, r.Params.GetMeta())
			if err != nil {
				return nil, err
			}
			defer answered()
			return c.elicit(ctx, r.Params)
		},
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { signal(s.refresh) },
		PromptListChangedHandler: func(_ context.Context, r *mcp.PromptListChangedRequest) {
			s.onChange("notifications/prompts/list_changed", encode(r.Params))
		},
		ResourceListChangedHandler: func(_ context.Context, r *mcp.ResourceListChangedRequest) {
			s.onChange("notifications/resources/list_changed", encode(r.Params))
		},
		ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) {
			s.onChange("notifications/resources/updated", encode(r.Params))
		},
		LoggingMessageHandler: func(_ context.Context, r *mcp.LoggingMessageRequest) { x.logged(r.Params) },
	}
}

// asked finds who a question is for; the host itself, if the server asks out
// of the blue. The silence of the server in its calls does not count until the
// question is answered.
func (x *session) asked(ctx context.Context, meta map[string]any) (c caller, answered func(), err error) {
	if c, ok := ctx.Value(callerKey{}).(caller); ok {
		return c, x.hold(c), nil // the SDK asks within the call
	}
	if c, err = x.callerOf(meta); err != nil {
		return nil, nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: err.Error()}
	}
	if c == nil {
		c = &host{hub: x.server.hub, server: x.server.name, ctx: x.server.hub.ctx}
	}
	return c, x.hold(c), nil
}

// receive answers on behalf of the caller what the SDK has no handler for, or
// would judge: the schema of a question is for who is asked.
func (x *session) receive(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		switch r := req.(type) {
		case *mcp.ElicitRequest:
			c, answered, err := x.asked(ctx, r.Params.GetMeta())
			if err != nil {
				return nil, err
			}
			defer answered()
			return result(c.elicit(ctx, r.Params))
		case *mcp.ListRootsRequest:
			c, answered, err := x.asked(ctx, metaOf(r.Params))
			if err != nil {
				return nil, err
			}
			defer answered()
			if res, err := c.roots(ctx); res != nil || err != nil {
				return result(res, err)
			}
		}
		return next(ctx, method, req)
	}
}

// result makes an interface of a pointer, nil of a nil one.
func result[T any, P interface {
	*T
	mcp.Result
}](res P, err error) (mcp.Result, error) {
	if err != nil || res == nil {
		return nil, err
	}
	return res, nil
}

// heard hands a log message to the one client that has a call under way, if
// just one has, before the answer to the call is read. It names the call, or
// nobodysCall if the message is for nobody; empty means that there is no call.
func (x *session) heard(params json.RawMessage) (call string) {
	call, f := x.onlyListener()
	if f != nil {
		f.notify("notifications/message", params)
	}
	return call
}

// nobodysCall stands for the call of a message that may be any of several
// clients': none of them gets it.
const nobodysCall = "nobody's"

// logged takes a log message of the server's to ours, and to all clients if no
// call was under way as it came.
func (x *session) logged(p *mcp.LoggingMessageParams) {
	if p == nil {
		return
	}
	s := x.server
	text, ok := p.Data.(string)
	if !ok {
		text = string(encode(p.Data))
	}
	const width = 2000
	if len(text) > width {
		text = text[:width] + "…"
	}
	s.log.Log(context.WithoutCancel(s.hub.ctx), levelOf(p.Level), "MCP server says", "server", s.name,
		"logger", p.Logger, "text", s.redact(visible(text)))
	if _, told := p.Meta[wire.CallKey]; told {
		return
	}
	raw := encode(p)
	if x.heard(raw) == "" {
		s.onChange("notifications/message", raw)
	}
}

// onlyListener is the call that gets what belongs to none in particular: that
// of the one caller who has any under way. Of several callers it is nobody's.
func (x *session) onlyListener() (id string, only *flight) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for call, f := range x.flights {
		if f.notify == nil || f.caller == nil {
			continue
		}
		if only != nil && only.caller.key() != f.caller.key() {
			return nobodysCall, nil
		}
		id, only = call, f
	}
	return id, only
}

func levelOf(l mcp.LoggingLevel) slog.Level {
	switch l {
	case "debug":
		return slog.LevelDebug
	case "info", "notice":
		return slog.LevelInfo
	case "warning":
		return slog.LevelWarn
	}
	return slog.LevelError
}

func encode(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage(fmt.Sprintf("%q", err.Error()))
	}
	return data
}
