package core

import (
	"context"
	"errors"
	"time"
)

// Invocation is a call that runs: what a tool's function gets.
type Invocation struct {
	Call
	// Tool is the definition that runs, without its function.
	Tool Tool
	// Started is when the function was entered.
	Started time.Time

	run    *running // what Ask, Deny and Progress act upon
	caller Caller   // nil: the host itself
}

type invocationKey struct{}

// CurrentInvocation returns the call in whose function ctx was given, so that
// a typed tool can ask, deny and tell its progress; nil outside of one.
func CurrentInvocation(ctx context.Context) *Invocation {
	inv, _ := ctx.Value(invocationKey{}).(*Invocation)
	return inv
}

// Ask asks for one more permission while the tool runs, by the same rules and
// through the same person as the call itself. It may wait for that person,
// which does not count towards the time-out. The error is fit to be returned
// from the tool's function.
func (i *Invocation) Ask(ctx context.Context, p Permission, reason string) error {
	if i.run == nil {
		return i.Deny("nobody can be asked outside of a running call")
	}
	defer i.run.hold()()
	err := useActive(ctx, i.run.x.place, Permissions, func(ctx context.Context, a Authorizer) error {
		return a.Authorize(ctx, i.Viewer, p, reason)
	})
	if err == nil {
		return nil
	}
	if errors.Is(err, ErrUnavailable) {
		return i.Deny("no policy plugin is loaded, so nobody can allow it")
	}
	e := &ToolError{Code: CodeDenied, Tool: i.Name, Message: "denied: " + err.Error(), Cause: err}
	if errors.Is(err, ErrNobodyToAsk) {
		e.Code = CodeNobody
	}
	return e
}

// Deny makes the error with which a tool's function refuses its call.
func (i *Invocation) Deny(reason string) error {
	return &ToolError{Code: CodeDenied, Tool: i.Name, Message: "denied: " + reason}
}
