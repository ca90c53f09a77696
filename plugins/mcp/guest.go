package mcp

import (
	"context"
	"encoding/json"

	"github.com/agentd-host/agentd/plugins/mcp/internal/wire"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A guest is an MCP client's call on its way through the registry: what the
// tool's function at the far end needs to know of it.
type guest struct {
	caller *client
	notify func(method string, params json.RawMessage)
	params *mcp.CallToolParamsRaw
	// exact: the client is at its server's own mount, where it is served in its
	// era.
	exact bool
}

type guestKey struct{}

func withGuest(ctx context.Context, g *guest) context.Context {
	return context.WithValue(ctx, guestKey{}, g)
}

func guestOf(ctx context.Context) *guest {
	g, _ := ctx.Value(guestKey{}).(*guest)
	return g
}

// fill completes an exchange with what the client sent beside the arguments.
func (g *guest) fill(e *exchange) {
	p := e.params.(*mcp.CallToolParams)
	p.InputResponses, p.RequestState = g.params.InputResponses, g.params.RequestState
	e.caller, e.notify = g.caller, g.notify
	e.meta, e.capabilities = ownMeta(g.params.Meta), g.caller.capabilities()
}

// send makes the call, over the connection that suits the client.
func (g *guest) send(ctx context.Context, p *projection, e exchange) (json.RawMessage, error) {
	to := p.server
	if g.exact {
		to, e.relay = p.forClient(ctx, g.caller)
	}
	g.fill(&e)
	return g.rounds(ctx, to, e)
}

// rounds makes a call that its server may answer with "input required": the
// client's answers go back to the server within the same call, which policy
// decided about once.
func (g *guest) rounds(ctx context.Context, to *server, e exchange) (json.RawMessage, error) {
	for {
		raw, err := to.callTool(ctx, e, false)
		if err != nil || !e.relay || !wire.NeedsInput(raw) {
			return raw, err
		}
		answers, err := g.caller.job.relay(ctx, raw)
		if err != nil {
			return nil, err
		}
		again := *e.params.(*mcp.CallToolParams)
		again.InputResponses, again.RequestState = answers, stateIn(raw)
		e.params = &again
	}
}

// stateIn is the server's state in a result.
func stateIn(result json.RawMessage) string {
	var r struct {
		RequestState string `json:"requestState"`
	}
	_ = json.Unmarshal(result, &r) // it was read before
	return r.RequestState
}
