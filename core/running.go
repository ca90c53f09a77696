package core

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// running is what a call's invocation acts upon while the call is under way.
type running struct {
	x      *execution
	parent *running // the call from whose function this one was made
	depth  int
	clock  *clock         // nil without a time-out
	nexts  []atomic.Int32 // calls of next by each middleware
}

// runningKey is the key under which a context answers its running call.
type runningKey struct{}

// runCtx is the context of a tool's function.
type runCtx struct {
	context.Context
	run *running
	inv *Invocation
}

func (c *runCtx) Value(key any) any {
	switch key {
	case runningKey{}:
		return c.run
	case invocationKey{}:
		return c.inv
	}
	return c.Context.Value(key)
}

type invocationKey struct{}

// CurrentInvocation returns the call in whose function ctx was given, so that
// a typed tool can ask, deny and tell its progress; nil outside of one.
func CurrentInvocation(ctx context.Context) *Invocation {
	inv, _ := ctx.Value(invocationKey{}).(*Invocation)
	return inv
}

// hold stops the clocks of this call and of those around it: waiting for a
// person does not count as running.
func (r *running) hold() (resume func()) {
	for p := r; p != nil; p = p.parent {
		p.clock.stop()
	}
	return func() {
		for p := r; p != nil; p = p.parent {
			p.clock.start()
		}
	}
}

// A clock is a time-out that can be held. A nil clock never runs out.
type clock struct {
	expired chan struct{}

	mu    sync.Mutex // guards the fields below
	holds int
	left  time.Duration
	since time.Time
	timer *time.Timer
}

// newClock makes a clock that runs.
func newClock(d time.Duration) *clock {
	c := &clock{expired: make(chan struct{}), left: d, holds: 1}
	c.start()
	return c
}

func (c *clock) start() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.holds--; c.holds > 0 {
		return
	}
	c.since = time.Now()
	c.timer = time.AfterFunc(c.left, c.ring)
}

// ring ends the clock unless it was held at the last moment.
func (c *clock) ring() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.holds > 0 || c.left < 0 {
		return
	}
	c.left = -1
	close(c.expired)
}

func (c *clock) stop() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.holds++; c.holds > 1 || c.left < 0 {
		return
	}
	c.timer.Stop()
	c.left = max(c.left-time.Since(c.since), 0)
}

// done is nil, which is never ready, for a nil clock.
func (c *clock) done() <-chan struct{} {
	if c == nil {
		return nil
	}
	return c.expired
}

// Ask asks for one more permission while the tool runs, by the same rules and
// through the same person as the call itself. It may wait for that person,
// which does not count towards the time-out. The error is fit to be returned
// from the tool's function.
func (i *Invocation) Ask(ctx context.Context, p Permission, reason string) error {
	if i.run == nil {
		return i.Deny("nobody can be asked outside of a running call")
	}
	prov := i.run.x.place.active(Permissions.h)
	if prov == nil {
		return i.Deny("no policy plugin is loaded, so nobody can allow it")
	}
	call, ok := prov.node.gate.begin(i.run.x.h.hosted(ctx), &prov.node)
	if !ok {
		return i.Deny("the policy plugin is unloading")
	}
	defer call.end()
	defer i.run.hold()()
	err := prov.act.fiber.guard("answer of", &prov.node, func() error {
		return (*prov.value.(*Authorizer)).Authorize(call, i.Viewer, p, reason)
	})
	if err == nil {
		return nil
	}
	e := &ToolError{Code: CodeDenied, Tool: i.Name, Message: "denied: " + err.Error(), Cause: err}
	if errors.Is(err, ErrNobodyToAsk) {
		e.Code = CodeNobody
	}
	return e
}

// Deny makes the error with which a tool's function refuses its call.
func (i *Invocation) Deny(reason string) error {
	return &ToolError{Code: CodeDenied, Tool: i.Name, Message: "denied: " + reason}
}

// Progress says how far a call has come. Total 0 means unknown.
type Progress struct {
	Done    float64 `json:"done"`
	Total   float64 `json:"total,omitempty"`
	Message string  `json:"message,omitempty"`
}

// String tells it in a few words: "3 of 10: message".
func (p Progress) String() string {
	done := strconv.FormatFloat(p.Done, 'f', -1, 64)
	switch {
	case p.Total > 0:
		done += " of " + strconv.FormatFloat(p.Total, 'f', -1, 64)
	case p.Message != "":
		return p.Message
	}
	if p.Message == "" {
		return done
	}
	return done + ": " + p.Message
}

// ToolProgressed is what [ToolProgress] carries.
type ToolProgressed struct {
	Call     Call
	Progress Progress
}

// ToolProgress is emitted while a call runs, as often as its tool has
// something to say.
var ToolProgress = NewEvent[ToolProgressed]("tool:progress")

// Progress tells those who watch the call how far it has come.
func (i *Invocation) Progress(p Progress) {
	if i.run == nil {
		return
	}
	h := i.run.x.h
	if err := ToolProgress.Emit(h.root, ToolProgressed{i.Call, p}); err != nil {
		h.root.Logger().Warn("tool progress", "tool", i.Name, "err", err)
	}
}
