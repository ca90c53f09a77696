package core

import (
	"context"
	"errors"
	"fmt"
)

// Effect runs start at once, and its undo when the effect ends: when stop is
// called, or else when c's scope or activation does, in reverse order of
// registration. What start registers through the context it is given is part
// of the effect and undone before undo runs. If start fails, what it had
// registered is undone and its error returned.
//
// undo may be nil. It gets a context of its own with a deadline, because the
// activation's is cancelled by then. stop runs it once; later callers wait
// for the first and get the same error; from within the undo, when that
// one's context is passed, stop is [ErrSelfWait].
func (c *Context) Effect(
	label string, start func(c *Context) (undo func(context.Context) error, err error),
) (stop func(context.Context) error, err error) {
	n := &node{kind: KindEffect, label: label}
	if err := c.register(n); err != nil {
		return nil, err
	}
	if err := c.host.start(n, c.at(n), start); err != nil {
		return nil, err
	}
	return func(ctx context.Context) error { return c.host.stop(ctx, n) }, nil
}

// start runs the start of an effect, and takes note of its end even if that
// is the end of the goroutine.
func (h *Host) start(
	n *node, c *Context, start func(*Context) (func(context.Context) error, error),
) (err error) {
	err = errGoexit
	defer func() { err = h.started(n, err) }()
	err = c.fiber.guard("start of", n, func() (err error) {
		n.undo, err = start(c)
		return err
	})
	return err
}

// started ends the start of n: live, or undone on the spot because it failed
// or because the activation stopped accepting meanwhile.
func (h *Host) started(n *node, failure error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if failure != nil {
		n.undo = nil
	} else if n.act.accepts() && !n.closing() {
		n.state = nodeLive
		return nil
	} else {
		failure = fmt.Errorf("%s: %s: %w", n.act.fiber.path(), n, ErrInactive)
	}
	n.state = nodeStopping
	return errors.Join(failure, h.dismantle(n))
}

// OnUndo registers a function to run when c's scope or activation ends.
func (c *Context) OnUndo(label string, undo func(context.Context) error) error {
	return c.register(&node{kind: KindEffect, label: label, state: nodeLive, undo: undo})
}

// OnDispose is OnUndo for the many Close methods that take no context.
func (c *Context) OnDispose(undo func() error) error {
	return c.OnUndo("dispose", func(context.Context) error { return undo() })
}
