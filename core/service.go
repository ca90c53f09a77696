package core

import (
	"context"
	"fmt"
	"sync/atomic"
)

// A Service is the handle of a service of type T: its identity, and how to
// provide and get it. Make it once, in a package-level variable. A Service is
// also a [Need], a required one.
type Service[T any] struct {
	h *handle
}

// NewService makes a handle. The name is for display; identity is the handle.
func NewService[T any](name string) Service[T] {
	return Service[T]{&handle{name: name}}
}

// Name returns the name for display.
func (s Service[T]) Name() string    { return s.h.name }
func (s Service[T]) String() string  { return s.h.name }
func (s Service[T]) handle() *handle { return s.h }
func (s Service[T]) mode() needMode  { return required }

// Need returns the service as a required need, like the handle itself.
func (s Service[T]) Need() Need { return need{s.h, required} }

// Optional returns the service as a need that does not block the start.
func (s Service[T]) Optional() OptionalNeed { return OptionalNeed{need{s.h, optional}} }

// Provide makes v the service in c's realm. The fiber and its descendants see
// it at once, others while the fiber is Active. There is one provider in a
// realm: a second one gets a [*ConflictError] and the first stays. A plugin
// that declares Provides may provide nothing else ([ErrUndeclared]).
func (s Service[T]) Provide(c *Context, v T) error {
	_, err := c.host.provide(c, s.h, &v)
	return err
}

// ProvideUntil is Provide with an early end: stop first unloads those who are
// bound to the service, waits for its leases, and then takes it away.
func (s Service[T]) ProvideUntil(c *Context, v T) (stop func(context.Context) error, err error) {
	p, err := c.host.provide(c, s.h, &v)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error { return c.host.stop(ctx, &p.node) }, nil
}

// Get returns the service if c may see it. For a required or restarting need
// that is what was bound when the plugin started, for as long as it is
// active; for a plain optional what is there now. Without a declared need
// only what the fiber itself or an ancestor provides is seen. It takes no
// lock. Between Get and use a plain optional may end; see Acquire.
func (s Service[T]) Get(c *Context) (T, bool) {
	if p := c.lookup(s.h); p != nil {
		return *p.value.(*T), true
	}
	var zero T
	return zero, false
}

// Acquire is Get with a lease: the provider, when it unloads, waits for it to
// be released, within a grace.
func (s Service[T]) Acquire(c *Context) (Lease[T], bool) {
	p := c.lookup(s.h)
	if p == nil || !p.gate.enter() {
		return Lease[T]{}, false
	}
	return Lease[T]{p}, true
}

// Use calls f with the service under a lease. f's context is derived from ctx
// and cancelled when the provider's grace is over. It returns what f returns,
// or [ErrUnavailable].
func (s Service[T]) Use(c *Context, ctx context.Context, f func(context.Context, T) error) error {
	p := c.lookup(s.h)
	if p == nil {
		return fmt.Errorf("%s: %w", s.h.name, ErrUnavailable)
	}
	call, ok := p.gate.begin(ctx, &p.node)
	if !ok {
		return fmt.Errorf("%s: %w", s.h.name, ErrUnavailable)
	}
	defer call.end()
	return f(call, *p.value.(*T))
}

// A Lease keeps a service from being undone. Release it exactly once.
type Lease[T any] struct {
	p *provision
}

// Value returns the service.
func (l Lease[T]) Value() T { return *l.p.value.(*T) }

// Context is cancelled when the lease is to be released at once.
func (l Lease[T]) Context() context.Context { return l.p.gate.context() }

// Release ends the lease.
func (l Lease[T]) Release() { l.p.gate.exit() }

// A provision is one Provide of one activation.
type provision struct {
	node
	gate  gate
	realm *realm
	value any         // *T
	gone  atomic.Bool // set when it left the realm

	lastUser *binding // bound activations; guarded by the host's lock
	ending   bool     // nobody binds any more; guarded by the host's lock
}

func (h *Host) provide(c *Context, k *handle, value any) (*provision, error) {
	r := c.realmOf(k)
	h.mu.Lock()
	defer h.mu.Unlock()
	if !c.fiber.mayProvide(k) {
		return nil, fmt.Errorf("%s: %q: %w", c.fiber.path(), k.name, ErrUndeclared)
	}
	if _, err := c.admit(); err != nil {
		return nil, err
	}
	if first := r.provision.Load(); first != nil {
		return nil, &ConflictError{k.name, first.act.fiber.path(), c.fiber.path()}
	}
	p := &provision{realm: r, value: value}
	p.kind, p.label, p.state = KindService, k.name, nodeLive
	p.node.gate, p.part = &p.gate, p
	if err := c.registerLocked(&p.node); err != nil {
		return nil, err
	}
	r.provision.Store(p)
	p.act.provisions = append(p.act.provisions, p)
	p.offer(h)
	return p, nil
}

// offer looks whether a fiber that needs the service can start now.
func (p *provision) offer(h *Host) {
	for d := p.realm.dependents.first; d != nil; d = d.next {
		if p.bindable(d.fiber) {
			h.kick(d.fiber)
		}
	}
}

// bindable reports whether f may bind to p: from Provide on if the provider
// is above f, else while the provider is active. What f itself or its
// descendants provide never binds.
func (p *provision) bindable(f *Fiber) bool {
	if p.ending || !p.act.accepts() {
		return false
	}
	provider := p.act.fiber
	if provider == f || provider.below(f) {
		return false
	}
	return p.act.phase.Load() == phaseActive || f.below(provider)
}

// lookup finds the provision that c sees. It takes no lock.
func (c *Context) lookup(k *handle) *provision {
	r := c.knownRealmOf(k)
	if r == nil || c.act.phase.Load() == phaseGone {
		return nil
	}
	for i := range c.act.bindings {
		b := &c.act.bindings[i]
		if b.realm != r {
			continue
		}
		if b.mode != optional {
			return b.prov
		}
		return visible(r.provision.Load(), c.fiber)
	}
	p := r.provision.Load()
	if p == nil || p.gone.Load() || !c.fiber.sees(p.act.fiber) {
		return nil
	}
	return p
}

// visible is p if f, which declared to need it, may use it now.
func visible(p *provision, f *Fiber) *provision {
	if p == nil || p.gone.Load() || p.act.fiber.below(f) {
		return nil
	}
	if p.act.phase.Load() == phaseActive || f.sees(p.act.fiber) {
		return p
	}
	return nil
}

// end unloads those who are bound, last activated first, then waits for the
// leases.
func (p *provision) end(h *Host) error {
	p.ending = true
	h.revoke(func() *activation {
		if p.lastUser == nil {
			return nil
		}
		return p.lastUser.act
	}, p.act)
	return h.drain(p.act, []*node{&p.node})
}

func (p *provision) leave(h *Host) {
	p.gone.Store(true)
	p.realm.provision.Store(nil)
	for i, q := range p.act.provisions {
		if q == p {
			p.act.provisions = append(p.act.provisions[:i], p.act.provisions[i+1:]...)
			break
		}
	}
}
