package index

import (
	"hash/maphash"
	"sync/atomic"
)

// dict is a map that only grows: one writer at a time adds, any number of
// readers look up meanwhile without a lock. That lets all indexes that
// descend from one another share their words. The caller brings the hash, so
// that keys of bytes and strings need no conversion.
type dict[K comparable, V any] struct {
	hash  func(K) uint64
	table atomic.Pointer[dictTable[K, V]]
}

// dictTable is an open-addressed hash table. An entry is written before the
// slot that points to it, so who sees the slot sees the entry.
type dictTable[K comparable, V any] struct {
	slots   []atomic.Uint32 // index into entries plus one; zero is empty
	entries []dictEntry[K, V]
	used    int // the writer's
}

type dictEntry[K comparable, V any] struct {
	key   K
	value V
}

func newDict[K comparable, V any](hash func(K) uint64) *dict[K, V] {
	d := &dict[K, V]{hash: hash}
	d.table.Store(newDictTable[K, V](1 << 10))
	return d
}

func newDictTable[K comparable, V any](slots int) *dictTable[K, V] {
	return &dictTable[K, V]{
		slots:   make([]atomic.Uint32, slots),
		entries: make([]dictEntry[K, V], slots-slots/4),
	}
}

// find looks a key up under its hash.
func (d *dict[K, V]) find(hash uint64, key K) (v V, ok bool) {
	t := d.table.Load()
	mask := uint64(len(t.slots) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		at := t.slots[i].Load()
		if at == 0 {
			return v, false
		}
		if e := &t.entries[at-1]; e.key == key {
			return e.value, true
		}
	}
}

// add enters a key that is not there yet.
func (d *dict[K, V]) add(key K, value V) {
	t := d.table.Load()
	if t.used == len(t.entries) {
		t = t.grown(d.hash)
		d.table.Store(t)
	}
	t.insert(d.hash(key), dictEntry[K, V]{key, value})
}

func (t *dictTable[K, V]) insert(hash uint64, e dictEntry[K, V]) {
	t.entries[t.used] = e
	t.used++
	mask := uint64(len(t.slots) - 1)
	i := hash & mask
	for t.slots[i].Load() != 0 {
		i = (i + 1) & mask
	}
	t.slots[i].Store(uint32(t.used))
}

func (t *dictTable[K, V]) grown(hash func(K) uint64) *dictTable[K, V] {
	bigger := newDictTable[K, V](2 * len(t.slots))
	for _, e := range t.entries[:t.used] {
		bigger.insert(hash(e.key), e)
	}
	return bigger
}

// hashString and hashBytes agree on equal text.
func hashString(seed maphash.Seed) func(string) uint64 {
	return func(s string) uint64 { return maphash.String(seed, s) }
}

func hashUint64(x uint64) uint64 {
	x ^= x >> 32
	x *= 0x9e3779b97f4a7c15
	return x ^ x>>29
}
