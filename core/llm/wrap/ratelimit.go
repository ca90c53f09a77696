package wrap

import (
	"context"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/agentd-host/agentd/core/llm"
)

// Limit is how many requests may begin in a minute. All models that it is put
// around share it. Nil is no limit.
type Limit struct {
	every time.Duration

	mu   sync.Mutex
	next time.Time // when the next request may begin
}

// NewLimit makes a limit; perMinute <= 0 is none.
func NewLimit(perMinute int) *Limit {
	if perMinute <= 0 {
		return nil
	}
	return &Limit{every: time.Minute / time.Duration(perMinute)}
}

// RateLimit lets no more requests begin than l allows, evenly: a request that
// comes too early waits, and says so if that is longer than a second.
func RateLimit(m llm.Model, l *Limit) llm.Model {
	if l == nil {
		return m
	}
	return &limited{m, l}
}

type limited struct {
	llm.Model
	limit *Limit
}

// Stream waits for its turn and passes the inner stream on.
func (l *limited) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		at, wait := l.limit.reserve()
		if wait > time.Second {
			text := fmt.Sprintf("waiting %s: the rate is limited to one request in %s", wait.Round(100*time.Millisecond), l.limit.every)
			if !yield(llm.Event{Kind: llm.Warning, Text: text}, nil) {
				l.limit.giveBack(at)
				return
			}
		}
		if wait > 0 && sleep(ctx, wait) != nil {
			l.limit.giveBack(at)
			yield(llm.Event{}, &llm.Error{
				Kind: llm.ErrCancelled, Provider: l.Describe().Provider, ToolIndex: -1,
				Message: "cancelled while waiting for the rate limit", Cause: context.Cause(ctx),
			})
			return
		}
		for ev, err := range l.Model.Stream(ctx, req) {
			if !yield(ev, err) {
				return
			}
		}
	}
}

// reserve takes the next free moment and says how far off it is.
func (l *Limit) reserve() (at time.Time, wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	at = l.next
	if at.Before(now) {
		at = now
	}
	l.next = at.Add(l.every)
	return at, at.Sub(now)
}

// giveBack frees a moment that was not used, unless others queue behind it.
func (l *Limit) giveBack(at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.next.Equal(at.Add(l.every)) {
		l.next = at
	}
}
