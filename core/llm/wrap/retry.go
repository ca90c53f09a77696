package wrap

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"time"

	"github.com/agentd-host/agentd/core/llm"
)

// RetryOptions say when and how often a request is tried again. Nil and the
// zero value are useful.
type RetryOptions struct {
	// Attempts in all. Default is 4.
	Attempts int
	// Floor is the shortest time between two attempts. Default is 500 ms.
	Floor time.Duration
	// Longest is the longest time that is waited for; a provider that asks
	// for more gets no second attempt, and the error says how long it wants.
	// Default is 20 s.
	Longest time.Duration
}

func (o *RetryOptions) withDefaults() RetryOptions {
	var r RetryOptions
	if o != nil {
		r = *o
	}
	r.Attempts = cmp.Or(r.Attempts, 4)
	r.Floor = cmp.Or(r.Floor, 500*time.Millisecond)
	r.Longest = cmp.Or(r.Longest, 20*time.Second)
	return r
}

// Retry tries a request again whose error says that it may work later. Nothing
// of it is silent: before output began each attempt is announced by a Warning;
// after it began by a Reset, upon which consumers drop what they have.
func Retry(m llm.Model, opts *RetryOptions) llm.Model {
	return &retrying{m, opts.withDefaults()}
}

type retrying struct {
	llm.Model
	opts RetryOptions
}

// Stream passes the inner stream on, and begins it anew where that may help.
func (r *retrying) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		for attempt := 1; ; attempt++ {
			began, err, more := r.attempt(ctx, req, yield)
			if !more || err == nil {
				return
			}
			wait, again := r.wait(err, attempt)
			if !again || ctx.Err() != nil {
				yield(llm.Event{}, err)
				return
			}
			why := fmt.Sprintf("%s; trying again in %s", err, wait.Round(time.Millisecond))
			kind := llm.Warning
			if began {
				kind = llm.Reset
			}
			if !yield(llm.Event{Kind: kind, Text: why}, nil) {
				return
			}
			if sleep(ctx, wait) != nil {
				yield(llm.Event{}, &llm.Error{
					Kind: llm.ErrCancelled, Provider: r.Describe().Provider, ToolIndex: -1,
					Message: "cancelled while waiting to try again", Cause: context.Cause(ctx),
				})
				return
			}
		}
	}
}

// attempt plays one stream. began: output was passed on; more: the consumer
// still listens.
func (r *retrying) attempt(
	ctx context.Context, req *llm.Request, yield func(llm.Event, error) bool,
) (began bool, failure error, more bool) {
	for ev, err := range r.Model.Stream(ctx, req) {
		if err != nil {
			return began, err, true
		}
		switch ev.Kind {
		case llm.TextDelta, llm.ReasoningDelta, llm.ToolCallStart, llm.ToolCallDelta:
			began = true
		}
		if !yield(ev, nil) {
			return began, nil, false
		}
	}
	return began, nil, true
}

// wait says how long to wait before the next attempt, and whether there is
// one.
func (r *retrying) wait(err error, attempt int) (time.Duration, bool) {
	var fault *llm.Error
	if !errors.As(err, &fault) || !fault.Retryable() || attempt >= r.opts.Attempts {
		return 0, false
	}
	if fault.RetryAfter > r.opts.Longest {
		return 0, false
	}
	backoff := r.opts.Floor << (attempt - 1)
	backoff += rand.N(backoff/2 + 1)
	return min(max(backoff, fault.RetryAfter), r.opts.Longest), true
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
