package core

import (
	"context"
	"time"
)

// syncTimeout is after how long a call is handed to the background, where its
// traits say nothing and there is one.
const syncTimeout = 180 * time.Second

// A flight is a tool's function under way, in a goroutine of its own.
type flight struct {
	x    *execution
	call *call // through the tool's gate; its context is the function's
	done chan Result

	// Only of one that may go on in the background:
	cut    context.CancelCauseFunc // ends the context that outlives the caller's
	detach func() bool             // lets go of the caller's
}

// enter calls the tool's function and waits for it, its time-out, or the end
// of ctx.
func (x *execution) enter(ctx context.Context, inv *Invocation) Result {
	timeout, background := x.limits(inv.Args)
	f := x.launch(ctx, background)
	if timeout > 0 {
		x.run.clock = newClock(timeout)
		defer x.run.clock.stop()
	}
	go func() {
		reserveStack(0)
		f.run(inv)
	}()
	select {
	case r := <-f.done:
		return r
	case <-f.call.Done():
		return f.land()
	case <-x.run.clock.done():
	}
	if background && f.adopt(ctx) {
		return Result{Handle: x.handle}
	}
	f.call.cancel(errTimeout)
	return f.land()
}

// reserveStack grows the stack of a new goroutine while there is nothing on it
// to move. Calls and results are passed by value through a dozen frames: it
// would else grow step by step, each time with all of them, which is a third
// of what a call costs. at is 0; a constant would let the compiler see that
// nobody needs the room.
//
//go:noinline
func reserveStack(at int) byte {
	var room [6 << 10]byte
	room[at] = 1
	return room[len(room)-1-at]
}

// limits tells the time-out of the call, 0 for none, and whether it may go on
// in the background. A bridge leaves both to the inner call.
func (x *execution) limits(args []byte) (timeout time.Duration, background bool) {
	if name := x.def.innerName(args); name != "" && name != x.call.Name {
		return 0, false
	}
	traits := x.def.tool.Traits
	if x.call.Via == ViaMCP {
		return traits.Timeout, false // a client waits for its own answer: a handle is nothing to it
	}
	there := x.place.active(Background.h) != nil
	background = there && (traits.Background == nil || *traits.Background)
	if traits.Timeout == 0 && there {
		return syncTimeout, background
	}
	return traits.Timeout, background
}

// launch enters the tool's gate once more, for a function that may outlast the
// call. What may go on in the background must not end with ctx.
func (x *execution) launch(ctx context.Context, background bool) *flight {
	f := &flight{x: x, done: make(chan Result, 1)}
	base := ctx
	if background {
		base, f.cut = context.WithCancelCause(context.WithoutCancel(ctx))
		f.detach = context.AfterFunc(ctx, func() { f.cut(context.Cause(ctx)) })
	}
	f.call = x.def.gate.again(base, &x.def.node)
	return f
}

// close releases the contexts.
func (f *flight) close() {
	f.call.cancel(nil)
	if f.cut != nil {
		f.detach()
		f.cut(nil)
	}
}

// run calls the function under the owner's lease.
func (f *flight) run(inv *Invocation) {
	x := f.x
	x.entered.Store(true)
	inv.Started = time.Now()
	writes := x.effect() != Read
	if writes {
		x.h.tools.writers.begin(f)
	}
	var r Result
	err := x.def.owner.guard("", &x.def.node, func() (err error) {
		r, err = x.def.runFunc(&runCtx{f.call, &x.run, inv}, inv)
		return err
	})
	if err == nil && r.Err == nil && f.call.Err() != nil && len(r.Parts) == 0 && r.Structured == nil {
		err = context.Cause(f.call) // it ended because it was told to, and has nothing to show
	}
	r = x.def.failed(f.call, r, err)
	if writes {
		x.h.tools.writers.end(f)
	}
	f.call.leave()
	x.def.left()
	f.done <- r
	f.close() // not before: the end of the context means that it was told to end
}

// land waits for a function that was told to end, a grace long, then answers
// without it. The owner's teardown goes on waiting for it.
func (f *flight) land() Result {
	t := time.NewTimer(f.x.h.opts.Grace)
	defer t.Stop()
	select {
	case r := <-f.done:
		return r
	case <-t.C:
	}
	x, cause := f.x, context.Cause(f.call)
	x.h.root.Logger().Warn("tool does not end", "tool", x.call.Name, "plugin", x.def.owner.Path(), "cause", cause)
	r := failedResult(endCode(cause), x.call.Name, endMessage(x.def, f.call), cause)
	r.Err.Plugin = x.def.owner.Path()
	return r
}

// adopt hands the call to the background, false if nobody takes it. From then
// on the result is told when the function ends.
func (f *flight) adopt(ctx context.Context) bool {
	x := f.x
	prov := x.place.active(Background.h)
	if prov == nil {
		return false
	}
	lease, ok := prov.node.gate.begin(ctx, &prov.node)
	if !ok {
		return false
	}
	defer lease.end()
	final := make(chan Result, 1)
	job := Job{Call: x.call, Tool: x.def.tool, Done: final, Cancel: func() { f.call.cancel(context.Canceled) }}
	err := prov.act.fiber.guard("adoption by", &prov.node, func() (err error) {
		x.handle, err = (*prov.value.(*Adopter)).Adopt(lease, job)
		return err
	})
	if err != nil {
		x.h.root.Logger().Warn("not taken to the background", "tool", x.call.Name, "err", err)
		return false
	}
	if !f.detach() {
		f.call.cancel(context.Cause(ctx)) // the caller went at the same moment
	}
	x.adopted = true
	later := x.h.hosted(context.WithoutCancel(ctx))
	go func() { final <- x.complete(later, f.wait()) }()
	return true
}

// wait is for as long as the function takes, unless it was told to end.
func (f *flight) wait() Result {
	select {
	case r := <-f.done:
		return r
	case <-f.call.Done():
		return f.land()
	}
}
