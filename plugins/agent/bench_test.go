package agent

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/coretest"
	"github.com/agentd-host/agentd/core/llm"
)

// silent is a model whose time is none: it calls a tool at each step.
type silent struct{ steps int }

func (silent) Describe() llm.Info { return llm.Info{Provider: "silent", Model: "silent"} }

func (s *silent) Stream(context.Context, *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		s.steps++
		_ = yield(llm.Event{Kind: llm.ToolCallStart, ID: fmt.Sprint(s.steps), Name: "tool_001"}, nil) &&
			yield(llm.Event{Kind: llm.ToolCallDelta, Text: fmt.Sprintf(`{"text":"%d"}`, s.steps)}, nil) &&
			yield(llm.Event{Kind: llm.ToolCallEnd}, nil) &&
			yield(llm.Event{Kind: llm.Finish, Reason: llm.ToolCalls}, nil)
	}
}

func (s *silent) Model(string) (llm.Model, error) { return s, nil }
func (s *silent) Ready() (bool, string)           { return true, "" }

// BenchmarkStep500Tools measures the loop without the model's time: one step
// with one call of a tool that does nothing, 500 tools in the registry, 20
// steps a turn.
func BenchmarkStep500Tools(b *testing.B) {
	r := newRig(b, Config{Model: "silent", Budgets: Budgets{Steps: 20}}, coretest.Says("unused"))
	r.provider("silent", &silent{})
	load(b, r.host.Root(), core.Plugin[struct{}]{Name: "many", Apply: func(c *core.Context, _ struct{}) error {
		var errs []error
		for i := range 500 {
			errs = append(errs, core.DefineTool(c, core.Tool{
				Name: fmt.Sprintf("tool_%03d", i), Description: "A tool that does nothing, described in one line.",
				Traits: core.Traits{Effect: core.Read},
			}, echo))
		}
		return errors.Join(errs...)
	}}, struct{}{})
	runner := r.runner()
	b.ReportAllocs()
	steps := 0
	for b.Loop() {
		res, err := runner.Run(b.Context(), core.Turn{Message: llm.UserText("go")})
		if err != nil || res.Stop != core.StopSteps {
			b.Fatalf("%+v %v", res, err)
		}
		steps += res.Steps
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(steps), "µs/step")
}
