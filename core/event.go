package core

import (
	"context"
	"errors"
	"sync/atomic"
)

// An Event is the handle of an event with a value of type E: something that
// happened, told to all who listen.
type Event[E any] struct {
	h *handle
}

// NewEvent makes a handle; usually in a package-level variable.
func NewEvent[E any](name string) Event[E] { return Event[E]{&handle{name: name}} }

// Name returns the name for display.
func (e Event[E]) Name() string    { return e.h.name }
func (e Event[E]) String() string  { return e.h.name }
func (e Event[E]) handle() *handle { return e.h }

// On calls f for each event until c's scope ends. After the fiber unloaded f
// does not run and will not run. f may emit, register and dispose; to wait
// for something it passes on the context that it gets.
func (e Event[E]) On(c *Context, f func(ctx context.Context, v E) error, opts ...ListenOption) error {
	return c.listen(e.h, f, false, opts)
}

// Once is On for at most one event: of several at the same time, one.
func (e Event[E]) Once(c *Context, f func(ctx context.Context, v E) error, opts ...ListenOption) error {
	return c.listen(e.h, f, true, opts)
}

// Emit calls the listeners one after the other and returns their errors,
// joined in that order. An error or a panic of one does not stop the others.
// A listener that is added meanwhile is not called, one that is removed is
// skipped. ctx is a [Context] or derived from one, else it is [ErrNoHost].
func (e Event[E]) Emit(ctx context.Context, v E) error {
	d, err := dispatchOf(ctx, e.h)
	if err != nil {
		return err
	}
	var errs []error
	for i, l := range d.listeners {
		if err := tell(l, &d.contexts[i], v); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Parallel is Emit with all listeners called at the same time; it waits for
// all of them.
func (e Event[E]) Parallel(ctx context.Context, v E) error {
	d, err := dispatchOf(ctx, e.h)
	if err != nil || len(d.listeners) == 0 {
		return err
	}
	errs := make([]error, len(d.listeners))
	done := make(chan struct{})
	var running atomic.Int64
	running.Store(int64(len(d.listeners)))
	for i, l := range d.listeners {
		d.host.spawn(func() {
			errs[i] = tell(l, &d.contexts[i], v)
			if running.Add(-1) == 0 {
				close(done)
			}
		})
	}
	d.host.block(done, nil, nil, 0)
	return errors.Join(errs...)
}

func tell[E any](l *listener, ctx *frameCtx, v E) (err error) {
	if !l.enter() {
		return nil
	}
	defer l.exit(&err)
	return l.fn.(func(context.Context, E) error)(ctx, v)
}
