package core

import (
	"context"
	"errors"
	"reflect"
	"runtime"
	"strings"
	"time"
)

// GoOption changes how a goroutine started by [Context.Go] is supervised.
type GoOption func(*goroutine)

// Backoff says how long to wait before a fiber is tried again: Min, then
// twice as long each time, up to Max. The zero value is 1 s to 1 min. It
// starts over after an activation that lasted longer than Max.
type Backoff struct {
	Min, Max time.Duration
}

func (b Backoff) delay(attempt int) time.Duration {
	if b.Min <= 0 {
		b.Min = time.Second
	}
	d, limit := b.Min, b.limit()
	for ; attempt > 0 && d < limit; attempt-- {
		d *= 2
	}
	return min(d, limit)
}

func (b Backoff) limit() time.Duration {
	if b.Max <= 0 {
		return max(b.Min, time.Minute)
	}
	return b.Max
}

// RestartOnError restarts the fiber after a while when the goroutine fails,
// instead of leaving it Failed.
func RestartOnError(b Backoff) GoOption {
	return func(g *goroutine) { g.retry = &b }
}

// goroutine is a supervised goroutine.
type goroutine struct {
	node
	f      func(context.Context) error
	retry  *Backoff
	ctx    frameCtx
	cancel context.CancelCauseFunc
	exited chan struct{}
	lost   error // set when abandoned; guarded by the host's lock
}

// Go runs f in a goroutine that belongs to the activation: on unload its
// context is cancelled, and it is waited for within a grace, then a second
// one, then abandoned and reported by name with its stack. An error or a
// panic fails the fiber, unless the goroutine was already told to end.
func (c *Context) Go(name string, f func(context.Context) error, opts ...GoOption) error {
	g := &goroutine{f: f, exited: make(chan struct{})}
	g.kind, g.label, g.state, g.part = KindGoroutine, name, nodeLive, g
	for _, opt := range opts {
		opt(g)
	}
	g.act = c.act
	g.ctx.frame = g.call(nil)
	g.ctx.Context, g.cancel = context.WithCancelCause(c)
	if err := c.register(&g.node); err != nil {
		g.cancel(err)
		return err
	}
	c.host.spawn(g.run)
	return nil
}

func (g *goroutine) run() {
	err := errGoexit
	defer func() { g.finished(err) }()
	g.act.fiber.host.yield("goroutine")
	err = g.act.fiber.guard("", &g.node, func() error { return g.f(&g.ctx) })
}

// finished takes note of the end, and of the failure unless the goroutine was
// told to end.
func (g *goroutine) finished(err error) {
	told := g.ctx.Err() != nil
	g.cancel(nil)
	fiber := g.act.fiber
	fiber.host.mu.Lock()
	defer fiber.host.mu.Unlock()
	close(g.exited)
	if g.state == nodeLive {
		g.finish(nil)
	}
	var p *PanicError
	if err == nil || told && !errors.As(err, &p) {
		return
	}
	fiber.fail(g.act, err, g.retry)
}

// end cancels the goroutine and waits for it; part of a scope that ends, or
// of a teardown, in which case it has mostly ended already.
func (g *goroutine) end(h *Host) error {
	g.cancel(ErrUnloaded)
	return h.join([]*goroutine{g})
}

func (g *goroutine) leave(*Host) {}

// join waits for goroutines that were told to end, up to twice the grace for
// all of them together. The lock is held on entry and on return.
func (h *Host) join(gs []*goroutine) error {
	var lost []error
	deadline := time.Now().Add(h.opts.Grace)
	second := deadline.Add(h.opts.Grace)
	for _, g := range gs {
		if g.lost != nil {
			continue
		}
		g.act.waitOn = g.node.String()
		h.mu.Unlock()
		ended := h.blockUntil(g.exited, deadline)
		if !ended {
			g.act.fiber.logger().Warn("goroutine does not end", "goroutine", g.label)
			ended = h.blockUntil(g.exited, second)
		}
		if !ended {
			g.act.fiber.logger().Error("goroutine abandoned", "goroutine", g.label, "stack", stacksOf(g.f))
		}
		h.mu.Lock()
		g.act.waitOn = ""
		if !ended {
			g.lost = &AbandonedError{g.act.fiber.path(), g.node.String()}
			lost = append(lost, g.lost)
		}
	}
	return errors.Join(lost...)
}

// stacksOf returns the stacks of the goroutines in which f is running.
func stacksOf(f func(context.Context) error) string {
	name := runtime.FuncForPC(reflect.ValueOf(f).Pointer()).Name()
	buf := make([]byte, 1<<20)
	buf = buf[:runtime.Stack(buf, true)]
	var found []string
	for s := range strings.SplitSeq(string(buf), "\n\n") {
		if strings.Contains(s, name+"(") {
			found = append(found, s)
		}
	}
	return strings.Join(found, "\n\n")
}
