package core

import (
	"context"
	"sync/atomic"
	"time"
)

// An activation is one run of a fiber's plugin, from Loading to the end of
// Unloading. What the plugin registers hangs below its root node.
type activation struct {
	fiber *Fiber
	scope Context // what Apply gets
	root  node
	seq   uint64 // increases with each activation of the host
	phase atomic.Int32
	begun time.Time

	ctx    context.Context
	cancel context.CancelCauseFunc

	bindings []binding // fixed at the start

	// guarded by the host's lock
	config          any    // applied
	revision, nonce uint64 // of what is applied
	provisions      []*provision
	lingering       []*node // removed while calls were inside
	revoked         bool    // a provision that it is bound to goes
	restart         bool    // Reconfigure asked for it
	failure         error   // of Apply or a goroutine
	backoff         *Backoff
	waitOn          string        // what the teardown waits for, for messages
	ended           chan struct{} // closed after the last undo; made when someone waits
}

// Phases of an activation. Readers without the lock see them too.
const (
	phaseLoading int32 = iota // accepts; its services are seen below only
	phaseActive
	phaseClosing // accepts nothing
	phaseGone
)

// newActivation binds what is there and starts nothing. The lock is held.
func (f *Fiber) newActivation() *activation {
	h := f.host
	h.seq++
	act := &activation{
		fiber: f, seq: h.seq, begun: time.Now(), config: f.config, revision: f.revision, nonce: f.nonce,
	}
	act.ctx, act.cancel = context.WithCancelCause(context.Background())
	act.root = node{act: act, label: "apply", state: nodeLive}
	base := f.base
	act.scope.frame = act.root.call(nil)
	act.scope.parent, act.scope.isolated, act.scope.values = base, base.isolated, base.values
	if f.parent == nil {
		act.scope.parent = nil
	}
	if len(f.deps) > 0 {
		act.bindings = make([]binding, len(f.deps))
	}
	for i := range f.deps {
		d, b := &f.deps[i], &act.bindings[i]
		b.act, b.realm, b.mode = act, d.realm, d.mode
		if p := d.resolve(); p != nil && d.mode != optional {
			p.bind(b)
		}
	}
	return act
}

// accepts reports whether registrations are still taken.
func (act *activation) accepts() bool { return act.phase.Load() < phaseClosing }

// outdated reports whether the activation has to end for a reason other than
// a new config.
func (act *activation) outdated() bool {
	f := act.fiber
	if !f.mounted || act.revoked || act.restart || act.failure != nil || act.nonce != f.nonce {
		return true
	}
	for i := range act.bindings {
		b := &act.bindings[i]
		if b.mode != restarting || b.prov != nil {
			continue
		}
		if p := f.deps[i].resolve(); p != nil && !p.act.restsOn(act) {
			return true
		}
	}
	return false
}

// restsOn reports whether act would end with the other one, because it or
// something around it is bound to it. Restarting for the sake of such a
// service would take it away again, without end.
func (act *activation) restsOn(other *activation) bool {
	for i := range act.bindings {
		p := act.bindings[i].prov
		if p != nil && (p.act == other || p.act.restsOn(other)) {
			return true
		}
	}
	parent := act.fiber.parent
	return parent != nil && parent.act != nil && (parent.act == other || parent.act.restsOn(other))
}

// stale reports whether a load of this activation is no longer wanted.
func (act *activation) stale() bool {
	return act.outdated() || act.revision != act.fiber.revision
}

// cause is why the activation's context is cancelled.
func (act *activation) cause() error {
	switch {
	case !act.fiber.mounted:
		return ErrDisposed
	case act.failure != nil || act.revoked:
		return ErrUnloaded
	default:
		return ErrReloading
	}
}

// boundTo lists the provisions of the bindings, nil where there is none.
func (act *activation) boundTo() []*provision {
	ps := make([]*provision, len(act.bindings))
	for i := range act.bindings {
		ps[i] = act.bindings[i].prov
	}
	return ps
}

// lastUser returns the activation bound to one of this one's services that
// was activated last.
func (act *activation) lastUser() *activation {
	var last *activation
	for _, p := range act.provisions {
		if b := p.lastUser; b != nil && (last == nil || b.act.seq > last.seq) {
			last = b.act
		}
	}
	return last
}

// end releases the providers, after the end was published: to them a consumer
// is there until then. The lock is held.
func (act *activation) end() {
	for i := range act.bindings {
		act.bindings[i].release()
	}
	if act.ended != nil {
		close(act.ended)
	}
}

// whenEnded is called with the lock held while the activation is not over.
func (act *activation) whenEnded() <-chan struct{} {
	if act.ended == nil {
		act.ended = make(chan struct{})
	}
	return act.ended
}
