package mcp

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxOutbox is how much may wait for a client, in bytes. What comes while it is
// full is dropped: notifications come without a promise.
const maxOutbox = 4 << 20

// An outbox takes a call's notifications to its client: in order, all before
// the result, without holding up the server that sends them.
type outbox struct {
	mu      sync.Mutex // guards the fields below
	token   any        // the client's progress token, nil without
	ctx     context.Context
	to      *mcp.ServerSession
	queue   []notification
	waiting int // bytes in queue
	sending bool
	idle    chan struct{} // closed when nothing is being sent
}

type notification struct {
	method string
	params json.RawMessage
}

// size is roughly what it takes in memory.
func (n notification) size() int { return len(n.method) + len(n.params) }

func newOutbox(ctx context.Context, to *mcp.ServerSession, token any) *outbox {
	idle := make(chan struct{})
	close(idle)
	return &outbox{ctx: ctx, to: to, token: token, idle: idle}
}

// attach sends what comes from now on within another request of the client's.
func (o *outbox) attach(ctx context.Context, to *mcp.ServerSession, token any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ctx, o.to, o.token = ctx, to, token
}

// put queues a notification.
func (o *outbox) put(method string, params json.RawMessage) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if method == "notifications/progress" && o.token == nil {
		return
	}
	n := notification{method, params}
	if len(o.queue) > 0 && o.waiting+n.size() > maxOutbox {
		return
	}
	o.queue, o.waiting = append(o.queue, n), o.waiting+n.size()
	if !o.sending {
		o.sending, o.idle = true, make(chan struct{})
		go o.send()
	}
}

func (o *outbox) send() {
	for {
		o.mu.Lock()
		if len(o.queue) == 0 {
			o.sending = false
			close(o.idle)
			o.mu.Unlock()
			return
		}
		n, ctx, to, token := o.queue[0], o.ctx, o.to, o.token
		o.queue, o.waiting = o.queue[1:], o.waiting-n.size()
		o.mu.Unlock()
		n.send(ctx, to, token)
	}
}

// flush waits until everything was sent.
func (o *outbox) flush() {
	o.mu.Lock()
	idle := o.idle
	o.mu.Unlock()
	<-idle
}

// send delivers one notification. A client that is gone is no error: its call
// ends by other means.
func (n notification) send(ctx context.Context, to *mcp.ServerSession, token any) {
	switch n.method {
	case "notifications/progress":
		var p mcp.ProgressNotificationParams
		if json.Unmarshal(n.params, &p) == nil {
			p.ProgressToken = token
			_ = to.NotifyProgress(ctx, &p)
		}
	case "notifications/message":
		var p mcp.LoggingMessageParams
		if json.Unmarshal(n.params, &p) == nil {
			_ = to.Log(ctx, &p)
		}
	}
}
