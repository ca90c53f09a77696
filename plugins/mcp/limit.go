package mcp

import (
	"context"
	"time"
)

// A limiter bounds the calls to one server: so many at a time, so many a
// second. Zero is no bound. It may be used concurrently.
type limiter struct {
	slots chan struct{} // nil without a bound, likewise turn
	every time.Duration

	// turn is held by the one call that waits for its time. Others queue for
	// it, and one that is given up leaves no trace.
	turn chan struct{}
	next time.Time // when the next call may begin; of who holds turn
}

func newLimiter(rate float64, concurrency int) *limiter {
	l := &limiter{}
	if concurrency > 0 {
		l.slots = make(chan struct{}, concurrency)
	}
	if rate > 0 {
		l.every, l.turn = time.Duration(float64(time.Second)/rate), make(chan struct{}, 1)
	}
	return l
}

// enter waits for a call's turn and returns what ends it.
func (l *limiter) enter(ctx context.Context) (leave func(), err error) {
	leave, err = take(ctx, l.slots)
	if err != nil || l.turn == nil {
		return leave, err
	}
	if err := l.await(ctx); err != nil {
		leave()
		return nil, err
	}
	return leave, nil
}

// await waits until the next call may begin.
func (l *limiter) await(ctx context.Context) error {
	done, err := take(ctx, l.turn)
	if err != nil {
		return err
	}
	defer done()
	if d := time.Until(l.next); d > 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	l.next = time.Now().Add(l.every)
	return nil
}

// take takes one of the places of a channel, if that is bounded, and returns
// what gives it back.
func take(ctx context.Context, places chan struct{}) (give func(), err error) {
	if places == nil {
		return func() {}, nil
	}
	select {
	case places <- struct{}{}:
		return func() { <-places }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
