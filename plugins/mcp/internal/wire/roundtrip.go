package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// RoundTripper wraps next so that the taps of calls over streamable HTTP are
// filled. A body of one JSON message is read up to max bytes; in an event
// stream max holds for each event.
func RoundTripper(next http.RoundTripper, max int) http.RoundTripper {
	return &tripper{next: next, max: max}
}

type tripper struct {
	next http.RoundTripper
	max  int
}

func (t *tripper) RoundTrip(req *http.Request) (*http.Response, error) {
	f := &filter{tap: tapOf(req.Context())}
	if req.Method == http.MethodPost && req.GetBody != nil {
		f.sent(req)
	}
	resp, err := t.next.RoundTrip(req)
	f.reached(resp, err)
	if err != nil || resp.Body == nil || resp.StatusCode < 200 || resp.StatusCode > 299 {
		return resp, err
	}
	switch media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); media {
	case "application/json":
		return t.whole(resp, f)
	case "text/event-stream":
		resp.Body = newEventFilter(resp.Body, t.max, f.message)
		resp.ContentLength = -1
		resp.Header.Del("Content-Length")
	}
	return resp, nil
}

// whole reads and filters a body of one message.
func (t *tripper) whole(resp *http.Response, f *filter) (*http.Response, error) {
	body, err := io.ReadAll(io.LimitReader(resp.Body, int64(t.max)+1))
	_ = resp.Body.Close()
	if err != nil {
		return nil, err
	}
	if len(body) > t.max {
		body = f.tooLong(t.max)
	} else {
		body = f.message(body)
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	resp.ContentLength = int64(len(body))
	resp.Header.Del("Content-Length")
	return resp, nil
}

// A filter knows the call that a response belongs to, if any.
type filter struct {
	tap    *Tap
	method string
	id     json.RawMessage
}

// sent notes which call a request carries.
func (f *filter) sent(req *http.Request) {
	body, err := req.GetBody()
	if err != nil {
		return
	}
	defer body.Close()
	data, err := io.ReadAll(body)
	if err != nil {
		return
	}
	var e envelope
	if json.Unmarshal(data, &e) == nil && e.Method != nil {
		f.method, f.id = *e.Method, e.ID
	}
	if f.isCall() {
		f.tap.again()
	}
}

// isCall tells whether the request carries a call that somebody listens to.
func (f *filter) isCall() bool { return f.tap != nil && len(f.id) > 0 }

// reached notes whether the call got to the server. It did not if there was no
// connection, or if the server wants another session or a login first.
func (f *filter) reached(resp *http.Response, err error) {
	var dial *net.OpError
	switch {
	case !f.isCall():
	case errors.As(err, &dial) && dial.Op == "dial":
	case err == nil && (resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusUnauthorized):
	default:
		f.tap.arrived()
	}
}

// message filters the text of one message. Text that is none stays.
func (f *filter) message(text []byte) []byte {
	msgs, err := Decode(text)
	if err != nil || len(msgs) != 1 {
		return text
	}
	switch m := msgs[0].(type) {
	case *jsonrpc.Response:
		return f.encode(f.response(m), text)
	case *jsonrpc.Request:
		if f.tap == nil {
			return text
		}
		if !m.IsCall() {
			f.tap.notify(m.Method, m.Params)
			switch {
			case m.Method == "notifications/progress":
				return nil
			case m.Method != "notifications/message" || f.tap.Notify == nil:
				return text
			}
			// A log message that the call was told of is marked.
		}
		m.Params = withCallKey(m.Params, f.tap.ID)
		return f.encode(m, text)
	}
	return text
}

func (f *filter) response(res *jsonrpc.Response) *jsonrpc.Response {
	if f.tap == nil {
		return res
	}
	f.tap.set(res.Result, res.Error)
	if res.Error != nil {
		return res
	}
	res.Result = standIn(f.method, res.Result, f.tap.Relay)
	return res
}

func (f *filter) encode(msg jsonrpc.Message, old []byte) []byte {
	data, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return old
	}
	return data
}

// tooLong is the answer in place of one that is over the limit.
func (f *filter) tooLong(max int) []byte {
	id := f.id
	if len(id) == 0 {
		id = json.RawMessage("null")
	}
	data, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "error": map[string]any{
		"code": jsonrpc.CodeInternalError, "message": overLimit(max),
	}})
	if err != nil {
		return nil
	}
	return data
}

// withCallKey adds the call's id to a request's _meta.
func withCallKey(params json.RawMessage, id string) json.RawMessage {
	fields := map[string]json.RawMessage{}
	if len(params) > 0 && json.Unmarshal(params, &fields) != nil {
		return params
	}
	if fields == nil {
		fields = map[string]json.RawMessage{}
	}
	meta := map[string]any{}
	_ = json.Unmarshal(fields["_meta"], &meta)
	if meta == nil {
		meta = map[string]any{}
	}
	meta[CallKey] = id
	raw, err := json.Marshal(meta)
	if err != nil {
		return params
	}
	fields["_meta"] = raw
	out, err := json.Marshal(fields)
	if err != nil {
		return params
	}
	return out
}
