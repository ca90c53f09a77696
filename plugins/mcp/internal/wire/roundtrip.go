package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// RoundTripper wraps next so that the taps of calls over streamable HTTP are
// filled. A body of one JSON message is read up to max bytes; in an event
// stream max holds for each event. Whatever else a call is answered with, the
// SDK gets an error for that call: it would end the connection, and all calls
// on it. logins says that the SDK logs in where the server wants that.
func RoundTripper(next http.RoundTripper, max int, logins bool) http.RoundTripper {
	return &tripper{next: next, max: max, logins: logins}
}

type tripper struct {
	next   http.RoundTripper
	max    int
	logins bool
}

func (t *tripper) RoundTrip(req *http.Request) (*http.Response, error) {
	f := &filter{tap: tapOf(req.Context()), max: t.max}
	f.sent(req)
	resp, err := t.next.RoundTrip(req)
	f.reached(resp, err)
	if err != nil || resp.Body == nil {
		return resp, err
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return t.refused(req, resp, f), nil
	}
	switch media := mediaType(resp); {
	case media == "application/json":
		return f.whole(resp)
	case media == "text/event-stream":
		resp.Body = newEventFilter(resp.Body, f.max, f.message, f.tooLong)
		resp.ContentLength = -1
		resp.Header.Del("Content-Length")
	case f.isCall():
		return f.instead(resp, f.failure(fmt.Errorf("the server's answer is no message but %s %q", resp.Status, media))), nil
	}
	return resp, nil
}

func mediaType(resp *http.Response) string {
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return media
}

// refused is what the SDK gets for an answer that is none. It sees itself to
// sessions that are lost and to logins.
func (t *tripper) refused(req *http.Request, resp *http.Response, f *filter) *http.Response {
	switch {
	case resp.StatusCode == http.StatusNotFound && req.Header.Get("Mcp-Session-Id") != "":
		return withoutBody(resp) // the SDK would take a message in it for all there is
	case t.logins && wantsLogin(resp) && f.mayLogIn():
		return resp
	case f.isCall():
		return f.instead(resp, f.refusal(resp))
	case f.aside:
		resp.StatusCode, resp.Status = http.StatusAccepted, "202 Accepted"
		return withoutBody(resp)
	}
	return resp
}

// wantsLogin tells whether a login, or a login for more, may help.
func wantsLogin(resp *http.Response) bool {
	return resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden &&
		strings.Contains(strings.Join(resp.Header.Values("WWW-Authenticate"), ","), "insufficient_scope")
}

func withoutBody(resp *http.Response) *http.Response {
	_ = resp.Body.Close()
	resp.Body, resp.ContentLength = http.NoBody, 0
	resp.Header.Del("Content-Length")
	return resp
}

// A filter knows the call that a response belongs to, if any.
type filter struct {
	tap    *Tap
	max    int
	method string
	id     json.RawMessage
	// aside: nothing depends on whether the server takes the message.
	aside bool
	// news: it is a stream of what belongs to no call. resumed: it goes on with
	// the one that the call's answer was to come in.
	news, resumed bool
}

// sent notes which call a request carries, or goes on to listen to.
func (f *filter) sent(req *http.Request) {
	switch {
	case req.Method == http.MethodGet && f.tap != nil:
		f.resumed = true
		f.method, f.id = f.tap.exchange()
		return
	case req.Method == http.MethodGet:
		f.news = true
		return
	case req.Method != http.MethodPost || req.GetBody == nil:
		return
	}
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
	if json.Unmarshal(data, &e) != nil {
		return
	}
	if e.Method == nil {
		f.aside = true
		return
	}
	f.method, f.id = *e.Method, e.ID
	f.aside = len(e.ID) == 0 && f.method != "notifications/initialized"
	f.news = f.method == "subscriptions/listen"
	if f.isCall() {
		f.tap.again(f.method, f.id)
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

// mayLogIn tells whether a login may still help: it did not, if the same
// message comes back after one.
func (f *filter) mayLogIn() bool { return f.tap == nil || f.tap.login(f.id) }

// whole reads and filters a body of one message.
func (f *filter) whole(resp *http.Response) (*http.Response, error) {
	body, err := io.ReadAll(io.LimitReader(resp.Body, int64(f.max)+1))
	_ = resp.Body.Close()
	if err != nil {
		return nil, err
	}
	if len(body) > f.max {
		body = f.failure(errors.New(overLimit(f.max)))
	} else if f.isCall() {
		body = f.answer(body)
	} else {
		body = f.message(body)
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	resp.ContentLength = int64(len(body))
	resp.Header.Del("Content-Length")
	return resp, nil
}

// answer filters the one message that a call was answered with: it is for that
// call, whatever its id.
func (f *filter) answer(text []byte) []byte {
	msgs, err := Decode(text)
	if err == nil {
		for _, msg := range msgs {
			if res, ok := msg.(*jsonrpc.Response); ok {
				return f.own(f.response(res), text)
			}
		}
	}
	if rpc := errorIn(text); rpc != nil {
		return f.own(f.response(&jsonrpc.Response{Error: rpc}), text)
	}
	return f.failure(unreadable(text))
}

// own writes a response to the call.
func (f *filter) own(res *jsonrpc.Response, old []byte) []byte {
	id, err := ResponseID(f.id)
	if err != nil {
		return old
	}
	res.ID = id
	return f.encode(res, old)
}

// refusal makes an answer of one that came with a status that says no.
func (f *filter) refusal(resp *http.Response) []byte {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, int64(min(f.max, 1<<20))))
	if rpc := errorIn(body); rpc != nil {
		return f.own(f.response(&jsonrpc.Response{Error: rpc}), nil)
	}
	text := strings.TrimSpace(string(body))
	if text == "" || mediaType(resp) == "text/html" {
		return f.failure(fmt.Errorf("the server answered %s", resp.Status))
	}
	return f.failure(fmt.Errorf("the server answered %s: %s", resp.Status, excerpt(text)))
}

// instead puts a message in the place of an answer.
func (f *filter) instead(resp *http.Response, body []byte) *http.Response {
	_ = resp.Body.Close()
	out := *resp
	out.StatusCode, out.Status = http.StatusOK, "200 OK"
	media, text := "application/json", body
	if f.resumed {
		media, text = "text/event-stream", fmt.Appendf(nil, "data: %s\n\n", body)
	}
	out.Header = http.Header{"Content-Type": {media}}
	out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	return &out
}

// failure is the answer to the call in place of one that is of no use.
func (f *filter) failure(why error) []byte {
	if f.tap != nil {
		f.tap.set(nil, why)
	}
	id := f.id
	if len(id) == 0 {
		id = json.RawMessage("null")
	}
	data, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "error": map[string]any{
		"code": jsonrpc.CodeInternalError, "message": why.Error(),
	}})
	if err != nil {
		return nil
	}
	return data
}

// tooLong is the data in place of an event that is, nil without a call.
func (f *filter) tooLong() []byte {
	if !f.isCall() {
		return nil
	}
	return f.failure(errors.New(overLimit(f.max)))
}

func unreadable(text []byte) error {
	if len(bytes.TrimSpace(text)) == 0 {
		return errors.New("the server's answer is empty")
	}
	return fmt.Errorf("the server's answer can't be read: %s", excerpt(string(text)))
}

// excerpt is the beginning of a text.
func excerpt(text string) string {
	const width = 200
	if len(text) > width {
		text = text[:width] + "…"
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

// errorIn is the error that a message holds, whatever it is the answer to.
func errorIn(text []byte) *jsonrpc.Error {
	var e envelope
	if json.Unmarshal(text, &e) != nil || e.Error == nil || e.Error.Code == "" {
		return nil
	}
	return e.Error.rpc()
}

// message filters the text of one message in a stream. nil is one to leave
// out.
func (f *filter) message(text []byte) []byte {
	msgs, err := Decode(text)
	switch {
	case err == nil && len(msgs) == 1:
	case f.isCall():
		return f.failure(unreadable(text))
	case f.news:
		return nil
	default:
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
