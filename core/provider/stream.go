package provider

import (
	"context"
	"errors"
	"iter"

	"github.com/agentd-host/agentd/core/llm"
	"github.com/agentd-host/agentd/core/llm/wire"
)

// API is one model as its provider's API has it; T is a chunk of an answer. Its
// methods may be called from many goroutines at once.
type API[T any] interface {
	// Body writes the request. Tools that cannot be expressed are left out and
	// named in the warnings. It does no I/O.
	Body(req *llm.Request, names *wire.Names) (body []byte, warnings []string, err error)
	// Open sends the body and gives the answer, with a reader for it.
	Open(ctx context.Context, req *llm.Request, body []byte, names *wire.Names) (Chunks[T], Reader[T])
	// Explain completes e with what an error of the API means; false if err is
	// none of the API's, but of the way to it.
	Explain(err error, req *llm.Request, e *llm.Error) bool
}

// Chunks are the pieces of an answer as they arrive, in the manner of the
// providers' libraries. They are for one goroutine.
type Chunks[T any] interface {
	// Next waits for a chunk; false is the end, of which Err says the reason.
	Next() bool
	Current() T
	Err() error
	Close() error
}

// Reader makes events of one answer's chunks, in order.
type Reader[T any] interface {
	Read(chunk T) []llm.Event
	// End gives what comes behind the last chunk, and whether the answer had
	// come to its end.
	End() (events []llm.Event, whole bool)
}

var errCut = errors.New("the stream ended before the answer did")

// Stream sends the request and yields what comes back, as llm.Model has it.
// provider is named in errors.
func Stream[T any](ctx context.Context, provider string, api API[T], req *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		emit := func(events []llm.Event) bool {
			for _, ev := range events {
				if !yield(ev, nil) {
					return false
				}
			}
			return true
		}
		if err := exchange(ctx, api, req, emit); err != nil {
			yield(llm.Event{}, fault(ctx, provider, err, func(e *llm.Error) bool { return api.Explain(err, req, e) }))
		}
	}
}

// exchange is one request with its answer. It ends without an error where emit
// says that nobody listens any more.
func exchange[T any](ctx context.Context, api API[T], req *llm.Request, emit func([]llm.Event) bool) error {
	names := wire.NewNames(wire.Common)
	body, warnings, err := api.Body(req, names)
	if err != nil {
		return err
	}
	for _, w := range warnings {
		if !emit([]llm.Event{{Kind: llm.Warning, Text: w}}) {
			return nil
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	chunks, reader := api.Open(ctx, req, body, names)
	defer chunks.Close()
	for chunks.Next() {
		if !emit(reader.Read(chunks.Current())) {
			return nil
		}
	}
	if err := chunks.Err(); err != nil {
		return err
	}
	rest, whole := reader.End()
	if !whole {
		return errCut
	}
	emit(rest)
	return nil
}
