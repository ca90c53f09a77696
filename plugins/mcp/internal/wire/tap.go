package wire

import (
	"context"
	"encoding/json"
	"sync"
)

// A Tap receives what belongs to one call. Its fields are set before the
// call and not changed after; its methods tell of the call once it returned.
type Tap struct {
	// ID names the call in [CallKey] of requests that the server makes
	// within it. It is also the call's progress token.
	ID string
	// Relay keeps "input required" answers from the SDK: they are results
	// like any other, for somebody else to fulfil.
	Relay bool
	// Notify, if set, is called for each notification that is known to
	// belong to the call, in order and before the call returns. It must not
	// block.
	Notify func(method string, params json.RawMessage)

	mu     sync.Mutex // guards the fields below
	method string     // of the last exchange over HTTP, likewise id
	id     json.RawMessage
	logged bool // that exchange led to a login
	ran    bool
	result json.RawMessage
	err    error
}

// CallKey is the key in a server's request's _meta under which the receiver
// finds the [Tap.ID] of the call that it was made in, and in a log message's
// that of the call that was told of it already.
const CallKey = "agentd.dev/call"

// Result is the last answer as received, nil if there was none.
func (t *Tap) Result() json.RawMessage {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.result
}

// Err is the error that the server answered the call with, a [*jsonrpc.Error],
// or how its answer is wrong; nil if there was neither. What the SDK returns is
// not enough to know: it has codes of its own, for which it takes the server's.
func (t *Tap) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}

// Ran tells whether the server may have run the call. One that it may not have
// run can be made again.
func (t *Tap) Ran() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ran
}

// again begins one more exchange of the call: what the last one failed with
// does not count any more. The same one comes again after a login.
func (t *Tap) again(method string, id json.RawMessage) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if string(t.id) != string(id) {
		t.logged = false
	}
	t.method, t.id, t.err = method, id, nil
}

// exchange is the call as it was sent last.
func (t *Tap) exchange() (method string, id json.RawMessage) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.method, t.id
}

// login reports whether the exchange with the id may lead to a login, which
// only one does.
func (t *Tap) login(id json.RawMessage) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if string(t.id) == string(id) && t.logged {
		return false
	}
	t.logged = true
	return true
}

// arrived notes that the server has the call.
func (t *Tap) arrived() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ran = true
}

// set takes the server's answer.
func (t *Tap) set(result json.RawMessage, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ran, t.err = true, err
	if err == nil {
		t.result = result
	}
}

func (t *Tap) notify(method string, params json.RawMessage) {
	if t.Notify != nil {
		t.Notify(method, params)
	}
}

type tapKey struct{}

// WithTap returns a context whose SDK call fills t.
func WithTap(ctx context.Context, t *Tap) context.Context {
	return context.WithValue(ctx, tapKey{}, t)
}

func tapOf(ctx context.Context) *Tap {
	t, _ := ctx.Value(tapKey{}).(*Tap)
	return t
}
