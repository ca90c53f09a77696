package core

import (
	"context"
	"slices"
)

// A target is something that a caller waits for: the end of a node, or that
// a fiber is at rest, disposed or active.
type target struct {
	node    *node
	fiber   *Fiber
	dispose bool
	ready   bool
}

// A wait is a caller, known by its frames, that is blocked on a target.
type wait struct {
	frame  *frame
	target target
	circle chan struct{} // closed when the wait has become part of a circle
}

// await blocks until done is closed, on behalf of the call that ctx belongs
// to. It refuses with ErrSelfWait when done depends on that call, now or in
// the course of things. The lock is held on entry and released.
func (h *Host) await(ctx context.Context, t target, done <-chan struct{}) error {
	var w *wait
	var circle chan struct{}
	if fr := frameOf(ctx); fr != nil && fr.host == h {
		if h.dependsOn(t, fr) {
			h.mu.Unlock()
			return ErrSelfWait
		}
		circle = make(chan struct{})
		w = &wait{fr, t, circle}
		h.waits = append(h.waits, w)
	}
	h.mu.Unlock()
	o := h.block(done, ctx.Done(), circle, 0)
	if w != nil {
		h.mu.Lock()
		h.waits = slices.DeleteFunc(h.waits, func(x *wait) bool { return x == w })
		h.mu.Unlock()
	}
	switch o {
	case waitDone:
		return nil
	case waitCircle:
		return ErrSelfWait
	}
	return h.stuckError(ctx, t)
}

func (h *Host) stuckError(ctx context.Context, t target) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	var f *Fiber
	var what string
	if t.node != nil {
		f, what = t.node.stuck()
	} else {
		f, what = t.fiber.stuck()
	}
	return &StuckError{f.path(), what, context.Cause(ctx)}
}

// recheck fails the waits that a new step has made part of a circle. The
// lock is held.
func (h *Host) recheck() {
	for _, w := range h.waits {
		if w.circle != nil && h.dependsOn(w.target, w.frame) {
			close(w.circle)
			w.circle = nil
		}
	}
}

// dependsOn reports whether t can't be reached while the call of fr is
// blocked: whether fr is among the calls that t waits for, directly, or over
// calls that are blocked on something else.
func (h *Host) dependsOn(t target, fr *frame) bool {
	var r reach
	r.add(t)
	for again := true; again; {
		again = false
		for _, w := range h.waits {
			if w.frame != fr && w.circle != nil && !r.has(w) && r.waitsFor(w.frame) {
				r.followed = append(r.followed, w)
				r.add(w.target)
				again = true
			}
		}
	}
	return r.waitsFor(fr)
}

// reach is the set of things that a target waits for.
type reach struct {
	followed []*wait
	drivers  []*Fiber      // at rest
	starting []*activation // the end of Apply or Reconfigure
	ending   []*activation // the end of everything
	nodes    []*node       // ends of single nodes
}

func (r *reach) has(w *wait) bool { return slices.Contains(r.followed, w) }

func (r *reach) add(t target) {
	switch {
	case t.node != nil:
		r.addNode(t.node)
	case t.fiber.act == nil:
		r.drivers = append(r.drivers, t.fiber)
	case t.dispose || t.fiber.tearing():
		r.addEnd(t.fiber)
	default:
		r.drivers = append(r.drivers, t.fiber)
		r.starting = append(r.starting, t.fiber.act)
	}
	if t.ready {
		r.addMissing(t.fiber)
	}
}

// tearing reports whether f's activation is being undone or is about to be.
func (f *Fiber) tearing() bool {
	return f.state == Unloading || f.nextActive() == stepUnload
}

// addEnd adds the end of f's activation: of all of its calls, children and
// consumers.
func (r *reach) addEnd(f *Fiber) {
	if f.act == nil || slices.Contains(r.ending, f.act) {
		r.drivers = append(r.drivers, f)
		return
	}
	r.drivers = append(r.drivers, f)
	r.ending = append(r.ending, f.act)
	for _, c := range f.children() {
		r.addEnd(c)
	}
	for _, p := range f.act.provisions {
		r.addUsers(p)
	}
}

func (r *reach) addUsers(p *provision) {
	for b := p.lastUser; b != nil; b = b.prev {
		r.addEnd(b.act.fiber)
	}
}

func (r *reach) addNode(n *node) {
	r.nodes = append(r.nodes, n)
	visit := func(n *node) {
		switch p := n.part.(type) {
		case *Fiber:
			r.addEnd(p)
		case *provision:
			r.addUsers(p)
		}
	}
	visit(n)
	n.walk(visit)
}

// addMissing adds the loads that may bring what f lacks.
func (r *reach) addMissing(f *Fiber) {
	for i := range f.deps {
		if f.deps[i].mode != required || f.deps[i].resolve() != nil {
			continue
		}
		for _, g := range f.deps[i].realm.declarers {
			if g.state == Loading {
				r.drivers = append(r.drivers, g)
				r.starting = append(r.starting, g.act)
			}
		}
	}
}

// waitsFor reports whether fr, or a call that fr's call holds up, is in the set.
func (r *reach) waitsFor(fr *frame) bool {
	for ; fr != nil; fr = fr.caller {
		if r.includes(fr) {
			return true
		}
	}
	return false
}

func (r *reach) includes(fr *frame) bool {
	if fr.act == nil {
		return slices.Contains(r.drivers, fr.fiber)
	}
	if slices.Contains(r.ending, fr.act) {
		return true
	}
	if slices.Contains(r.starting, fr.act) {
		return !fr.node.independent()
	}
	for _, n := range r.nodes {
		if fr.node.within(n) && fr.node.kind != KindListener && fr.node.kind != KindTool {
			return true
		}
	}
	return false
}

// independent reports whether calls of n run beside Apply and Reconfigure,
// which do not wait for them.
func (n *node) independent() bool {
	switch n.kind {
	case KindListener, KindTool, KindService, KindGoroutine:
		return true
	}
	return false
}
