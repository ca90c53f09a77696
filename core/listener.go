package core

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync/atomic"
)

// A ListenOption is an option of On, Once and Around: [Order].
type ListenOption interface{ listen(*listener) }

func (o OrderOption) listen(l *listener) { l.order = int(o) }

// A listener is one registration with an event, query or hook, or with an
// ordered list of another registry of this package.
type listener struct {
	node
	gate  gate
	fn    any
	slot  *slot
	order int
	seq   uint64
	once  bool
	spent atomic.Bool // of a Once
}

// A slot holds the listeners of one handle in one host, in the order in which
// they run; the list is replaced, never changed.
type slot struct {
	list atomic.Pointer[[]*listener]
}

// slot returns the slot of k, making it if need be. The lock is held.
func (h *Host) slot(k *handle) *slot {
	old := *h.slots.Load()
	if s := old[k]; s != nil {
		return s
	}
	table := maps.Clone(old)
	s := &slot{}
	s.list.Store(&[]*listener{})
	table[k] = s
	h.slots.Store(&table)
	return s
}

// snapshot returns the listeners of k, nil if there are none.
func (h *Host) snapshot(k *handle) *[]*listener {
	s := (*h.slots.Load())[k]
	if s == nil {
		return nil
	}
	list := s.list.Load()
	if len(*list) == 0 {
		return nil
	}
	return list
}

func (h *Host) listened(k *handle) bool { return h.snapshot(k) != nil }

// listen registers fn with k for as long as c's scope lasts.
func (c *Context) listen(k *handle, fn any, once bool, opts []ListenOption) error {
	l := &listener{fn: fn, once: once}
	l.kind, l.label, l.state = KindListener, k.name, nodeLive
	l.node.gate, l.part = &l.gate, l
	for _, o := range opts {
		o.listen(l)
	}
	h := c.host
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := c.registerLocked(&l.node); err != nil {
		return err
	}
	h.seq++
	l.seq, l.slot = h.seq, h.slot(k)
	old := *l.slot.list.Load()
	at, _ := slices.BinarySearchFunc(old, l, compareListeners)
	list := slices.Insert(slices.Clip(old), at, l)
	l.slot.list.Store(&list)
	return nil
}

// compareListeners orders by Order, then by the place of the entries in
// agent.yml, then by registration.
func compareListeners(a, b *listener) int {
	return cmp.Or(
		cmp.Compare(a.order, b.order),
		slices.Compare(a.act.fiber.positions, b.act.fiber.positions),
		cmp.Compare(a.seq, b.seq),
	)
}

// reorder sorts all lists anew after positions changed. The lock is held.
func (h *Host) reorder() {
	for _, s := range *h.slots.Load() {
		list := *s.list.Load()
		if slices.IsSortedFunc(list, compareListeners) {
			continue
		}
		list = slices.SortedFunc(slices.Values(list), compareListeners)
		s.list.Store(&list)
	}
}

func (l *listener) end(*Host) error {
	l.gate.shut()
	return nil
}

func (l *listener) leave(*Host) {
	list := slices.DeleteFunc(slices.Clone(*l.slot.list.Load()), func(x *listener) bool { return x == l })
	l.slot.list.Store(&list)
}

// enter begins a call of the listener, false if it was removed or, being a
// Once, has been called.
func (l *listener) enter() bool {
	if !l.gate.enter() {
		return false
	}
	if l.once && !l.spent.CompareAndSwap(false, true) {
		l.gate.exit()
		return false
	}
	l.act.fiber.host.yield("listener")
	return true
}

// exit ends a call; deferred, so that it contains a panic.
func (l *listener) exit(err *error) {
	if v := recover(); v != nil {
		*err = l.act.fiber.panicked("", &l.node, v)
	}
	l.gate.exit()
	if l.once {
		l.remove()
	}
}

// remove takes the listener away without waiting for calls.
func (l *listener) remove() {
	h := l.act.fiber.host
	h.mu.Lock()
	defer h.mu.Unlock()
	if l.state == nodeLive {
		l.state = nodeStopping
		h.dismantle(&l.node)
	}
}

// A dispatch is a snapshot of listeners and the contexts to call them with.
type dispatch struct {
	host      *Host
	listeners []*listener
	contexts  []frameCtx // one for each listener
}

// dispatchOf prepares to call the listeners of k on behalf of ctx.
func dispatchOf(ctx context.Context, k *handle) (dispatch, error) {
	fr := frameOf(ctx)
	if fr == nil {
		return dispatch{}, ErrNoHost
	}
	d := dispatch{host: fr.host}
	list := fr.host.snapshot(k)
	if list == nil {
		return d, nil
	}
	d.listeners = *list
	if c, ok := ctx.(*Context); ok {
		d.contexts = c.contextsFor(list)
	} else {
		d.contexts = contextsFor(ctx, fr, d.listeners)
	}
	return d, nil
}

func contextsFor(ctx context.Context, caller *frame, ls []*listener) []frameCtx {
	cs := make([]frameCtx, len(ls))
	for i, l := range ls {
		cs[i] = frameCtx{ctx, l.call(caller)}
	}
	return cs
}

// emitCache keeps the contexts of the last dispatches from one Context, so
// that emitting again to the same listeners allocates nothing.
type emitCache struct {
	list     *[]*listener
	slot     *slot
	contexts []frameCtx
	next     *emitCache
}

// contextsFor is the cached form of the function contextsFor.
func (c *Context) contextsFor(list *[]*listener) []frameCtx {
	slot := (*list)[0].slot
	head := c.emits.Load()
	for e := head; e != nil; e = e.next {
		if e.list == list {
			return e.contexts
		}
	}
	e := &emitCache{list, slot, contextsFor(c, &c.frame, *list), head.without(slot)}
	c.emits.Store(e)
	return e.contexts
}

// without returns the list without the entry of one slot.
func (e *emitCache) without(s *slot) *emitCache {
	if e == nil || e.slot == s {
		if e == nil {
			return nil
		}
		return e.next
	}
	d := *e
	d.next = e.next.without(s)
	return &d
}
