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

	run *running // what Ask, Deny and Progress act upon
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
	prov := i.run.x.place.active(Permissions.h)
	if prov == nil {
		return i.Deny("no policy plugin is loaded, so nobody can allow it")
	}
	call, ok := prov.node.gate.begin(i.run.x.h.hosted(ctx), &prov.node)
	if !ok {
		return i.Deny("the policy plugin is unloading")
	}
	defer call.end()
	defer i.run.hold()()
	err := prov.act.fiber.guard("answer of", &prov.node, func() error {
		return (*prov.value.(*Authorizer)).Authorize(call, i.Viewer, p, reason)
	})
	if err == nil {
		return nil
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
