package mcp

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// entered is how long a call waits for its turn.
func entered(t *testing.T, l *limiter) time.Duration {
	t.Helper()
	began := time.Now()
	leave, err := l.enter(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	leave()
	return time.Since(began)
}

func TestRule2_LimitsOfRateAndConcurrency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(10, 0)
		for i, want := range []time.Duration{0, 100 * time.Millisecond, 100 * time.Millisecond} {
			if got := entered(t, l); got != want {
				t.Errorf("call %d waits %v, want %v", i, got, want)
			}
		}
		time.Sleep(time.Minute)
		if got := entered(t, l); got != 0 {
			t.Errorf("after a pause: %v", got)
		}
		began, group := time.Now(), sync.WaitGroup{}
		for range 10 {
			group.Go(func() { entered(t, l) })
		}
		group.Wait()
		if got := time.Since(began); got != time.Second {
			t.Errorf("ten at once take %v", got)
		}
		c := newLimiter(0, 1)
		leave, err := c.enter(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := c.enter(ctx); err == nil {
			t.Error("two at once")
		}
		leave()
		if _, err := c.enter(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A call that was given up while it waited has not used its place.
func TestRule2_CallsThatWereGivenUpHoldUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, concurrency := range []int{0, 1, 3} {
			l := newLimiter(1, concurrency)
			entered(t, l)
			ctx, cancel := context.WithCancel(t.Context())
			var group sync.WaitGroup
			for range 100 {
				group.Go(func() {
					if _, err := l.enter(ctx); err == nil {
						t.Error("a call that was given up has entered")
					}
				})
			}
			synctest.Wait()
			cancel()
			group.Wait()
			if got := entered(t, l); got != time.Second {
				t.Errorf("concurrency %d: the next waits %v", concurrency, got)
			}
		}
	})
}
