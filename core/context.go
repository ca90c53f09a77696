package core

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"
)

// A Context is where a plugin's registrations go and how long they live: it
// belongs to one activation of one fiber. It is also a [context.Context],
// cancelled when that activation ends; [context.Cause] then tells why
// ([ErrReloading], [ErrUnloaded], [ErrDisposed]).
//
// It may be kept and used from any goroutine. Once the activation stopped
// accepting, registering is [ErrInactive] and leaves nothing behind.
//
// Being the life of an activation, it is stored where other contexts are
// not. A call that is made on behalf of a listener, a tool call or an undo
// passes that one's own context on, so that waiting in a circle is noticed.
type Context struct {
	frame               // fiber, activation and node that registrations belong to
	parent   *Context   // derived from; across fibers, what Load was called on
	isolated *isolation // innermost first
	values   *valueList // innermost first

	emits   atomic.Pointer[emitCache]
	filters atomic.Pointer[[]*Filter] // copy-on-write; see Tools.Filter
}

var _ context.Context = (*Context)(nil)

// valueList holds the values set by WithValue.
type valueList struct {
	key, value any
	next       *valueList
}

// Deadline is part of context.Context; a Context has none.
func (c *Context) Deadline() (time.Time, bool) { return time.Time{}, false }

// Done is closed when the activation is cancelled.
func (c *Context) Done() <-chan struct{} { return c.act.ctx.Done() }

// Err is non-nil once Done is closed.
func (c *Context) Err() error { return c.act.ctx.Err() }

// Value returns what WithValue set, here or in a context that this one was
// derived from; a fiber's context is derived from the one it was loaded on.
func (c *Context) Value(key any) any {
	if key == (frameKey{}) {
		return &c.frame
	}
	for v := c.values; v != nil; v = v.next {
		if v.key == key {
			return v.value
		}
	}
	return c.act.ctx.Value(key)
}

// Fiber returns the fiber that registrations belong to.
func (c *Context) Fiber() *Fiber { return c.fiber }

// Host returns the host.
func (c *Context) Host() *Host { return c.host }

// Logger returns the host's logger with the plugin and the fiber.
func (c *Context) Logger() *slog.Logger { return c.fiber.logger() }

// String returns the path of the fiber.
func (c *Context) String() string { return c.fiber.Path() }

// WithValue returns a derived context that holds a value, for this fiber and
// what is loaded through it.
func (c *Context) WithValue(key, value any) *Context {
	d := c.derive()
	d.values = &valueList{key, value, c.values}
	return d
}

// Isolate returns a derived context in which the service h lives in another
// realm: of one label all contexts of the host share one, no label makes a
// private one. What is loaded through it inherits the isolation.
func (c *Context) Isolate(h Handle, label string) *Context {
	d := c.derive()
	d.isolated = &isolation{c.host.realm(h.handle(), label), c.isolated}
	return d
}

// derive returns a context of the same fiber and scope.
func (c *Context) derive() *Context {
	return &Context{frame: c.frame, parent: c, isolated: c.isolated, values: c.values}
}

// at returns a derived context whose registrations go under n.
func (c *Context) at(n *node) *Context {
	d := c.derive()
	d.node = n
	return d
}

// parentScope returns the context that c was derived from, or that its fiber
// was loaded on; nil for the root.
func (c *Context) parentScope() *Context { return c.parent }

// admit returns the node under which to register, or ErrInactive.
// The host's lock is held.
func (c *Context) admit() (*node, error) {
	n := c.node.target()
	if !c.act.accepts() || n.closing() {
		return nil, fmt.Errorf("%s: %w", c.fiber.path(), ErrInactive)
	}
	return n, nil
}
