package wrap

import (
	"context"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/agentd-host/agentd/core/llm"
)

// RateLimit lets at most perMinute requests begin in a minute, evenly: a
// request that comes too early waits, and says so if that is longer than a
// second. perMinute <= 0 is no limit.
func RateLimit(m llm.Model, perMinute int) llm.Model {
	if perMinute <= 0 {
		return m
	}
	return &limited{Model: m, every: time.Minute / time.Duration(perMinute)}
}

type limited struct {
	llm.Model
	every time.Duration

	mu   sync.Mutex
	next time.Time // when the next request may begin
}

// Stream waits for its turn and passes the inner stream on.
func (l *limited) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		wait := l.reserve()
		if wait > time.Second {
			text := fmt.Sprintf("waiting %s: the rate is limited to one request in %s", wait.Round(100*time.Millisecond), l.every)
			if !yield(llm.Event{Kind: llm.Warning, Text: text}, nil) {
				return
			}
		}
		if wait > 0 && sleep(ctx, wait) != nil {
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
func (l *limited) reserve() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	at := l.next
	if at.Before(now) {
		at = now
	}
	l.next = at.Add(l.every)
	return at.Sub(now)
}
