package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/llm"
)

// offer makes the agent a tool of the others. The tool has effect read: what
// the agent does in its turn is decided call by call, and asked through the
// session that began it.
func (a *agent) offer(h *hub) error {
	o := a.config.Load().Offer
	if o == nil {
		return nil
	}
	name := cmp.Or(o.Tool, "agent_"+a.name)
	type task struct {
		Task string `json:"task" jsonschema:"minLength=1" jsonschema_description:"What to do, with everything that is needed to do it: the agent sees nothing of this conversation."`
	}
	return errors.Join(
		a.c.Tools().Filter(core.Filter{Exclude: []string{name}}), // an agent does not call itself
		core.DefineTool(a.c, core.Tool{
			Name: name, Title: "Agent " + a.name, Description: o.Description,
			Traits: core.Traits{Effect: core.Read, Parallel: true},
		}, func(ctx context.Context, in task) (string, error) { return a.serve(ctx, h, in.Task) }),
	)
}

// serve runs one turn of the agent in a session of its own.
func (a *agent) serve(ctx context.Context, h *hub, task string) (string, error) {
	in := core.Turn{Agent: a.name, Message: llm.UserText(task), Depth: 1}
	caller := turnOf(ctx)
	if caller != nil {
		in.User, in.Depth = caller.viewer.User, caller.depth+1
		in.Parent = caller.viewer.Asks()
		in.Watch = caller.progress(ctx, a.name)
	}
	res, err := h.Run(ctx, in)
	if caller != nil {
		caller.add(res)
	}
	switch {
	case err != nil:
		return "", err
	case res.Stop == core.StopDone && res.Text != "":
		return res.Text, nil
	case res.Stop == core.StopDone:
		return "", errors.New(res.Detail)
	case res.Text == "":
		return "", fmt.Errorf("the agent ended without an answer: %s: %s", res.Stop, res.Detail)
	}
	return fmt.Sprintf("%s\n[the agent was ended early: %s: %s]", res.Text, res.Stop, res.Detail), nil
}

// progress shows a sub-agent's calls as progress of the call that began it.
func (t *turn) progress(ctx context.Context, name string) func(core.AgentEvent) {
	id := callOf(ctx)
	return func(ev core.AgentEvent) {
		if ev.Kind == core.AgentCallStarted {
			t.emit(core.AgentEvent{
				Kind: core.AgentCallProgress, CallID: id, Tool: ev.Tool,
				Text: name + ": " + cmp.Or(ev.Render, ev.Tool),
			})
		}
	}
}

// sameRegistrations tells whether two configs register the same with the
// kernel.
func sameRegistrations(a, b Config) bool {
	return reflect.DeepEqual(a.Filter, b.Filter) && reflect.DeepEqual(a.Offer, b.Offer)
}
