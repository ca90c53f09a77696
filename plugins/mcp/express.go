package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Calls of tools are most of what clients send. Over HTTP, in the sessions of
// the legacy era, they are answered here: the SDK decodes each message several
// times, which costs more than all else that happens to a call. Whatever is no
// plain call goes on to the SDK, with which sessions begin and end.

// A message is one message of JSON-RPC, undecoded.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   *jsonrpc.Error  `json:"error"`
}

// express answers a request of a session if it can. If it can't, it reports
// false and the request is as it was.
func (m *mount) express(w http.ResponseWriter, r *http.Request) bool {
	id := r.Header.Get("Mcp-Session-Id")
	if r.Method != http.MethodPost || id == "" || !takesAnswers(r.Header) {
		return false
	}
	seat := m.seats.of(id)
	if seat == nil {
		return false
	}
	body := peek(r)
	var msg message
	if json.Unmarshal(body, &msg) != nil || msg.Version != "2.0" {
		return false
	}
	switch {
	case msg.Method == "tools/call" && isID(msg.ID):
		return m.expressCall(w, r, seat, msg)
	case msg.Method == "notifications/cancelled":
		return accepted(w, seat.cancel(msg.Params))
	case msg.Method == "" && len(msg.ID) > 0:
		return accepted(w, seat.answer(msg))
	}
	return false
}

// takesAnswers tells whether headers are those of a request that may be
// answered either way.
func takesAnswers(h http.Header) bool {
	accept := strings.Join(h.Values("Accept"), ",")
	kind, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	return strings.Contains(accept, "application/json") && strings.Contains(accept, "text/event-stream") &&
		strings.TrimSpace(kind) == "application/json"
}

// isID tells whether a request's id is one: a string or a number.
func isID(raw json.RawMessage) bool {
	return len(raw) > 0 && (raw[0] == '"' || raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9')
}

func accepted(w http.ResponseWriter, ours bool) bool {
	if ours {
		w.WriteHeader(http.StatusAccepted)
	}
	return ours
}

// peek reads a request's body and puts it back.
func peek(r *http.Request) []byte {
	body, err := io.ReadAll(r.Body)
	// What was read, and what could not be, is for the next handler to judge.
	r.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(body), failing{err}), r.Body}
	if err != nil {
		return nil
	}
	return body
}

func (m *mount) expressCall(w http.ResponseWriter, r *http.Request, s *seat, msg message) bool {
	var p struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
		Meta      mcp.Meta        `json:"_meta"`
	}
	init := s.session.InitializeParams()
	if init == nil || eraOf(init.ProtocolVersion) == eraModern || json.Unmarshal(msg.Params, &p) != nil || p.Name == "" {
		return false
	}
	if v := r.Header.Get("Mcp-Protocol-Version"); v != "" && v != init.ProtocolVersion {
		return false
	}
	// A client that hangs up has not cancelled: it says so.
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(r.Context()))
	defer cancel(nil)
	l := &line{w: w, gone: r.Context().Done(), seat: s}
	if err := s.begin(string(msg.ID), cancel); err != nil {
		l.finish(msg.ID, nil, err)
		return true
	}
	m.seats.touch(s.session)
	raw, err := func() (json.RawMessage, error) {
		defer s.end(string(msg.ID)) // before the result, with which the id is the client's again
		return m.callTool(context.WithValue(ctx, lineKey{}, l), request{
			session: s.session, params: &mcp.CallToolParamsRaw{Name: p.Name, Arguments: p.Arguments, Meta: p.Meta},
		})
	}()
	l.finish(msg.ID, raw, err)
	return true
}

// A line is the way back to the client that a call is answered on: plain JSON
// as long as there is nothing but the result, else a stream of events.
type line struct {
	gone <-chan struct{} // closed when the client hung up
	seat *seat

	mu     sync.Mutex // guards the fields below
	w      http.ResponseWriter
	events bool
	over   bool // the result was sent: w is not ours any more
}

type lineKey struct{}

func (l *line) finish(id, result json.RawMessage, err error) {
	b := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	if err != nil {
		b = append(append(b, `,"error":`...), encode(protocolError(err))...)
	} else {
		b = append(append(b, `,"result":`...), result...)
	}
	b = append(b, '}')
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
	if l.events {
		l.event(b)
		return
	}
	h := l.w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(b)))
	_, _ = l.w.Write(b)
}

// send sends a message before the result; after it nothing is sent.
func (l *line) send(v any) {
	b := encode(v)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return
	}
	if !l.events {
		l.events = true
		h := l.w.Header()
		h.Set("Content-Type", "text/event-stream")
		h.Set("Cache-Control", "no-cache, no-transform")
	}
	l.event(b)
}

// event writes one event; l.mu is held. A client that is gone misses it.
func (l *line) event(data []byte) {
	var compact bytes.Buffer
	if bytes.ContainsAny(data, "\r\n") && json.Compact(&compact, data) == nil {
		data = compact.Bytes()
	}
	_, _ = fmt.Fprintf(l.w, "event: message\ndata: %s\n\n", data)
	_ = http.NewResponseController(l.w).Flush()
}

// ask puts a request to the client and waits for its answer.
func (l *line) ask(ctx context.Context, method string, params any) (json.RawMessage, error) {
	id, answer := l.seat.expect()
	defer l.seat.forget(id)
	l.send(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	select {
	case msg := <-answer:
		if msg.Error != nil {
			return nil, msg.Error
		}
		return msg.Result, nil
	case <-l.gone:
		return nil, errors.New("the client hung up")
	case <-ctx.Done():
		l.send(map[string]any{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": map[string]any{"requestId": id}})
		return nil, context.Cause(ctx)
	}
}

// bySend is the middleware by which the SDK's sessions use the line of the
// call that they speak within.
func bySend(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		l, ok := ctx.Value(lineKey{}).(*line)
		if !ok {
			return next(ctx, method, req)
		}
		var res mcp.Result
		switch method {
		case "elicitation/create":
			res = &mcp.ElicitResult{}
		case "sampling/createMessage":
			res = &mcp.CreateMessageWithToolsResult{}
		case "roots/list":
			res = &mcp.ListRootsResult{}
		case "notifications/progress", "notifications/message":
			l.send(map[string]any{"jsonrpc": "2.0", "method": method, "params": req.GetParams()})
			return nil, nil
		default:
			return next(ctx, method, req)
		}
		raw, err := l.ask(ctx, method, req.GetParams())
		if err != nil {
			return nil, err
		}
		return res, json.Unmarshal(raw, res)
	}
}

// cancel ends a call that a client no longer wants.
func (s *seat) cancel(params json.RawMessage) bool {
	var p struct {
		ID     json.RawMessage `json:"requestId"`
		Reason string          `json:"reason"`
	}
	if json.Unmarshal(params, &p) != nil {
		return false
	}
	s.mu.Lock()
	cancel := s.calls[string(p.ID)]
	s.mu.Unlock()
	if cancel == nil {
		return false
	}
	cancel(context.Canceled)
	return true
}

// begin notes a call that is under way. It fails if the session is over or has
// another one of that id.
func (s *seat) begin(id string, cancel context.CancelCauseFunc) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "the session is over"}
	}
	if s.calls[id] != nil {
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "another call with the id " + printable(id) + " is under way"}
	}
	s.calls[id] = cancel
	return nil
}

func (s *seat) end(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.calls, id)
}

// close ends the calls of a session that is over.
func (s *seat) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	for _, cancel := range s.calls {
		cancel(context.Canceled)
	}
}

// expect makes an id for a request to the client.
func (s *seat) expect() (id string, answer <-chan message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	id = "agentd-ask-" + strconv.Itoa(s.asked)
	ch := make(chan message, 1)
	s.asks[id] = ch
	return id, ch
}

func (s *seat) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.asks, id)
}

// answer takes the client's answer to a request of ours.
func (s *seat) answer(msg message) bool {
	var id string
	if json.Unmarshal(msg.ID, &id) != nil || (msg.Result == nil && msg.Error == nil) {
		return false
	}
	s.mu.Lock()
	ch := s.asks[id]
	delete(s.asks, id)
	s.mu.Unlock()
	if ch == nil {
		return false
	}
	ch <- msg
	return true
}
