package core

import (
	"sync/atomic"
	"time"
)

// changesDelay is how long changes of a registry are gathered for one event.
const changesDelay = 20 * time.Millisecond

// An announcement gathers the changes of a registry for one event. The zero
// value is ready; it may be used from any goroutine.
type announcement struct{ pending atomic.Bool }

// soon has the event of k told a little later, once for all that changes until
// then, if anybody listens.
func (a *announcement) soon(h *Host, k *handle, tell func() error) {
	if !h.listened(k) || !a.pending.CompareAndSwap(false, true) {
		return
	}
	time.AfterFunc(changesDelay, func() {
		a.pending.Store(false)
		if err := tell(); err != nil {
			h.root.Logger().Warn("telling of changes", "event", k.name, "err", err)
		}
	})
}
