package wire

import (
	"context"
	"encoding/json"
	"sync"
)

// A Tap receives what belongs to one call. Its fields are set before the
// call and not changed after; Result is safe to use once the call returned.
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

	mu     sync.Mutex // guards result
	result json.RawMessage
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

func (t *Tap) set(result json.RawMessage) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.result = result
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
