package core

import (
	"context"
	"errors"
	"fmt"
)

// Kinds of effects, as Effects lists them.
const (
	KindEffect    = "effect"
	KindScope     = "scope"
	KindListener  = "listener"
	KindService   = "service"
	KindGoroutine = "goroutine"
	KindPlugin    = "plugin"
	KindTool      = "tool"
	KindPrompt    = "prompt"
	KindResource  = "resource"
)

// A node is one registration in the tree of an activation, and for the tree's
// root the activation itself. The lists are intrusive, so that an early stop
// costs the same wherever the node stands. The host's lock guards all of it.
//
// For other registries of this package (tools): build a node with kind,
// label, undo and perhaps gate, and register it with Context.register. From
// then on teardown closes the gate, waits for the calls inside, and runs
// undo at the node's place in the order.
type node struct {
	act        *activation
	parent     *node
	prev, next *node // siblings, in order of registration
	first      *node
	last       *node

	kind  string
	label string
	state nodeState
	moved *node // registrations go there; set when a reconfiguration was accepted

	undo func(context.Context) error // plugin code; may be nil
	gate *gate                       // calls that teardown waits for; may be nil
	part part                        // may be nil

	doomed bool          // starting, and to be undone as soon as it has started
	err    error         // of the undo, once gone
	done   chan struct{} // closed when gone; made when someone waits
}

// A part is what a node stands for beyond an undo function.
type part interface {
	// end does what comes before the node's children are undone. The lock is
	// held on entry and on return, but may be released in between.
	end(h *Host) error
	// leave takes the part off the host's tables; the lock is held throughout.
	leave(h *Host)
}

type nodeState int

const (
	nodeStarting nodeState = iota // its start is running
	nodeLive
	nodeStopping // claimed by the one who dismantles it
	nodeGone
)

// EffectInfo describes one registration of a fiber.
type EffectInfo struct {
	Kind     string
	Label    string
	Children []EffectInfo
}

// target follows accepted reconfigurations.
func (n *node) target() *node {
	for n.moved != nil {
		n = n.moved
	}
	return n
}

// closing reports whether n or a node around it is being undone.
func (n *node) closing() bool {
	for ; n != nil; n = n.parent {
		if n.doomed || n.state >= nodeStopping {
			return true
		}
	}
	return false
}

// within reports whether n is m or below it.
func (n *node) within(m *node) bool {
	for ; n != nil; n = n.parent {
		if n == m {
			return true
		}
	}
	return false
}

func (n *node) append(c *node) {
	c.act, c.parent = n.act, n
	c.prev, c.next = n.last, nil
	if n.last != nil {
		n.last.next = c
	} else {
		n.first = c
	}
	n.last = c
}

func (n *node) detach() {
	p := n.parent
	if p == nil {
		return
	}
	if n.prev != nil {
		n.prev.next = n.next
	} else {
		p.first = n.next
	}
	if n.next != nil {
		n.next.prev = n.prev
	} else {
		p.last = n.prev
	}
	n.parent, n.prev, n.next = nil, nil, nil
}

// walk calls f for every node below n, in order of registration.
func (n *node) walk(f func(*node)) {
	for c := n.first; c != nil; c = c.next {
		f(c)
		c.walk(f)
	}
}

func (n *node) infos() []EffectInfo {
	var infos []EffectInfo
	for c := n.first; c != nil; c = c.next {
		infos = append(infos, EffectInfo{c.kind, c.label, c.infos()})
	}
	return infos
}

// ended returns a channel that is closed when n is gone.
func (n *node) ended() <-chan struct{} {
	if n.done == nil {
		n.done = make(chan struct{})
		if n.state == nodeGone {
			close(n.done)
		}
	}
	return n.done
}

// String names the node in messages.
func (n *node) String() string {
	if n.label == "" {
		return n.kind
	}
	return fmt.Sprintf("%s %q", n.kind, n.label)
}

// register puts n into the tree at c's scope.
func (c *Context) register(n *node) error {
	c.host.mu.Lock()
	defer c.host.mu.Unlock()
	return c.registerLocked(n)
}

func (c *Context) registerLocked(n *node) error {
	parent, err := c.admit()
	if err != nil {
		return err
	}
	parent.append(n)
	return nil
}

// stop ends n on behalf of a caller, who waits unless that would be for
// itself.
func (h *Host) stop(ctx context.Context, n *node) error {
	h.mu.Lock()
	t := target{node: n}
	switch n.state {
	case nodeGone:
		defer h.mu.Unlock()
		return n.err
	case nodeStarting:
		n.doomed = true
	case nodeLive:
		turn, undoing := n.turn()
		if undoing && !h.heldUpBy(ctx, turn) {
			t = turn
			break
		}
		n.state = nodeStopping
		h.spawn(func() { h.stopNow(n) })
	}
	if err := h.await(ctx, t, n.ended()); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return n.err
}

// turn returns what is being undone around n, if anything is: n's turn then
// comes in the course of that, and is not to be taken before. Only a call
// that this undoing waits for gets n stopped in between.
func (n *node) turn() (t target, undoing bool) {
	if !n.act.accepts() {
		return target{fiber: n.act.fiber, dispose: true}, true
	}
	for p := n.parent; p != nil; p = p.parent {
		if p.doomed || p.state >= nodeStopping {
			t, undoing = target{node: p}, true
		}
	}
	return t, undoing
}

// heldUpBy reports whether t waits for the call of ctx.
func (h *Host) heldUpBy(ctx context.Context, t target) bool {
	fr := frameOf(ctx)
	return fr != nil && h.dependsOn(t, fr)
}

func (h *Host) stopNow(n *node) {
	stop := h.watchNode(n)
	defer stop()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.dismantle(n)
}

// end dismantles n in the course of a teardown, or waits for whoever is
// doing that already. The lock is held on entry and on return.
func (h *Host) end(n *node) error {
	switch n.state {
	case nodeLive:
		n.state = nodeStopping
		return h.dismantle(n)
	case nodeStarting:
		n.doomed = true
	}
	done := n.ended()
	h.mu.Unlock()
	h.block(done, nil, nil, 0)
	h.mu.Lock()
	return n.err
}

// dismantle undoes a node that the caller has claimed: what it contains last
// in first out, then itself. The lock is held on entry and on return.
func (h *Host) dismantle(n *node) error {
	var errs []error
	if n.part != nil {
		errs = append(errs, n.part.end(h))
	}
	if n.gate != nil {
		n.gate.shut()
	}
	errs = append(errs, h.endChildren(n))
	if n.undo != nil {
		h.mu.Unlock()
		err := h.runUndo(n)
		h.mu.Lock()
		errs = append(errs, err)
	}
	if n.part != nil {
		n.part.leave(h)
	}
	n.act.linger(n)
	n.finish(errors.Join(errs...))
	return n.err
}

// endChildren undoes what n contains, strictly one after the other.
func (h *Host) endChildren(n *node) error {
	h.quiesce(n)
	var errs []error
	for n.last != nil {
		errs = append(errs, h.end(n.last))
	}
	return errors.Join(errs...)
}

// quiesce waits for those nodes below n that somebody is ending already, so
// that no two undos run at the same time.
func (h *Host) quiesce(n *node) {
	for busy := n.ending(); busy != nil; busy = n.ending() {
		done := busy.ended()
		h.mu.Unlock()
		h.block(done, nil, nil, 0)
		h.mu.Lock()
	}
}

// ending returns a node below n that is being ended.
func (n *node) ending() *node {
	for c := n.first; c != nil; c = c.next {
		if c.state == nodeStopping {
			return c
		}
		if busy := c.ending(); busy != nil {
			return busy
		}
	}
	return nil
}

// finish ends a node; repeating it changes nothing.
func (n *node) finish(err error) {
	if n.state == nodeGone {
		return
	}
	n.detach()
	n.state, n.err = nodeGone, err
	if n.done != nil {
		close(n.done)
	}
}
