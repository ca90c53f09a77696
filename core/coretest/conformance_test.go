package coretest_test

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"testing"

	"github.com/agentd-host/agentd/core/coretest"
	"github.com/agentd-host/agentd/core/llm"
)

// TestTheScriptedModelConforms runs the suite against the scripted model: it
// answers as an adapter would.
func TestTheScriptedModelConforms(t *testing.T) {
	kinds := map[int]llm.ErrorKind{
		http.StatusUnauthorized: llm.ErrAuth, http.StatusBadRequest: llm.ErrBadRequest,
		http.StatusServiceUnavailable: llm.ErrOverloaded, http.StatusInternalServerError: llm.ErrTransient,
		http.StatusRequestEntityTooLarge: llm.ErrTooLarge, http.StatusTooManyRequests: llm.ErrRateLimited,
	}
	coretest.TestModel(t, func(t *testing.T, a coretest.Answer) llm.Model {
		if a.Hang {
			return hanging{}
		}
		r := coretest.Reply{Calls: a.Calls, Usage: a.Usage}
		for _, text := range a.Text {
			r.Events = append(r.Events, llm.Event{Kind: llm.TextDelta, Text: text})
		}
		switch {
		case a.Status != 0:
			r.Err = &llm.Error{Kind: kinds[a.Status], Provider: "scripted", Message: a.Message, RetryAfter: a.RetryAfter, ToolIndex: -1}
		case a.Cut:
			r.Err = &llm.Error{Kind: llm.ErrTransient, Provider: "scripted", Message: "cut", ToolIndex: -1}
		case a.Length:
			r.Events, r.Text, r.Reason = nil, "half", llm.Length
		case len(a.Calls) > 0:
			r.Events = nil
			for _, text := range a.Text {
				r.Text += text
			}
		default:
			r.Events = append(r.Events, llm.Event{Kind: llm.UsageReport, Usage: &a.Usage}, llm.Event{Kind: llm.Finish, Reason: llm.Stop})
		}
		return coretest.NewModel(r)
	})
}

// hanging says one word and nothing more until its caller goes.
type hanging struct{}

func (hanging) Describe() llm.Info {
	return llm.Info{Provider: "p", Model: "m", Capabilities: llm.Capabilities{Tools: true}}
}

func (hanging) Stream(ctx context.Context, _ *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		if !yield(llm.Event{Kind: llm.TextDelta, Text: "first"}, nil) {
			return
		}
		<-ctx.Done()
		yield(llm.Event{}, &llm.Error{Kind: llm.ErrCancelled, Provider: "p", Message: "cancelled", ToolIndex: -1, Cause: ctx.Err()})
	}
}

func ExampleNewModel() {
	model := coretest.NewModel(coretest.Calls("now", "{}"), coretest.Says("It is noon."))
	for range 2 {
		answer, err := llm.Collect(model.Stream(context.Background(), &llm.Request{Messages: []llm.Message{llm.UserText("What time is it?")}}))
		if err != nil {
			panic(err)
		}
		for _, call := range answer.Message.Calls() {
			fmt.Println("calls", call.Name)
		}
		if text := answer.Message.Text(); text != "" {
			fmt.Println("says", text)
		}
	}
	fmt.Println(len(model.Requests()), "requests")
	// Output:
	// calls now
	// says It is noon.
	// 2 requests
}
