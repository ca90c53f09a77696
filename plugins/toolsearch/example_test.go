package toolsearch_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/plugins/toolsearch"
)

// A host with more tools than a model should read: one of them is shown, the
// others are found.
func Example() {
	h := core.New(&core.Options{Logger: slog.New(slog.DiscardHandler)})
	ctx := h.Root()
	defer func() { _ = h.Close(ctx) }()
	for _, name := range []string{"send_mail", "read_mail", "book_room", "play_music"} {
		tool := core.Tool{Name: name, Run: func(context.Context, *core.Invocation) (core.Result, error) {
			return core.TextResult("done"), nil
		}}
		if err := ctx.Tools().Define(tool); err != nil {
			fmt.Println(err)
		}
	}
	most := 2
	f, err := core.Load(ctx, toolsearch.Plugin, toolsearch.Config{
		MaxDirectTools: &most, AlwaysDirectTools: []string{"book_room"}, ConfigTools: "none",
	})
	if err == nil {
		err = f.Ready(ctx)
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	step, err := core.ToolSurface.Run(ctx, core.Surface{Tools: ctx.Tools().List(core.Viewer{})},
		func(_ context.Context, s core.Surface) (core.Surface, error) { return s, nil })
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, t := range step.Tools {
		fmt.Println(t.Name)
	}
	found := ctx.Tools().Execute(ctx, core.Call{Name: "tool_search", Args: json.RawMessage(`{"query":"e-mail to Bob","limit":1}`)})
	var answer struct{ Tools []struct{ Name string } }
	if err := json.Unmarshal([]byte(found.Text()), &answer); err != nil {
		fmt.Println(err)
	}
	fmt.Println(answer.Tools)
	// Output:
	// book_room
	// tool_search
	// tool_describe
	// tool_call
	// [{read_mail}]
}
