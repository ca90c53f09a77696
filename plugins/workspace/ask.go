package workspace

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/agentd-host/agentd/core"
)

// askInput is what ask_user takes.
type askInput struct {
	Question string   `json:"question" jsonschema:"minLength=1" jsonschema_description:"What to ask, in a sentence or two."`
	Choices  []string `json:"choices,omitempty" jsonschema:"maxItems=20" jsonschema_description:"Answers to choose from. The user may still say something else."`
}

// patience is how long a person may think. It is no time-out that a call
// outlives in the background: the answer is what the model waits for.
const patience = 30 * time.Minute

func (t *tools) addAsk(l *toolList) {
	background := false
	addTool(l, core.Tool{
		Name: "ask_user", Title: "Ask the user",
		Traits: core.Traits{Effect: core.Read, AlwaysLoad: true, Timeout: patience, Background: &background},
		Description: "Ask the user a question and wait for the answer. " +
			"Use it when the task cannot be done well without knowing, not for permission to run a tool.",
	}, t.ask)
}

func (t *tools) ask(ctx context.Context, call *core.Invocation, in askInput) (core.Result, error) {
	var reply core.Reply
	err := core.Approvals.Use(t.c, ctx, func(ctx context.Context, b core.Broker) (err error) {
		reply, err = b.Ask(ctx, core.Question{
			Session: call.Viewer.Asks(), From: call.Tool.Name, Text: in.Question, Choices: in.Choices,
		})
		return err
	})
	switch {
	case errors.Is(err, core.ErrUnavailable), errors.Is(err, core.ErrNobodyToAsk):
		return core.Result{}, fmt.Errorf("%w now; go on with what you know, and say what you assumed",
			core.ErrNobodyToAsk)
	case err != nil:
		return core.Result{}, err
	case reply.Declined:
		return core.TextResult("[the user would not answer]"), nil
	case reply.Text == "":
		return core.TextResult("[the user gave an empty answer]"), nil
	}
	return core.TextResult(reply.Text), nil
}
