package core

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
)

// decideStep is the place in the chain where it is decided whether a call may
// run. What is inside of it works on the arguments that were decided about.
func decideStep(next Handler) Handler {
	return func(ctx context.Context, inv *Invocation) Result {
		x := inv.run.x
		if !bytes.Equal(inv.Args, x.checked) { // rewritten further out
			if e := x.recheck(inv); e != nil {
				return Result{Err: e}
			}
		}
		resolved := x.def
		if refused := x.decide(ctx, inv.Args); refused != nil {
			return Result{Err: refused}
		}
		defer x.leave()
		x.approved = bytes.Clone(inv.Args)
		if x.def != resolved {
			own := *inv
			own.Tool = x.def.tool
			inv = &own
		}
		return next(x.held, inv)
	}
}

func (x *execution) recheck(inv *Invocation) *ToolError {
	args, err := normalArgs(inv.Args)
	if err != nil {
		return badArgs(x.def, err)
	}
	inv.Args = args
	return x.def.checkArgs(args)
}

// decide asks the Decider and tells the decision, once for each call. If the
// call may run, the tool is held from then on. If the tool was replaced while
// it was decided about, its successor is decided about as well.
func (x *execution) decide(ctx context.Context, args json.RawMessage) *ToolError {
	x.call.Args = args
	digest := ArgsDigest(x.call.Name, args)
	d := x.verdict(ctx, digest)
	for d.Verdict == Allow && !x.hold(ctx) {
		if e := x.succeed(); e != nil {
			return e
		}
		d = x.verdict(ctx, digest)
	}
	if x.held == nil {
		return x.settle(ctx, d, digest)
	}
	refused := x.settle(x.held, d, digest)
	if refused != nil {
		x.leave()
	}
	return refused
}

// verdict asks the Decider about the tool as it is now.
func (x *execution) verdict(ctx context.Context, digest string) (d Decision) {
	req := DecideRequest{Call: x.call, Tool: x.def.tool, Digest: digest}
	if err := x.permissions(&req); err != nil {
		return Decision{Verdict: Deny, Rule: "permission", Reason: err.Error()}
	}
	x.waiting(func() { d = x.ask(ctx, req) })
	return d
}

// hold enters the tool's gate: from here to the end of the call its owner's
// teardown waits, and the definition is the one that was decided about.
func (x *execution) hold(ctx context.Context) bool {
	held, ok := x.def.gate.share(ctx, &x.def.node, x.overdue)
	if ok {
		x.held = held
	}
	return ok
}

// leave ends hold.
func (x *execution) leave() {
	x.held.leave()
	x.def.left()
}

// overdue ends the call because the tool's owner has to go. Without
// middlewares there is only the function, which is told by itself.
func (x *execution) overdue(cause error) {
	if x.stop != nil {
		x.stop(cause)
	}
}

// succeed goes on with the definition in the place of the one that is closed.
func (x *execution) succeed() *ToolError {
	def, _ := x.tools.lookup(x.call.Viewer, x.call.Name)
	if def == nil || def == x.def {
		return x.gone()
	}
	x.def = def
	return def.checkArgs(x.call.Args)
}

// settle tells the decision and turns it into the error that it means.
func (x *execution) settle(ctx context.Context, d Decision, digest string) *ToolError {
	if err := x.announce(ctx, d, digest); err != nil && d.Verdict == Allow && x.effect() != Read {
		d.Verdict, d.Reason = Deny, "the decision could not be recorded: "+err.Error()
	}
	if ctx.Err() != nil && d.Verdict == Allow {
		return &ToolError{
			Code: CodeCancelled, Tool: x.call.Name, Message: "it was cancelled before it began",
			Cause: context.Cause(ctx),
		}
	}
	return x.refusal(d)
}

// refusal is nil if the decision lets the call run.
func (x *execution) refusal(d Decision) *ToolError {
	switch d.Verdict {
	case Allow:
		return nil
	case Hidden:
		return x.unknown()
	}
	e := &ToolError{Code: CodeDenied, Tool: x.call.Name, Message: "denied", Rule: d.Rule, Stop: d.Stop}
	if d.Nobody {
		e.Code = CodeNobody
	}
	if d.Reason != "" {
		e.Message = "denied: " + d.Reason
	}
	return e
}

// permissions fills in what the call needs.
func (x *execution) permissions(req *DecideRequest) error {
	def := x.def
	if def.tool.Permission == nil {
		req.Permissions = def.needs
		return nil
	}
	return def.owner.guard("permission of", &def.node, func() (err error) {
		req.Permissions, err = def.tool.Permission(bytes.Clone(req.Call.Args))
		return err
	})
}

// ask puts the request to the Decider. Without one, or if it panics, what only
// reads runs and all else is refused.
func (x *execution) ask(ctx context.Context, req DecideRequest) (d Decision) {
	prov := x.place.active(Deciders.h)
	if prov == nil {
		return x.undecided(ctx, req, "no policy plugin is loaded")
	}
	call, ok := prov.node.gate.begin(ctx, &prov.node)
	if !ok {
		return x.undecided(ctx, req, "the policy plugin is unloading")
	}
	defer call.end()
	err := prov.act.fiber.guard("decision of", &prov.node, func() error {
		d = (*prov.value.(*Decider)).Decide(call, req)
		return nil
	})
	if err != nil {
		x.h.root.Logger().Error("policy failed", "tool", req.Tool.Name, "err", err)
		return x.undecided(ctx, req, "the policy plugin failed")
	}
	if d.Verdict == "" {
		d.Verdict, d.Reason = Deny, cmp.Or(d.Reason, "the policy plugin gave no verdict")
	}
	return d
}

// undecided is the decision where nobody can make one.
func (x *execution) undecided(ctx context.Context, req DecideRequest, why string) Decision {
	if o, ok, err := ToolDecide.Bail(ctx, req); err != nil {
		return Decision{Verdict: Deny, Rule: "hook", Reason: fmt.Sprintf("a policy hook failed: %v", err)}
	} else if ok {
		return Decision{Verdict: Deny, Rule: "hook:" + o.By, Reason: o.Reason}
	}
	switch p, rule := x.h.restrictions().on(x.call.Viewer, &req.Tool, req.Permissions); p {
	case Off:
		return Decision{Verdict: Hidden, Policy: Off, Rule: rule}
	case Ask, AskOnce:
		return Decision{Verdict: Deny, Policy: p, Rule: rule, Reason: why + ", so nobody can be asked"}
	}
	if x.effect() == Read {
		return Decision{Verdict: Allow, Policy: Auto, Rule: why}
	}
	return Decision{
		Verdict: Deny, Rule: why,
		Reason: why + ", and without one tools that write or execute do not run",
	}
}

// effect is what the tool counts as where policy is silent.
func (x *execution) effect() Effect { return x.def.tool.believedEffect() }

// announce tells the decision about the call; only the first time.
func (x *execution) announce(ctx context.Context, d Decision, digest string) error {
	if x.announced {
		return nil
	}
	x.announced = true
	ev := ToolDecision{Call: x.call, Digest: digest, Decision: d}
	if x.def != nil {
		ev.Tool = x.def.tool
	}
	err := ToolDecided.Emit(ctx, ev)
	if err != nil {
		x.h.root.Logger().Error("tool decided", "tool", x.call.Name, "err", err)
	}
	return err
}
