package agent_test

import (
	"context"
	"fmt"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/coretest"
	"github.com/agentd-host/agentd/core/llm"
	"github.com/agentd-host/agentd/plugins/agent"
)

// A host with the hub, one agent and a model. An adapter registers its model
// like the plugin "adapter" here.
func Example() {
	host := core.New(nil)
	ctx := context.Background()
	defer host.Close(ctx)

	model := coretest.NewModel(coretest.Calls("now", "{}"), coretest.Says("It is noon."))
	adapter := core.Plugin[struct{}]{
		Name: "adapter", Needs: core.Needs(core.Models, core.Agents),
		Apply: func(c *core.Context, _ struct{}) error {
			models, _ := core.Models.Get(c)
			return models.Add(c, "scripted", model)
		},
	}
	clock := core.Plugin[struct{}]{
		Name: "clock",
		Apply: func(c *core.Context, _ struct{}) error {
			return core.DefineTool(c, core.Tool{Name: "now", Traits: core.Traits{Effect: core.Read}},
				func(context.Context, struct{}) (string, error) { return "12:00", nil })
		},
	}
	var user *core.Context
	caller := core.Plugin[struct{}]{
		Name: "caller", Needs: core.Needs(core.Agents),
		Apply: func(c *core.Context, _ struct{}) error { user = c; return nil },
	}
	ready := func(f *core.Fiber, err error) {
		if err == nil {
			err = f.Ready(ctx)
		}
		if err != nil {
			panic(err)
		}
	}
	ready(core.Load(host.Root(), agent.Hub, struct{}{}))
	ready(core.Load(host.Root(), adapter, struct{}{}))
	ready(core.Load(host.Root(), clock, struct{}{}))
	ready(core.Load(host.Root(), agent.Plugin, agent.Config{System: "Be brief."}))
	ready(core.Load(host.Root(), caller, struct{}{}))

	err := core.Agents.Use(user, ctx, func(ctx context.Context, agents core.AgentRunner) error {
		res, err := agents.Run(ctx, core.Turn{
			Message: llm.UserText("What time is it?"),
			Watch: func(ev core.AgentEvent) {
				if ev.Kind == core.AgentCallStarted {
					fmt.Println("calls", ev.Tool)
				}
			},
		})
		fmt.Println(res.Text, res.Stop, res.Steps)
		return err
	})
	if err != nil {
		panic(err)
	}
	// Output:
	// calls now
	// It is noon. done 2
}
