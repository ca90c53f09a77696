package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/agentd-host/agentd/core"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// do makes a request when its turn has come.
func (s *server) do(ctx context.Context, e exchange) (json.RawMessage, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	return s.send(ctx, e)
}

// enter waits for a request's turn and returns what ends it. The server is in
// use until then.
func (s *server) enter(ctx context.Context) (leave func(), err error) {
	s.begin()
	done, err := s.limit.enter(ctx)
	if err != nil {
		s.end()
		return nil, err
	}
	return func() { done(); s.end() }, nil
}

// send sends a request, starting the server if need be. A request that never
// reached the server is sent once more over a new connection; one that may
// have run is not.
func (s *server) send(ctx context.Context, e exchange) (json.RawMessage, error) {
	x, err := s.session(ctx)
	if err != nil {
		return nil, err
	}
	raw, err := x.request(ctx, e)
	if errors.Is(err, errNeverRan) && ctx.Err() == nil {
		x.end(err)
		if x, err = s.session(ctx); err != nil {
			return nil, err
		}
		raw, err = x.request(ctx, e)
	}
	if err != nil {
		if broken := (*brokenError)(nil); errors.As(err, &broken) {
			x.end(err)
		}
		return nil, s.clean(err)
	}
	return raw, nil
}

func (s *server) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy++
}

func (s *server) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy--
	s.used = time.Now()
}

// A callEnd says why we ended a call or a start; it is the cause of its context.
type callEnd struct{ text string }

func (e *callEnd) Error() string { return e.text }

// callTool runs one tool call. patient leaves the watch over its silence to
// somebody else.
func (s *server) callTool(ctx context.Context, e exchange, patient bool) (json.RawMessage, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	limit := time.AfterFunc(s.cfg.CallCap, func() {
		cancel(&callEnd{fmt.Sprintf("the call was cut off after %v (callCap)", s.cfg.CallCap)})
	})
	defer limit.Stop()
	leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	if !patient {
		w := newWatch(s.cfg.CallTimeout, func() {
			cancel(&callEnd{fmt.Sprintf("no answer and no progress for %v (callTimeout)", s.cfg.CallTimeout)})
		})
		defer w.stop()
		e.hold = w.hold
		notify := e.notify
		e.notify = func(method string, params json.RawMessage) {
			w.reset()
			if notify != nil {
				notify(method, params)
			}
		}
	}
	return s.send(ctx, e)
}

// A watch rings when it was not reset for a while in which nobody held it.
type watch struct {
	d    time.Duration
	mu   sync.Mutex // guards the fields below
	t    *time.Timer
	held int
	over bool
}

func newWatch(d time.Duration, ring func()) *watch {
	return &watch{d: d, t: time.AfterFunc(d, ring)}
}

func (w *watch) reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.t.Stop() {
		w.t.Reset(w.d)
	}
}

// hold stops the time until the returned function is called.
func (w *watch) hold() (release func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held++
	w.t.Stop()
	return w.release
}

func (w *watch) release() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held--
	if w.held == 0 && !w.over {
		w.t.Reset(w.d)
	}
}

func (w *watch) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	w.t.Stop()
}

// run is the function of a projected tool.
func (p *projection) run(ctx context.Context, inv *core.Invocation, d *definition) (core.Result, error) {
	raw, err := p.send(ctx, inv, exchange{params: &mcp.CallToolParams{Name: d.Name, Arguments: json.RawMessage(inv.Args)}})
	if err != nil {
		return core.Result{}, callError(inv.Name, p.server.name, err)
	}
	res, err := readResult(inv.Name, raw)
	if err != nil {
		return core.Result{}, err
	}
	return p.checkOutput(d, res)
}

// send makes the call, for an MCP client or for this agent.
func (p *projection) send(ctx context.Context, inv *core.Invocation, e exchange) (json.RawMessage, error) {
	if g := guestOf(ctx); g != nil {
		return g.send(ctx, p, e)
	}
	e.caller = &host{hub: p.server.hub, server: p.server.name, ctx: ctx, inv: inv}
	e.notify = func(method string, params json.RawMessage) { tellProgress(inv, method, params) }
	_, patient := core.Background.Get(p.c)
	return p.server.callTool(ctx, e, patient)
}

func tellProgress(inv *core.Invocation, method string, params json.RawMessage) {
	if method != "notifications/progress" {
		return
	}
	var p struct {
		Progress float64 `json:"progress"`
		Total    float64 `json:"total"`
		Message  string  `json:"message"`
	}
	if json.Unmarshal(params, &p) == nil {
		inv.Progress(core.Progress{Done: p.Progress, Total: p.Total, Message: visible(p.Message)})
	}
}

// callError says in the terms of tools why a call failed. An error of the
// protocol stays one: it is the cause.
func callError(tool, server string, err error) error {
	e := &core.ToolError{Code: core.CodeFailed, Tool: tool, Message: err.Error(), Cause: err}
	var end *callEnd
	var rpc *jsonrpc.Error
	switch {
	case errors.As(err, &end):
		e.Code = core.CodeTimeout
	case errors.Is(err, context.Canceled):
		e.Code = core.CodeCancelled
	case errors.As(err, &rpc):
		e.Message = fmt.Sprintf("the server refused the call: %s (%d)", rpc.Message, rpc.Code)
	default:
		e.Message = nameServer(server, err).Error()
	}
	return e
}
