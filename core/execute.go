package core

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/agentd-host/agentd/core/schema"
)

const (
	// maxCallDepth is how deep tools may call tools.
	maxCallDepth = 16
	// nearNames is how many similar names an unknown one is answered with.
	nearNames = 3
)

// Execute runs a call to its end, and is the only way to run a tool:
//
//	find the tool as the viewer sees it
//	read the arguments; ToolBefore may rewrite them; check them
//	the middlewares in their order, the decision among them
//	the function, under the owner's lease, within the time-out
//	ToolAfter may replace the result; its text is capped; ToolDone
//
// It never fails otherwise than with a result that says why. A cancelled ctx
// cancels the function. A call that passes its time-out is handed to the
// [Background] if there is one and its traits allow: the result then has a
// Handle, and ToolDone comes when the job ends.
func (t *Tools) Execute(ctx context.Context, call Call) Result {
	h := t.c.host
	x := &execution{h: h, tools: t, place: t.place(call.Viewer), call: call, began: time.Now()}
	if x.call.ID == "" {
		x.call.ID = h.tools.ids.next()
	}
	x.call.Args = tellable(call.Args)
	ctx = h.hosted(ctx)
	x.run.x = x
	if parent, ok := ctx.Value(runningKey{}).(*running); ok {
		x.run.parent, x.run.depth = parent, parent.depth+1
	}
	result := x.attempt(ctx)
	if x.adopted {
		return result.readable().capped(call.MaxResult)
	}
	return x.complete(ctx, result)
}

// An execution is one call of Execute.
type execution struct {
	h     *Host
	tools *Tools
	place *Context // where the viewer looks from
	call  Call
	def   *definition // nil: unknown
	began time.Time
	run   running

	checked   json.RawMessage         // arguments as they passed the schema
	approved  json.RawMessage         // arguments that were decided about
	stop      context.CancelCauseFunc // ends what the middlewares and the function run with; nil without any
	held      *call                   // keeps the tool from the decision on
	announced bool
	entered   atomic.Bool
	adopted   bool
	handle    string // of the job, if adopted
}

// attempt goes from the name to the raw result.
func (x *execution) attempt(ctx context.Context) Result {
	if x.run.depth > maxCallDepth {
		message := fmt.Sprintf("tools call tools more than %d deep", maxCallDepth)
		return failedResult(CodeDenied, x.call.Name, message, nil)
	}
	if e := x.resolve(); e != nil {
		return Result{Err: e}
	}
	if e := x.prepare(ctx); e != nil {
		return Result{Err: e}
	}
	inv := &Invocation{Call: x.call, Tool: x.def.tool, Started: time.Now(), run: &x.run, caller: callerIn(ctx)}
	chain := x.h.chain()
	if chain.layers > 0 {
		x.run.nexts = make([]atomic.Int32, chain.layers)
		ctx, x.stop = context.WithCancelCause(ctx)
		defer x.stop(nil)
	}
	return chain.first(ctx, inv)
}

// resolve finds the tool. One that is closed may just have been replaced: it
// is gone only if it is still the one that is found.
func (x *execution) resolve() *ToolError {
	for {
		def, hidden := x.tools.lookup(x.call.Viewer, x.call.Name)
		if def == nil {
			x.def = hidden
			return x.unknown()
		}
		if def.gate.open() {
			x.def = def
			return nil
		}
		if def == x.def {
			return x.gone()
		}
		x.def = def
	}
}

// errWrapper is the cause when a middleware's grace is over.
var errWrapper = errors.New("a plugin that takes part in it was unloaded")

// interrupt ends the call because a middleware has to go.
func (x *execution) interrupt(error) { x.stop(errWrapper) }

// unknown is the answer to a name that the viewer does not see, whether or not
// there is such a tool.
func (x *execution) unknown() *ToolError {
	view := x.tools.view(x.call.Viewer)
	names := make([]string, len(view.defs))
	for i, d := range view.defs {
		names[i] = d.tool.Name
	}
	names = slices.DeleteFunc(names, func(n string) bool { return n == x.call.Name })
	near := schema.Near(x.call.Name, names, nearNames)
	message := fmt.Sprintf("there is no tool %q", x.call.Name)
	if len(near) > 0 {
		message += "; did you mean " + strings.Join(near, " or ") + "?"
	}
	return &ToolError{Code: CodeUnknown, Tool: x.call.Name, Message: message, Near: near}
}

// gone is the answer for a tool that takes no more calls.
func (x *execution) gone() *ToolError {
	plugin := x.def.owner.Path()
	message := "its plugin " + plugin + " is unloading"
	if x.def.act.accepts() {
		message = "its plugin " + plugin + " removed it while the call was on its way"
	}
	return &ToolError{Code: CodeGone, Tool: x.call.Name, Message: message, Plugin: plugin, Cause: ErrToolGone}
}

// prepare settles the arguments.
func (x *execution) prepare(ctx context.Context) *ToolError {
	args, err := normalArgs(x.call.Args)
	if err != nil {
		return badArgs(x.def, err)
	}
	x.call.Args = args
	if x.h.listened(ToolBefore.h) {
		if e := x.before(ctx); e != nil {
			return e
		}
	}
	if e := x.def.checkArgs(x.call.Args); e != nil {
		return e
	}
	x.checked = x.call.Args
	return nil
}

// before lets listeners rewrite the arguments, and nothing else of the call.
func (x *execution) before(ctx context.Context) *ToolError {
	draft := x.call
	draft.Args = bytes.Clone(x.call.Args)
	if err := ToolBefore.Emit(ctx, &draft); err != nil {
		return &ToolError{
			Code: CodeDenied, Tool: x.call.Name, Message: "refused: " + err.Error(),
			Rule: "tool:before", Cause: err,
		}
	}
	args, err := normalArgs(draft.Args)
	if err != nil {
		return badArgs(x.def, err)
	}
	x.call.Args = args
	return nil
}

// runStep is the innermost handler.
func runStep(ctx context.Context, inv *Invocation) Result {
	x := inv.run.x
	if !bytes.Equal(inv.Args, x.approved) {
		const message = "the arguments were changed after it was decided about them"
		return failedResult(CodeDenied, x.call.Name, message, nil)
	}
	own := *inv
	own.Call, own.Tool, own.Args = x.call, x.def.tool, bytes.Clone(x.approved)
	return x.enter(ctx, &own)
}

// waiting calls f with all clocks held.
func (x *execution) waiting(f func()) {
	if x.run.parent == nil {
		f()
		return
	}
	defer x.run.parent.hold()()
	f()
}

// complete settles the final result and tells it.
func (x *execution) complete(ctx context.Context, r Result) Result {
	r = r.readable()
	var tool Tool
	if x.def != nil {
		tool = x.def.tool
	}
	entered := x.entered.Load()
	if entered && x.h.listened(ToolAfter.h) {
		if err := ToolAfter.Emit(ctx, &ToolFinal{Call: x.call, Tool: tool, Result: &r}); err != nil {
			x.h.root.Logger().Warn("tool after", "tool", x.call.Name, "err", err)
		}
		r = r.readable()
	}
	r = r.capped(x.call.MaxResult)
	x.undecidedYet(ctx, r)
	outcome := ToolOutcome{Call: x.call, Tool: tool, Result: r, Entered: entered, Duration: time.Since(x.began)}
	if err := ToolDone.Emit(ctx, outcome); err != nil {
		x.h.root.Logger().Error("tool done", "tool", x.call.Name, "err", err)
	}
	return r
}

// undecidedYet tells the decision about a call that ended before there was one.
func (x *execution) undecidedYet(ctx context.Context, r Result) {
	if x.announced {
		return
	}
	d := Decision{Verdict: Deny, Rule: "not reached"}
	if r.Err != nil {
		d.Rule, d.Reason = string(r.Err.Code), r.Err.Message
		if r.Err.Code == CodeUnknown {
			d.Verdict = Hidden
		}
	}
	_ = x.announce(ctx, d, ArgsDigest(x.call.Name, x.call.Args))
}

// callIDs numbers the calls that come without an id. It is part of a host.
type callIDs struct{ last atomic.Uint64 }

func (i *callIDs) next() string { return "call-" + strconv.FormatUint(i.last.Add(1), 10) }

// hosted returns ctx such that events can be emitted with it: a context that
// belongs to no host, or to another one, is tied to h.
func (h *Host) hosted(ctx context.Context) context.Context {
	if fr := frameOf(ctx); fr != nil && fr.host == h {
		return ctx
	}
	return &frameCtx{ctx, frame{host: h, fiber: h.root.fiber}}
}
