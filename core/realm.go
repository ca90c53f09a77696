package core

import (
	"maps"
	"sync/atomic"
)

// A realm is the place of one service for all contexts that share it: it has
// at most one provision, and knows the fibers that need it, so that a change
// costs nothing to the others.
type realm struct {
	h         *handle
	provision atomic.Pointer[provision] // written with the host's lock held

	// guarded by the host's lock
	dependents dependencyList
	declarers  []*Fiber // plugins that declare to provide it, here
}

// isolation is a list of realms, innermost first.
type isolation struct {
	realm *realm
	next  *isolation
}

type realmKey struct {
	h     *handle
	label string
}

// realmOf returns the realm of h as seen from c.
func (c *Context) realmOf(h *handle) *realm {
	for i := c.isolated; i != nil; i = i.next {
		if i.realm.h == h {
			return i.realm
		}
	}
	if r := (*c.host.realms.Load())[h]; r != nil {
		return r
	}
	return c.host.commonRealm(h)
}

// knownRealmOf is realmOf for readers, nil when nobody ever asked for h.
func (c *Context) knownRealmOf(h *handle) *realm {
	for i := c.isolated; i != nil; i = i.next {
		if i.realm.h == h {
			return i.realm
		}
	}
	return (*c.host.realms.Load())[h]
}

// commonRealm returns the realm of h outside of any isolation. There is one
// for each handle that was ever used; handles are few and live forever.
func (h *Host) commonRealm(k *handle) *realm {
	for {
		old := h.realms.Load()
		if r := (*old)[k]; r != nil {
			return r
		}
		table := maps.Clone(*old)
		table[k] = &realm{h: k}
		if h.realms.CompareAndSwap(old, &table) {
			return table[k]
		}
	}
}

// realm returns the realm of k with a label, or a private one without.
func (h *Host) realm(k *handle, label string) *realm {
	if label == "" {
		return &realm{h: k}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	key := realmKey{k, label}
	if r := h.labelled[key].Value(); r != nil {
		return r
	}
	r := &realm{h: k}
	h.rememberRealm(key, r)
	return r
}

// A dependency is one need of one fiber, resolved to a realm.
type dependency struct {
	fiber      *Fiber
	realm      *realm
	mode       needMode
	prev, next *dependency
}

// dependencyList is intrusive: leaving costs the same for any length.
type dependencyList struct{ first, last *dependency }

func (l *dependencyList) add(d *dependency) {
	d.prev, d.next = l.last, nil
	if l.last != nil {
		l.last.next = d
	} else {
		l.first = d
	}
	l.last = d
}

func (l *dependencyList) remove(d *dependency) {
	if d.prev != nil {
		d.prev.next = d.next
	} else {
		l.first = d.next
	}
	if d.next != nil {
		d.next.prev = d.prev
	} else {
		l.last = d.prev
	}
	d.prev, d.next = nil, nil
}

// resolve returns the provision that d would bind to now, or nil.
func (d *dependency) resolve() *provision {
	p := d.realm.provision.Load()
	if p == nil || !p.bindable(d.fiber) {
		return nil
	}
	return p
}

// A binding ties an activation to a provision for its whole length. Bindings
// stand in the provision's list in the order of activation.
type binding struct {
	act        *activation
	realm      *realm
	mode       needMode
	prov       *provision // nil: was not there, or is a plain optional
	prev, next *binding
}

func (p *provision) bind(b *binding) {
	b.prov = p
	b.prev, b.next = p.lastUser, nil
	if p.lastUser != nil {
		p.lastUser.next = b
	}
	p.lastUser = b
}

func (b *binding) release() {
	if b.prov == nil {
		return
	}
	if b.prev != nil {
		b.prev.next = b.next
	}
	if b.next != nil {
		b.next.prev = b.prev
	} else {
		b.prov.lastUser = b.prev
	}
	b.prev, b.next = nil, nil
}
