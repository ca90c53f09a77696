package wire

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Transport wraps a transport so that the taps of its calls are filled. Not
// for streamable HTTP: the SDK talks to that connection by methods of its
// own; see [RoundTripper].
func Transport(t mcp.Transport) mcp.Transport { return tapped{t} }

type tapped struct{ mcp.Transport }

func (t tapped) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := t.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return NewConn(c), nil
}

// A Conn is a connection that the SDK has for its own but for what passes by:
// taps of the SDK's calls are filled, and calls that need nothing of the SDK
// are made beside it, by [Conn.Call].
type Conn struct {
	mcp.Connection
	// Heard, if set before the connection is used, is called for each log
	// message, in order with the answers, and returns the [Tap.ID] of the call
	// that it told, if any, or another mark for the receiver. The SDK finds that
	// under [CallKey]. It must not block.
	Heard func(params json.RawMessage) (call string)

	calling    sync.WaitGroup // calls of ours under way
	cancelling sync.WaitGroup // notices that one was given up

	mu     sync.Mutex // guards the fields below
	calls  map[jsonrpc.ID]pending
	tokens map[string]*Tap
	made   int   // calls of ours
	over   error // why there can be no more of them; nil before
}

// A pending is a call that was not answered yet.
type pending struct {
	method string
	tap    *Tap                   // nil if nobody listens
	answer chan *jsonrpc.Response // of a call of ours; nil for the SDK's
}

// NewConn wraps c, which is the wrapper's from here on.
func NewConn(c mcp.Connection) *Conn {
	return &Conn{Connection: c, calls: map[jsonrpc.ID]pending{}, tokens: map[string]*Tap{}}
}

// Write sends a message of the SDK's; see [mcp.Connection].
func (c *Conn) Write(ctx context.Context, msg jsonrpc.Message) error {
	req, ok := msg.(*jsonrpc.Request)
	if !ok || !req.IsCall() {
		if ok && req.Method == "notifications/cancelled" {
			c.cancelled(req)
		}
		return c.Connection.Write(ctx, msg)
	}
	tap := tapOf(ctx)
	c.mu.Lock()
	c.calls[req.ID] = pending{method: req.Method, tap: tap}
	if tap != nil {
		tap.again(req.Method, nil)
		c.tokens[tap.ID] = tap
	}
	c.mu.Unlock()
	err := c.Connection.Write(ctx, msg)
	if err != nil {
		c.take(req.ID)
	} else if tap != nil {
		tap.arrived()
	}
	return err
}

// Read returns the next message for the SDK; see [mcp.Connection].
func (c *Conn) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		msg, err := c.Connection.Read(ctx)
		if err != nil {
			c.fail(err)
			return nil, err
		}
		switch m := msg.(type) {
		case *jsonrpc.Response:
			if res := c.response(m); res != nil {
				return res, nil
			}
			continue
		case *jsonrpc.Request:
			switch m.Method {
			case "notifications/progress":
				if c.progress(m) {
					continue
				}
			case "notifications/message":
				c.message(m)
			}
		}
		return msg, nil
	}
}

// response is what the SDK gets in place of an answer, nil if that is none of
// its business. What nobody waits for it knows to ignore.
func (c *Conn) response(res *jsonrpc.Response) *jsonrpc.Response {
	p := c.take(res.ID)
	if p.answer != nil {
		p.answer <- res
		return nil
	}
	if p.tap == nil {
		return res
	}
	p.tap.set(res.Result, res.Error)
	if res.Error != nil {
		return res
	}
	return &jsonrpc.Response{ID: res.ID, Result: standIn(p.method, res.Result, p.tap.Relay)}
}

// cancelled forgets a call that the caller gave up: what still comes for it
// is nobody's.
func (c *Conn) cancelled(req *jsonrpc.Request) {
	var p struct {
		RequestID any `json:"requestId"`
	}
	if json.Unmarshal(req.Params, &p) != nil {
		return
	}
	if id, err := jsonrpc.MakeID(p.RequestID); err == nil {
		c.take(id)
	}
}

// take removes a call, of which the zero value is one that there is not.
func (c *Conn) take(id jsonrpc.ID) pending {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.calls[id]
	delete(c.calls, id)
	if p.tap != nil {
		delete(c.tokens, p.tap.ID)
	}
	return p
}

// progress hands a progress notification to its call. Those of unknown calls
// are late and dropped.
func (c *Conn) progress(req *jsonrpc.Request) bool {
	var p struct {
		Token any `json:"progressToken"`
	}
	if json.Unmarshal(req.Params, &p) != nil {
		return true
	}
	token, ok := p.Token.(string)
	if !ok {
		return false
	}
	c.mu.Lock()
	tap := c.tokens[token]
	c.mu.Unlock()
	if tap != nil {
		tap.notify(req.Method, req.Params)
	}
	return true
}

// message marks a log message that a call was told of.
func (c *Conn) message(req *jsonrpc.Request) {
	if c.Heard == nil {
		return
	}
	if call := c.Heard(req.Params); call != "" {
		req.Params = withCallKey(req.Params, call)
	}
}
