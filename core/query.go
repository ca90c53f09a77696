package core

import (
	"context"
	"errors"
)

// A Query is the handle of a question: the first listener that has an answer
// gives it.
type Query[In, Out any] struct {
	h *handle
}

// NewQuery makes a handle; usually in a package-level variable.
func NewQuery[In, Out any](name string) Query[In, Out] { return Query[In, Out]{&handle{name: name}} }

// Name returns the name for display.
func (q Query[In, Out]) Name() string    { return q.h.name }
func (q Query[In, Out]) String() string  { return q.h.name }
func (q Query[In, Out]) handle() *handle { return q.h }

// On answers until c's scope ends. f returns false to leave the question to
// the next listener.
func (q Query[In, Out]) On(
	c *Context, f func(ctx context.Context, in In) (Out, bool, error), opts ...ListenOption,
) error {
	return c.listen(q.h, f, false, opts)
}

// Bail asks the listeners in order and stops at the first answer; it is false
// if there is none. One that fails or panics counts as having no answer: the
// others are still asked, and the error is returned beside their answer. A
// caller for whom a silent listener is a danger looks at the error first.
func (q Query[In, Out]) Bail(ctx context.Context, in In) (Out, bool, error) {
	var none Out
	d, err := dispatchOf(ctx, q.h)
	if err != nil {
		return none, false, err
	}
	var errs []error
	for i, l := range d.listeners {
		out, ok, err := ask[In, Out](l, &d.contexts[i], in)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if ok {
			return out, true, errors.Join(errs...)
		}
	}
	return none, false, errors.Join(errs...)
}

// All asks every listener and returns the answers in order. Errors of those
// that fail or panic are joined and returned beside them.
func (q Query[In, Out]) All(ctx context.Context, in In) ([]Out, error) {
	d, err := dispatchOf(ctx, q.h)
	if err != nil {
		return nil, err
	}
	var answers []Out
	var errs []error
	for i, l := range d.listeners {
		out, ok, err := ask[In, Out](l, &d.contexts[i], in)
		if ok && err == nil {
			answers = append(answers, out)
		}
		errs = append(errs, err)
	}
	return answers, errors.Join(errs...)
}

// Heard reports whether anybody listens.
func (q Query[In, Out]) Heard(ctx context.Context) bool {
	fr := frameOf(ctx)
	return fr != nil && fr.host.listened(q.h)
}

func ask[In, Out any](l *listener, ctx *frameCtx, in In) (out Out, ok bool, err error) {
	if !l.enter() {
		return out, false, nil
	}
	defer l.exit(&err)
	return l.fn.(func(context.Context, In) (Out, bool, error))(ctx, in)
}
