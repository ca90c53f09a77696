package core

import (
	"sync"
	"time"
)

// A clock is a time-out that can be held. A nil clock never runs out.
type clock struct {
	expired chan struct{}

	mu    sync.Mutex // guards the fields below
	holds int
	left  time.Duration
	since time.Time
	timer *time.Timer
}

// newClock makes a clock that runs.
func newClock(d time.Duration) *clock {
	c := &clock{expired: make(chan struct{}), left: d, holds: 1}
	c.start()
	return c
}

func (c *clock) start() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.holds--; c.holds > 0 {
		return
	}
	c.since = time.Now()
	c.timer = time.AfterFunc(c.left, c.ring)
}

// ring ends the clock unless it was held at the last moment.
func (c *clock) ring() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.holds > 0 || c.left < 0 {
		return
	}
	c.left = -1
	close(c.expired)
}

func (c *clock) stop() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.holds++; c.holds > 1 || c.left < 0 {
		return
	}
	c.timer.Stop()
	c.left = max(c.left-time.Since(c.since), 0)
}

// done is nil, which is never ready, for a nil clock.
func (c *clock) done() <-chan struct{} {
	if c == nil {
		return nil
	}
	return c.expired
}
