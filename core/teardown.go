package core

import (
	"errors"
	"log/slog"
	"slices"
	"time"
)

// teardown undoes an activation that accepts nothing any more:
//
//	its consumers unload, last activated first
//	the gates of listeners, leases and tools close, and empty within a grace
//	the activation's context is cancelled
//	its goroutines end
//	its effects are undone, last in first out
//
// The lock is held on entry and on return.
func (h *Host) teardown(act *activation) error {
	h.revoke(act.lastUser, act)
	gated := slices.Clone(act.lingering)
	var gs []*goroutine
	act.root.walk(func(n *node) {
		if n.gate != nil {
			gated = append(gated, n)
		}
		if g, ok := n.part.(*goroutine); ok {
			gs = append(gs, g)
		}
	})
	late := h.close(act, gated)
	act.cancel(act.cause())
	errs := []error{h.join(gs), h.abandon(act, late)}
	errs = append(errs, h.endChildren(&act.root))
	return errors.Join(errs...)
}

// revoke unloads the consumers that next names, one after the other, each
// completely.
func (h *Host) revoke(next func() *activation, provider *activation) {
	for c := next(); c != nil; c = next() {
		c.revoked = true
		ended := c.whenEnded()
		h.kick(c.fiber)
		provider.waitOn = "consumer " + c.fiber.path()
		h.mu.Unlock()
		h.block(ended, nil, nil, 0)
		h.mu.Lock()
		provider.waitOn = ""
	}
}

// linger remembers a node that was removed while calls were inside, for the
// teardown to wait for them. The lock is held.
func (act *activation) linger(n *node) {
	if n.gate == nil || n.gate.lost || n.gate.empty() || !act.accepts() {
		return
	}
	act.lingering = slices.DeleteFunc(act.lingering, func(m *node) bool { return m.gate.empty() })
	act.lingering = append(act.lingering, n)
}

// drain closes gates and waits for the calls inside, for two graces.
func (h *Host) drain(act *activation, gated []*node) error {
	return h.abandon(act, h.close(act, gated))
}

// close closes gates and waits for the calls inside. It returns the nodes
// whose calls outlived the grace, after telling these calls to end.
func (h *Host) close(act *activation, gated []*node) (late []*node) {
	for _, n := range gated {
		n.gate.shut()
	}
	deadline := time.Now().Add(h.opts.Grace)
	for _, n := range gated {
		if n.gate.lost || h.empty(act, n, deadline) {
			continue
		}
		n.gate.interrupt()
		late = append(late, n)
	}
	return late
}

// abandon waits another grace for calls that were told to end, then reports
// and forgets them.
func (h *Host) abandon(act *activation, late []*node) error {
	var errs []error
	deadline := time.Now().Add(h.opts.Grace)
	for _, n := range late {
		if h.empty(act, n, deadline) {
			continue
		}
		n.gate.lost = true
		err := &AbandonedError{act.fiber.path(), "call of " + n.String()}
		act.fiber.say(slog.LevelError, "call abandoned", "of", n.String())
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// empty waits until no call is inside n's gate.
func (h *Host) empty(act *activation, n *node, deadline time.Time) bool {
	idle := n.gate.shut()
	select {
	case <-idle:
		return true
	default:
	}
	act.waitOn = "call of " + n.String()
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		act.waitOn = ""
	}()
	return h.blockUntil(idle, deadline)
}
