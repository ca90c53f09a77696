package skills_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/plugins/skills"
)

// A plugin brings a skill along.
func ExamplePlugin() {
	ctx := context.Background()
	host := core.New(nil)
	defer host.Close(ctx)
	weather := core.Plugin[struct{}]{
		Name:  "weather",
		Needs: core.Needs(core.Skills),
		Apply: func(c *core.Context, _ struct{}) error {
			set, _ := core.Skills.Get(c)
			return set.Add(c, core.Skill{
				Name:        "forecast",
				Description: "How to read a forecast.",
				Text:        "Look at the wind first.\n",
			})
		},
	}
	if _, err := core.Load(host.Root(), skills.Plugin, skills.Config{}); err != nil {
		fmt.Println(err)
		return
	}
	f, err := core.Load(host.Root(), weather, struct{}{})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := f.Ready(ctx); err != nil {
		fmt.Println(err)
		return
	}
	r := host.Root().Tools().Execute(ctx, core.Call{Name: "skill", Args: json.RawMessage(`{"name": "forecast"}`)})
	fmt.Print(r.Text())
	// Output:
	// Look at the wind first.
}
