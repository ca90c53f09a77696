package mcp

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A bell tells each session of a mount once of each new set of tools. The SDK
// tells them a few milliseconds after the last change to tools of its own,
// which on a busy machine may be in the middle of a set.
type bell struct {
	mu       sync.Mutex // guards the fields below
	teaching bool
	told     map[mcp.Session]bool // of the present set
}

// begin keeps the sessions from hearing of a set that is not complete.
func (b *bell) begin() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.teaching, b.told = true, map[mcp.Session]bool{}
}

// end lets them hear of it, and makes sure that they do: the SDK knows few of
// the tools, so it gets one more, which is never shown.
func (b *bell) end(s *mcp.Server) {
	b.mu.Lock()
	b.teaching = false
	b.mu.Unlock()
	const last = "agentd-changed"
	s.AddTool(&mcp.Tool{Name: last, InputSchema: json.RawMessage(`{"type":"object"}`)}, neverCalled)
	s.RemoveTools(last)
}

// rings tells whether a session is to hear now that the set changed.
func (b *bell) rings(ss mcp.Session) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.teaching || b.told[ss] {
		return false
	}
	if b.told == nil {
		b.told = map[mcp.Session]bool{}
	}
	b.told[ss] = true
	return true
}

// send is the middleware that drops what the SDK says too often.
func (b *bell) send(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if method == "notifications/tools/list_changed" && !b.rings(req.GetSession()) {
			return nil, nil
		}
		return next(ctx, method, req)
	}
}
