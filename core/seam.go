package core

import "time"

// A seam takes over the host's scheduling. It exists for the replayable
// property test; without one the host uses plain goroutines and channels.
// No method is called with a lock held.
type seam interface {
	// spawn runs f in a goroutine of its own.
	spawn(f func())
	// yield is called before each step and each call of plugin code.
	yield(point string)
	// wait blocks until a channel is closed, or limit has passed if positive.
	wait(done, cancel, circle <-chan struct{}, limit time.Duration) outcome
}

// outcome says why a wait ended.
type outcome int

const (
	waitDone outcome = iota
	waitCancelled
	waitCircle
	waitTimeout
)

func (h *Host) spawn(f func()) {
	if h.seam != nil {
		h.seam.spawn(f)
		return
	}
	go f()
}

func (h *Host) yield(point string) {
	if h.seam != nil {
		h.seam.yield(point)
	}
}

// block waits until one of the channels is closed (each may be nil), or for
// limit when that is positive. The host blocks nowhere else, save on its mutex.
func (h *Host) block(done, cancel, circle <-chan struct{}, limit time.Duration) outcome {
	if h.seam != nil {
		return h.seam.wait(done, cancel, circle, limit)
	}
	select {
	case <-done:
		return waitDone
	default:
	}
	var expired <-chan time.Time
	if limit > 0 {
		t := time.NewTimer(limit)
		defer t.Stop()
		expired = t.C
	}
	select {
	case <-done:
		return waitDone
	case <-cancel:
		return waitCancelled
	case <-circle:
		return waitCircle
	case <-expired:
		return waitTimeout
	}
}

// blockUntil waits for done until the deadline and reports whether done.
func (h *Host) blockUntil(done <-chan struct{}, deadline time.Time) bool {
	return h.block(done, nil, nil, max(time.Until(deadline), 1)) == waitDone
}
