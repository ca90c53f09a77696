package core

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// runUndo calls the undo function with a context of its own.
func (h *Host) runUndo(n *node) error {
	f := n.act.fiber
	h.yield("undo")
	ctx := &undoCtx{deadline: time.Now().Add(h.opts.UndoTimeout), frame: n.call(nil)}
	defer ctx.close()
	err := f.guard("undo of", n, func() error { return n.undo(ctx) })
	if err == nil {
		return nil
	}
	if p := (*PanicError)(nil); errors.As(err, &p) {
		return err
	}
	return fmt.Errorf("%s: undo of %s: %w", f.Path(), n, err)
}

// undoCtx is the context of one undo. Most undos never look at it, so the
// timer is made when someone first does.
type undoCtx struct {
	frame    frame
	deadline time.Time
	mu       sync.Mutex // guards what follows
	inner    context.Context
	cancel   context.CancelFunc
	closed   bool
}

func (c *undoCtx) real() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inner == nil {
		c.inner, c.cancel = context.WithDeadline(context.Background(), c.deadline)
		if c.closed {
			c.cancel()
		}
	}
	return c.inner
}

func (c *undoCtx) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	if c.cancel != nil {
		c.cancel()
	}
}

func (c *undoCtx) Deadline() (time.Time, bool) { return c.deadline, true }

func (c *undoCtx) Done() <-chan struct{} { return c.real().Done() }

func (c *undoCtx) Err() error { return c.real().Err() }

func (c *undoCtx) Value(key any) any {
	if key == (frameKey{}) {
		return &c.frame
	}
	return c.real().Value(key)
}
