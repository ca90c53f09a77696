package core

import (
	"context"
	"sync/atomic"
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
