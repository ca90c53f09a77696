package core

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
)

// Handler runs a call that is known to be well formed. Inside of the decision
// (order above [DecisionOrder]) the arguments are read only.
type Handler func(ctx context.Context, call *Invocation) Result

// Middleware wraps the execution of all tools. The handler that it returns
// calls next at most once, with the call that it was given; not calling it
// answers in the tool's place.
type Middleware func(next Handler) Handler

// DecisionOrder is where among the middlewares it is decided whether a call
// may run: those with a smaller order see calls that are refused, too.
const DecisionOrder = -100

// toolWraps is the ordered list of middlewares.
var toolWraps = &handle{name: "tool middleware"}

// Use adds a middleware until the context's scope ends. A smaller order is
// further out; equal ones stand in the order of their entries and then of
// registration. A panic in it fails the call and names the plugin.
func (t *Tools) Use(order int, m Middleware) error {
	return t.c.listen(toolWraps, m, false, []ListenOption{Order(order)})
}

// A wrapChain is the composition of one list of middlewares. Composing calls
// plugin code and is done once for a list.
type wrapChain struct {
	list   *[]*listener
	first  Handler
	layers int
}

// chains keeps the last composition.
type chains struct {
	last atomic.Pointer[wrapChain]
}

// chain returns the composed middlewares around decide and run.
func (h *Host) chain() *wrapChain {
	list := h.snapshot(toolWraps)
	if c := h.tools.chains.last.Load(); c != nil && c.list == list {
		return c
	}
	c := &wrapChain{list: list, first: runStep}
	decided := false
	if list != nil {
		c.layers = len(*list)
		for i := c.layers - 1; i >= 0; i-- {
			l := (*list)[i]
			if !decided && l.order < DecisionOrder {
				c.first, decided = decideStep(c.first), true
			}
			c.first = l.wrap(i, c.first)
		}
	}
	if !decided {
		c.first = decideStep(c.first)
	}
	h.tools.chains.last.Store(c)
	return c
}

// wrap makes the i-th layer: a gate, a recover boundary, and a next that can
// be called once.
func (l *listener) wrap(i int, next Handler) Handler {
	once := func(ctx context.Context, inv *Invocation) Result {
		if inv == nil || inv.run == nil {
			return failedResult(CodeFailed, "", "a middleware did not pass on the call that it was given", nil)
		}
		if inv.run.nexts[i].Add(1) > 1 {
			return failedResult(CodeFailed, inv.Name, l.nextTwice().Error(), l.nextTwice())
		}
		return next(ctx, inv)
	}
	var inner Handler
	build := l.act.fiber.guard("", &l.node, func() error { inner = l.fn.(Middleware)(once); return nil })
	return func(ctx context.Context, inv *Invocation) Result {
		call, ok := l.gate.share(ctx, &l.node, inv.run.x.interrupt)
		if !ok {
			return next(ctx, inv)
		}
		defer call.leave()
		result, err := l.through(call, inv, inner, build)
		if err == nil && inv.run.nexts[i].Load() > 1 {
			err = l.nextTwice()
		}
		if err != nil {
			r := failedResult(CodeFailed, inv.Name, err.Error(), err)
			if errors.As(err, new(*PanicError)) {
				r.Err.Code = CodePanicked
			}
			r.Err.Plugin = l.act.fiber.Path()
			return r
		}
		return result
	}
}

func (l *listener) through(
	ctx context.Context, inv *Invocation, inner Handler, build error,
) (r Result, err error) {
	if build != nil {
		return r, build
	}
	if inner == nil {
		return r, fmt.Errorf("%s: %s: the middleware made no handler", l.act.fiber.Path(), &l.node)
	}
	err = l.act.fiber.guard("", &l.node, func() error { r = inner(ctx, inv); return nil })
	return r, err
}

func (l *listener) nextTwice() error {
	return fmt.Errorf("%s: %s: %w", l.act.fiber.Path(), &l.node, ErrNextTwice)
}
