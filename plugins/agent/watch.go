package agent

import (
	"context"
	"errors"

	"github.com/agentd-host/agentd/core"
)

// innermost is the order of the middleware that sees a call begin: behind all
// others, so that what it sees does run.
const innermost = 1 << 20

// watch brings what the host tells of calls into the stream of their turn.
func (h *hub) watch() error {
	return errors.Join(
		core.ApprovalAsked.On(h.c, h.asked),
		core.ToolDecided.On(h.c, h.decided),
		core.ToolProgress.On(h.c, h.progressed),
		core.ToolDone.On(h.c, h.innerDone),
		h.c.Tools().Use(innermost, h.startedBy),
	)
}

func (h *hub) asked(ctx context.Context, a core.Approval) error {
	if t := h.running(a.Turn); t != nil {
		t.emit(core.AgentEvent{
			Kind: core.AgentCallAsked, CallID: callOf(ctx), Tool: a.Tool, Args: string(a.Args), Text: a.Reason,
		})
	}
	return nil
}

// decided tells of refusals, and of what a person or a grant allowed.
func (h *hub) decided(_ context.Context, d core.ToolDecision) error {
	t := h.running(d.Call.Turn)
	if t == nil {
		return nil
	}
	ev := core.AgentEvent{CallID: d.Call.ID, Tool: d.Call.Name, Text: d.Decision.Reason}
	switch {
	case d.Decision.Verdict != core.Allow:
		ev.Kind = core.AgentCallDenied
		ev.Code = core.CodeDenied
		if d.Decision.Nobody {
			ev.Code = core.CodeNobody
			t.refusedByNobody(d.Call.Name)
		}
	case d.Decision.Policy == core.Ask || d.Decision.Policy == core.AskOnce:
		ev.Kind = core.AgentCallApproved
	default:
		return nil
	}
	t.emit(ev)
	return nil
}

// progressed tells how far a call has come.
func (h *hub) progressed(_ context.Context, p core.ToolProgressed) error {
	if t := h.running(p.Call.Turn); t != nil {
		t.emit(core.AgentEvent{
			Kind: core.AgentCallProgress, CallID: p.Call.ID, Tool: p.Call.Name, Text: p.Progress.String(),
		})
	}
	return nil
}

// innerDone tells of the end of calls that a tool made on behalf of a turn;
// of the model's own calls the loop tells itself.
func (h *hub) innerDone(_ context.Context, o core.ToolOutcome) error {
	if o.Call.Via == core.ViaModel {
		return nil
	}
	t := h.running(o.Call.Turn)
	if t == nil {
		return nil
	}
	ev := core.AgentEvent{
		Kind: core.AgentCallFinished, CallID: o.Call.ID, Tool: o.Call.Name,
		Render: renderResult(&o.Tool, o.Result), Duration: o.Duration,
	}
	if o.Result.Err != nil {
		ev.Code, ev.Text = o.Result.Err.Code, o.Result.Err.Message
	}
	t.emit(ev)
	return nil
}

// startedBy tells that a tool's function is about to be entered.
func (h *hub) startedBy(next core.Handler) core.Handler {
	return func(ctx context.Context, call *core.Invocation) core.Result {
		if t := h.running(call.Turn); t != nil {
			t.emit(core.AgentEvent{
				Kind: core.AgentCallStarted, CallID: call.ID, Tool: call.Name,
				Args: string(call.Args), Render: renderCall(&call.Tool, call.Args),
			})
		}
		return next(ctx, call)
	}
}
