package core

import (
	"context"
	"sync"
	"sync/atomic"
)

// A gate counts the calls that are inside and lets nobody in once closed.
// Each listener, provision and tool has one of its own, so that a stuck call
// has a name. The zero gate is open.
//
// enter and exit may be called by anyone at any time; shut is called with
// the host's lock held.
type gate struct {
	state atomic.Int64  // twice the number of calls inside, plus 1 when closed
	idle  chan struct{} // set before the closed bit; closed when empty and shut

	mu     sync.Mutex // guards what follows
	calls  map[*call]struct{}
	ctx    context.Context // made when first asked for
	cancel context.CancelCauseFunc
	over   bool

	lost bool // calls inside were abandoned; guarded by the host's lock
}

// enter lets a call in, unless the gate is closed.
func (g *gate) enter() bool {
	for {
		s := g.state.Load()
		if s&1 != 0 {
			return false
		}
		if g.state.CompareAndSwap(s, s+2) {
			return true
		}
	}
}

// exit ends a call that enter let in.
func (g *gate) exit() {
	switch s := g.state.Add(-2); {
	case s == 1:
		close(g.idle)
	case s < 0:
		panic("core: a lease was released twice")
	}
}

// open reports whether enter would succeed now.
func (g *gate) open() bool { return g.state.Load()&1 == 0 }

// empty reports whether the gate is closed with no call inside.
func (g *gate) empty() bool { return g.state.Load() == 1 }

// shut closes the gate and returns the channel that is closed when the last
// call inside has ended. It does not block and may be repeated.
func (g *gate) shut() <-chan struct{} {
	if g.open() {
		g.idle = make(chan struct{})
		if g.state.Add(1) == 1 {
			close(g.idle)
		}
	}
	return g.idle
}

// A call is one entry through a gate which has a context that the gate can
// cancel.
type call struct {
	frameCtx
	gate   *gate
	cancel context.CancelCauseFunc
}

// begin enters the gate and returns the call whose context is derived from
// ctx and belongs to n. It is false if the gate is closed.
func (g *gate) begin(ctx context.Context, n *node) (*call, bool) {
	if !g.enter() {
		return nil, false
	}
	return g.entered(ctx, n), true
}

// again is begin for a call from within another one, which the gate lets in
// even if it was closed meanwhile.
func (g *gate) again(ctx context.Context, n *node) *call {
	g.state.Add(2)
	return g.entered(ctx, n)
}

// entered makes the call of one who is inside, with a context that can be cancelled by itself.
func (g *gate) entered(ctx context.Context, n *node) *call {
	c := &call{gate: g}
	c.frame = n.call(frameOf(ctx))
	c.Context, c.cancel = context.WithCancelCause(ctx)
	g.add(c)
	return c
}

// share is begin for one of several calls that ctx is cancelled for together,
// by cancel; the call itself is ended with leave.
func (g *gate) share(ctx context.Context, n *node, cancel context.CancelCauseFunc) (*call, bool) {
	if !g.enter() {
		return nil, false
	}
	c := &call{gate: g, cancel: cancel}
	c.frameCtx = frameCtx{ctx, n.call(frameOf(ctx))}
	g.add(c)
	return c, true
}

// add makes the call known to those who interrupt.
func (g *gate) add(c *call) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.calls == nil {
		g.calls = make(map[*call]struct{})
	}
	g.calls[c] = struct{}{}
	if g.over {
		c.cancel(ErrGraceOver)
	}
}

// end is called once, when the call has returned.
func (c *call) end() {
	c.cancel(nil)
	c.leave()
}

// leave is end without cancelling the call's context.
func (c *call) leave() {
	c.gate.mu.Lock()
	delete(c.gate.calls, c)
	c.gate.mu.Unlock()
	c.gate.exit()
}

// context is cancelled when the calls inside are to end now.
func (g *gate) context() context.Context {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ctx == nil {
		g.ctx, g.cancel = context.WithCancelCause(context.Background())
		if g.over {
			g.cancel(ErrGraceOver)
		}
	}
	return g.ctx
}

// interrupt cancels the contexts of all calls and leases inside.
func (g *gate) interrupt() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.over = true
	for c := range g.calls {
		c.cancel(ErrGraceOver)
	}
	if g.cancel != nil {
		g.cancel(ErrGraceOver)
	}
}
