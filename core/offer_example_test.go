package core_test

import (
	"context"
	"fmt"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/llm"
)

// A prompt and a resource are offered like a tool: from Apply, for as long as
// the plugin runs.
func ExamplePrompts_Define() {
	h := core.New(nil)
	ctx := context.Background()
	notes := core.Plugin[struct{}]{Name: "notes", Apply: func(c *core.Context, _ struct{}) error {
		return c.Prompts().Define(core.Prompt{
			Name: "summarise", Description: "Summarise a note.",
			Arguments: []core.PromptArgument{{Name: "note", Required: true}},
			Get: func(_ context.Context, args map[string]string) ([]llm.Message, error) {
				return []llm.Message{llm.UserText("Summarise the note " + args["note"] + " in one line.")}, nil
			},
		})
	}}
	f, _ := core.Load(h.Root(), notes, struct{}{})
	fmt.Println(f.Ready(ctx))
	messages, _ := h.Root().Prompts().Get(ctx, "summarise", map[string]string{"note": "inbox"})
	fmt.Println(messages[0].Text())
	_, err := h.Root().Prompts().Get(ctx, "summarise", nil)
	fmt.Println(err)
	fmt.Println(h.Close(ctx))
	// Output:
	// <nil>
	// Summarise the note inbox in one line.
	// prompt "summarise": an argument is missing: note
	// <nil>
}

func ExampleResources_Define() {
	h := core.New(nil)
	ctx := context.Background()
	texts := map[string]string{"inbox": "Buy milk."}
	notes := core.Plugin[struct{}]{Name: "notes", Apply: func(c *core.Context, _ struct{}) error {
		return c.Resources().Define(core.Resource{
			URI: "note://{name}", Name: "notes", MIME: "text/plain",
			Read: func(_ context.Context, _ string, vars map[string]string) ([]llm.Part, error) {
				text, ok := texts[vars["name"]]
				if !ok {
					return nil, nil // there is no such note
				}
				return []llm.Part{llm.Text(text)}, nil
			},
		})
	}}
	f, _ := core.Load(h.Root(), notes, struct{}{})
	fmt.Println(f.Ready(ctx))
	parts, _ := h.Root().Resources().Read(ctx, "note://inbox")
	fmt.Println(parts[0].URI, parts[0].Text)
	_, err := h.Root().Resources().Read(ctx, "note://attic")
	fmt.Println(err)
	fmt.Println(h.Close(ctx))
	// Output:
	// <nil>
	// note://inbox Buy milk.
	// resource "note://attic": there is no such resource
	// <nil>
}
