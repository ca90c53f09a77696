package core

import (
	"context"
	"fmt"
	"sync/atomic"
)

// A Hook is the handle of an operation that listeners wrap, like middleware.
type Hook[In, Out any] struct {
	h *handle
}

// A HookOption is an option of [NewHook].
type HookOption func(*handle)

// LogShortCircuit has it logged when a listener returns without calling next:
// who it was and how many listeners were skipped.
func LogShortCircuit() HookOption { return func(k *handle) { k.logged = true } }

// NewHook makes a handle; usually in a package-level variable.
func NewHook[In, Out any](name string, opts ...HookOption) Hook[In, Out] {
	k := &handle{name: name}
	for _, o := range opts {
		o(k)
	}
	return Hook[In, Out]{k}
}

// Name returns the name for display.
func (k Hook[In, Out]) Name() string    { return k.h.name }
func (k Hook[In, Out]) String() string  { return k.h.name }
func (k Hook[In, Out]) handle() *handle { return k.h }

// Around wraps the operation until c's scope ends. f calls next at most once,
// with the context and the value that those further in are to see; not
// calling it answers in their place.
func (k Hook[In, Out]) Around(
	c *Context,
	f func(ctx context.Context, in In, next func(context.Context, In) (Out, error)) (Out, error),
	opts ...ListenOption,
) error {
	return c.listen(k.h, f, false, opts)
}

// Run calls the listeners, the first outermost, around final. A panic in one
// becomes the error of its next's caller, and so does one in final. Calling
// next a second time is [ErrNextTwice].
func (k Hook[In, Out]) Run(
	ctx context.Context, in In, final func(context.Context, In) (Out, error),
) (Out, error) {
	fr := frameOf(ctx)
	if fr == nil {
		var none Out
		return none, ErrNoHost
	}
	list := fr.host.snapshot(k.h)
	if list == nil {
		return final(ctx, in)
	}
	r := &hookRun[In, Out]{k: k.h, host: fr.host, final: final}
	r.layers = make([]hookLayer, len(*list))
	for i, l := range *list {
		r.layers[i].l = l
	}
	return r.call(ctx, in, 0)
}

// hookRun is one Run.
type hookRun[In, Out any] struct {
	k      *handle
	host   *Host
	layers []hookLayer
	final  func(context.Context, In) (Out, error)
}

type hookLayer struct {
	frameCtx
	l    *listener
	next atomic.Int32 // calls of next
}

// call runs the layers from i on.
func (r *hookRun[In, Out]) call(ctx context.Context, in In, i int) (Out, error) {
	for ; i < len(r.layers); i++ {
		if r.layers[i].l.enter() {
			return r.run(ctx, in, i)
		}
	}
	return r.finish(ctx, in)
}

func (r *hookRun[In, Out]) run(ctx context.Context, in In, i int) (out Out, err error) {
	y := &r.layers[i]
	defer y.l.exit(&err)
	y.frameCtx = frameCtx{ctx, y.l.call(frameOf(ctx))}
	f := y.l.fn.(func(context.Context, In, func(context.Context, In) (Out, error)) (Out, error))
	out, err = f(y, in, func(ctx context.Context, in In) (Out, error) {
		if y.next.Add(1) > 1 {
			var none Out
			return none, fmt.Errorf("%s: %s: %w", y.l.act.fiber.Path(), &y.l.node, ErrNextTwice)
		}
		return r.call(ctx, in, i+1)
	})
	if n := y.next.Load(); n > 1 && err == nil {
		err = fmt.Errorf("%s: %s: %w", y.l.act.fiber.Path(), &y.l.node, ErrNextTwice)
	} else if n == 0 && r.k.logged {
		r.logShort(i, err)
	}
	return out, err
}

func (r *hookRun[In, Out]) logShort(i int, err error) {
	l := r.layers[i].l
	l.act.fiber.logger().Info("hook ended early", "hook", r.k.name,
		"skipped", len(r.layers)-i-1, "err", err)
}

// finish calls final, whose panic is not to be blamed on a listener.
func (r *hookRun[In, Out]) finish(ctx context.Context, in In) (out Out, err error) {
	defer func() {
		if v := recover(); v != nil {
			caller := frameOf(ctx)
			err = caller.fiber.panicked(fmt.Sprintf("end of hook %q", r.k.name), nil, v)
		}
	}()
	return r.final(ctx, in)
}
