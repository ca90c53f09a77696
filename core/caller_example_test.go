package core_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/llm"
)

// client stands for whoever serves the calls of others.
type client struct{ core.Caller }

func (client) Ask(_ context.Context, qs ...core.Inquiry) error {
	for _, q := range qs {
		if e, ok := q.(*core.Elicitation); ok {
			fmt.Println("asked:", e.Text)
			e.Reply = core.Reply{Data: json.RawMessage(`{"city":"Oslo"}`)}
		}
	}
	return nil
}

// A tool asks whoever called it. One who can't be asked is core.ErrNobodyToAsk.
func ExampleCallerOf() {
	h := core.New(nil)
	ctx := context.Background()
	err := core.DefineTool(h.Root(), core.Tool{Name: "forecast", Traits: core.Traits{Effect: core.Read}},
		func(ctx context.Context, _ struct{}) (string, error) {
			form := core.Elicitation{Text: "For which city?", Schema: json.RawMessage(
				`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`)}
			if err := core.CallerOf(ctx).Ask(ctx, &form); err != nil {
				return "", err
			}
			if form.Reply.Declined {
				return "", errors.New("no forecast without a city")
			}
			var in struct{ City string }
			err := json.Unmarshal(form.Reply.Data, &in)
			return "sunny in " + in.City, err
		})
	fmt.Println(err)
	asked := core.WithCaller(ctx, client{})
	fmt.Println(h.Root().Tools().Execute(asked, core.Call{Name: "forecast"}).Text())
	fmt.Println(h.Root().Tools().Execute(ctx, core.Call{Name: "forecast"}).Err.Code)
	fmt.Println(h.Close(ctx))
	// Output:
	// <nil>
	// asked: For which city?
	// sunny in Oslo
	// failed
	// <nil>
}

// What is not called by anybody, a goroutine for example, can ask as well: the
// person behind a session, and this agent's model.
func ExampleHostCaller() {
	h := core.New(nil)
	who := core.HostCaller(h.Root(), core.Viewer{Session: "s1"}, "the clock")
	err := who.Ask(context.Background(), &core.Sampling{
		Request: llm.Request{Messages: []llm.Message{llm.UserText("What time is it?")}},
	})
	fmt.Println(err)
	fmt.Println(h.Close(context.Background()))
	// Output:
	// nobody can be asked: no plugin is loaded that could answer a question to a model
	// <nil>
}
