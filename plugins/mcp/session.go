package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agentd-host/agentd/plugins/mcp/internal/stdio"
	"github.com/agentd-host/agentd/plugins/mcp/internal/wire"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A session is one live connection to a server. It ends once and is then
// replaced by another one.
type session struct {
	server *server
	cs     *mcp.ClientSession
	proc   *stdio.Conn // nil over HTTP
	// direct is where requests go that need nothing of the SDK: all of the
	// legacy era over stdio. nil if it is the SDK that sends them.
	direct *wire.Conn
	began  time.Time
	onEnd  func() // gives back what the transport holds
	// unsure: the era was concluded from silence, and the server turned out
	// to be as slow with what it does answer.
	unsure bool

	ended chan struct{} // closed when the connection is of no use any more
	once  sync.Once     // for closing it
	err   error         // why; set before ended is closed
	gone  chan struct{} // closed when the connection is over

	ids     atomic.Int64
	mu      sync.Mutex // guards flights
	flights map[string]*flight
}

// A flight is a call on its way.
type flight struct {
	caller caller
	notify func(method string, params json.RawMessage)
	hold   func() (release func())
	cancel context.CancelCauseFunc
}

func (s *server) newSession() *session {
	return &session{server: s, began: time.Now(), ended: make(chan struct{}), gone: make(chan struct{}), flights: map[string]*flight{}}
}

// errNeverRan marks failures of calls that did not reach the server.
var errNeverRan = errors.New("the call did not reach the server")

// watch waits for the end of the connection.
func (x *session) watch() {
	err := x.cs.Wait()
	close(x.gone)
	x.end(err)
}

// end marks the connection as one that no more calls are made over. Those
// under way go on.
func (x *session) end(why error) {
	x.once.Do(func() {
		x.err = why
		close(x.ended)
	})
}

// close ends the connection and all that belongs to it.
func (x *session) close() {
	x.hangUp()
	if x.onEnd != nil {
		x.onEnd()
	}
}

// abandon ends the calls under way, for that reason.
func (x *session) abandon(why error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, f := range x.flights {
		f.cancel(why)
	}
}

// hangUp ends the connection when the calls under way are over, if it did not
// end before. It may be called concurrently.
func (x *session) hangUp() {
	if x.direct != nil {
		x.direct.Drain()
	}
	_ = x.cs.Close()
	<-x.gone
}

// alive tells whether calls can be made over the connection.
func (x *session) alive() bool {
	select {
	case <-x.ended:
		return false
	default:
		return true
	}
}

// An exchange is one request to a server on somebody's behalf.
type exchange struct {
	params mcp.Params
	caller caller
	// meta is what the request says about itself, and capabilities what its
	// client can do, if it is not we who ask.
	meta         mcp.Meta
	capabilities any
	// relay: "input required" is an answer, not for us to fulfil.
	relay bool
	// valid gets the tools of a list that the transport can call.
	valid func([]*mcp.Tool)
	// notify gets the progress and the messages that belong to the call.
	notify func(method string, params json.RawMessage)
	// hold, if set, is called when the server asks something in the call: until
	// release it waits for an answer, and nobody for the server.
	hold func() (release func())
}

// request sends one request and returns the result as received.
func (x *session) request(ctx context.Context, e exchange) (json.RawMessage, error) {
	id := "agentd-" + strconv.FormatInt(x.ids.Add(1), 10)
	tap := &wire.Tap{ID: id, Relay: e.relay, Notify: e.notify}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	x.mu.Lock()
	x.flights[id] = &flight{e.caller, e.notify, e.hold, cancel}
	x.mu.Unlock()
	defer x.land(id)
	x.describe(id, e)
	if x.direct != nil {
		return x.call(ctx, tap, e.params)
	}
	asking := ctx
	if e.caller != nil {
		asking = context.WithValue(ctx, callerKey{}, e.caller)
	}
	if err := x.send(wire.WithTap(asking, tap), e); err != nil {
		return nil, x.explain(ctx, tap, err)
	}
	if raw := tap.Result(); raw != nil {
		return raw, nil
	}
	return json.RawMessage("{}"), nil
}

// describe completes a request's _meta. In the modern era each request says
// what its client can do. token is for the progress of those that may take
// long.
func (x *session) describe(token string, e exchange) {
	meta := mcp.Meta{}
	maps.Copy(meta, e.params.GetMeta())
	maps.Copy(meta, e.meta)
	if e.capabilities != nil && eraOf(x.version()) == eraModern {
		meta[mcp.MetaKeyClientCapabilities] = e.capabilities
	}
	switch e.params.(type) {
	case *mcp.CallToolParams, *mcp.GetPromptParams, *mcp.ReadResourceParams:
		meta["progressToken"] = token
	}
	if len(meta) > 0 {
		e.params.SetMeta(meta)
	}
}

func (x *session) land(id string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.flights, id)
}

// send calls the SDK's method for the request.
func (x *session) send(ctx context.Context, e exchange) error {
	var err error
	switch p := e.params.(type) {
	case *mcp.CallToolParams:
		_, err = x.cs.CallTool(ctx, p)
	case *mcp.GetPromptParams:
		_, err = x.cs.GetPrompt(ctx, p)
	case *mcp.ReadResourceParams:
		_, err = x.cs.ReadResource(ctx, p)
	case *mcp.ListToolsParams:
		var res *mcp.ListToolsResult
		if res, err = x.cs.ListTools(ctx, p); err == nil && e.valid != nil {
			e.valid(res.Tools)
		}
	case *mcp.ListPromptsParams:
		_, err = x.cs.ListPrompts(ctx, p)
	case *mcp.ListResourcesParams:
		_, err = x.cs.ListResources(ctx, p)
	case *mcp.ListResourceTemplatesParams:
		_, err = x.cs.ListResourceTemplates(ctx, p)
	case *mcp.CompleteParams:
		_, err = x.cs.Complete(ctx, p)
	case *mcp.SubscribeParams:
		err = x.cs.Subscribe(ctx, p)
	case *mcp.UnsubscribeParams:
		err = x.cs.Unsubscribe(ctx, p)
	case *mcp.SetLoggingLevelParams:
		err = x.cs.SetLoggingLevel(ctx, p)
	default:
		err = fmt.Errorf("no way to send %T", e.params)
	}
	return err
}

// explain says what an error means for the call: that the server gave it,
// whatever its code is, that the call never ran, or how the server ended under
// it.
func (x *session) explain(ctx context.Context, tap *wire.Tap, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := tap.Err(); err != nil {
		return err
	}
	if why := notSent(err); why != nil && !tap.Ran() {
		return fmt.Errorf("%w: %w", errNeverRan, why)
	}
	var exit *stdio.ExitError
	if errors.As(err, &exit) {
		return exit
	}
	var broken *url.Error
	if errors.As(err, &broken) {
		return &brokenError{broken}
	}
	var rpc *jsonrpc.Error
	if errors.As(err, &rpc) && rpc.Code == codeRejected {
		return &noAnswer{err}
	}
	return err
}

// notSent finds in an error that the call may not have been sent, nil if it
// was.
func notSent(err error) error {
	if errors.Is(err, mcp.ErrConnectionClosed) || errors.Is(err, mcp.ErrSessionMissing) || errors.Is(err, wire.ErrNotSent) {
		return err
	}
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "dial" {
		return dial
	}
	return nil
}

// A brokenError is a failure on the way to the server and back: the call may
// have run, and the connection is not to be trusted any more.
type brokenError struct{ err error }

func (e *brokenError) Error() string { return e.err.Error() }
func (e *brokenError) Unwrap() error { return e.err }

// callerOf finds out on whose behalf the server asks something: by the mark
// that the wire left, else as the only one who has a call under way. Several
// can't be told apart.
func (x *session) callerOf(meta map[string]any) (caller, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if id, ok := meta[wire.CallKey].(string); ok {
		delete(meta, wire.CallKey)
		if f := x.flights[id]; f != nil && f.caller != nil {
			return f.caller, nil
		}
	}
	var found caller
	for _, f := range x.flights {
		if f.caller == nil {
			continue
		}
		if found != nil && found.key() != f.caller.key() {
			return nil, errAmbiguous
		}
		found = f.caller
	}
	return found, nil
}

// hold stops the watch over the caller's calls while it is asked: which of them
// the question is from is not always known.
func (x *session) hold(c caller) (release func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	var held []func()
	for _, f := range x.flights {
		if f.hold != nil && f.caller != nil && f.caller.key() == c.key() {
			held = append(held, f.hold())
		}
	}
	return join(held...)
}

// errAmbiguous: two clients have calls under way over one pipe, and the
// server does not say in which of them it asks.
var errAmbiguous = errors.New("several clients have calls under way and the server does not say whose this is")
