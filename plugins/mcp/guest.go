package mcp

import (
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A guest is an MCP client's call on its way through the registry: what the
// tool's function at the far end needs to know of it.
type guest struct {
	caller *client
	notify func(method string, params json.RawMessage)
	params *mcp.CallToolParamsRaw
	relay  bool
	to     *server // which of the server's connections; nil is the first
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
	e.caller, e.notify, e.relay = g.caller, g.notify, g.relay
	e.meta, e.capabilities = ownMeta(g.params.Meta), g.caller.capabilities()
}
