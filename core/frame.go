package core

import "context"

// A frame marks a call of plugin code and says whose teardown waits for it.
// Frames travel in contexts; a chain of them is the stack of calls that are
// blocked while the innermost one blocks. The wait graph is built from them.
type frame struct {
	host   *Host
	fiber  *Fiber
	act    *activation // nil: the fiber's driver itself is blocked
	node   *node       // what the call belongs to
	caller *frame      // the call that made this one, if known
}

// frameKey is the key under which a context answers its frame.
type frameKey struct{}

// frameCtx is a context with a frame of its own.
type frameCtx struct {
	context.Context
	frame frame
}

func (c *frameCtx) Value(key any) any {
	if key == (frameKey{}) {
		return &c.frame
	}
	return c.Context.Value(key)
}

// frameOf finds the innermost frame of ctx, or nil if ctx belongs to no host.
func frameOf(ctx context.Context) *frame {
	switch c := ctx.(type) {
	case *Context:
		return &c.frame
	case *frameCtx:
		return &c.frame
	}
	f, _ := ctx.Value(frameKey{}).(*frame)
	return f
}

// call returns the frame of a call that n's owner has to wait for, made by
// the holder of caller.
func (n *node) call(caller *frame) frame {
	return frame{host: n.act.fiber.host, fiber: n.act.fiber, act: n.act, node: n, caller: caller}
}
