package core

import (
	"context"
	"log/slog"
)

// A Caller is whoever made the call that runs: an MCP client, or a person and
// the model of this agent. Its methods may be called from any goroutine for as
// long as the call runs.
type Caller interface {
	// Can tells whether inquiries of this kind can be answered.
	Can(q Inquiry) bool
	// Ask fills in the answers of all of them. What is asked together reaches a
	// client together, where that is possible. The error wraps ErrNobodyToAsk
	// if one of them can't be answered by anybody; nothing is asked then. A
	// person who says no is no error: see Reply.Declined.
	Ask(ctx context.Context, qs ...Inquiry) error
	// Tell sends a notice, without waiting and without a promise that it
	// arrives.
	Tell(n Notice)
}

// A Notice is what a call can tell its caller on the way: a [Progress] or a
// [LogMessage].
type Notice interface{ notice() }

// A LogMessage is a line of a log that the caller may show.
type LogMessage struct {
	Level  slog.Level
	Logger string // who says it; optional
	Data   any    // a text, or anything with a JSON form
}

func (Progress) notice()   {}
func (LogMessage) notice() {}

type callerKey struct{}

// WithCaller returns a context in which calls are made for caller: those who
// serve the calls of others, as an MCP gateway does, pass it on.
func WithCaller(ctx context.Context, caller Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, caller)
}

// CallerOf gives the caller of the tool, prompt or resource in whose function
// ctx was given. It is never nil: where no client is behind the call it is the
// [HostCaller], and outside of any host one that knows nobody. Waiting for an
// answer does not count towards a tool's time-out.
func CallerOf(ctx context.Context) Caller {
	c := asking{Caller: callerIn(ctx)}
	inv := CurrentInvocation(ctx)
	if inv != nil {
		c.run = inv.run
	}
	switch fr := frameOf(ctx); {
	case c.Caller != nil:
	case inv != nil && inv.run != nil:
		x := inv.run.x
		c.Caller = hostCaller{x.place, inv.Viewer, inv.Name, x.def.owner.logger()}
	case fr != nil:
		c.Caller = hostCaller{fr.host.root, Viewer{}, fr.fiber.Path(), fr.fiber.logger()}
	default:
		c.Caller = nobody{}
	}
	return c
}

func callerIn(ctx context.Context) Caller {
	c, _ := ctx.Value(callerKey{}).(Caller)
	return c
}

// asking is a caller whose answers are checked, and for whom the clocks of a
// running call stand still.
type asking struct {
	Caller
	run *running // nil outside of a tool
}

func (a asking) Ask(ctx context.Context, qs ...Inquiry) error {
	if err := eachForm(qs, (*Elicitation).check); err != nil {
		return err
	}
	if a.run != nil {
		defer a.run.hold()()
	}
	if err := a.Caller.Ask(ctx, qs...); err != nil {
		return err
	}
	return eachForm(qs, (*Elicitation).settle)
}

// nobody is the caller where there is none.
type nobody struct{}

func (nobody) Can(Inquiry) bool                      { return false }
func (nobody) Ask(context.Context, ...Inquiry) error { return ErrNobodyToAsk }
func (nobody) Tell(Notice)                           {}
