package mcp

import (
	"context"
	"sync"
	"time"
)

// A limiter bounds the calls to one server: so many at a time, so many a
// second. Zero is no bound.
type limiter struct {
	slots chan struct{}
	every time.Duration

	mu   sync.Mutex // guards next
	next time.Time  // when the next call may begin
}

func newLimiter(rate float64, concurrency int) *limiter {
	l := &limiter{}
	if concurrency > 0 {
		l.slots = make(chan struct{}, concurrency)
	}
	if rate > 0 {
		l.every = time.Duration(float64(time.Second) / rate)
	}
	return l
}

// enter waits for a call's turn and returns what ends it.
func (l *limiter) enter(ctx context.Context) (leave func(), err error) {
	leave = func() {}
	if l.slots != nil {
		select {
		case l.slots <- struct{}{}:
			leave = func() { <-l.slots }
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	if d := l.wait(time.Now()); d > 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
			leave()
			return nil, context.Cause(ctx)
		}
	}
	return leave, nil
}

// wait takes the next place in time and says how long it is until then.
func (l *limiter) wait(now time.Time) time.Duration {
	if l.every == 0 {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.next.Before(now) {
		l.next = now
	}
	d := l.next.Sub(now)
	l.next = l.next.Add(l.every)
	return d
}
