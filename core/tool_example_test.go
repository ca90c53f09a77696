package core

import (
	"context"
	"fmt"
)

func ExampleTools_Batch() {
	h := New(nil)
	defer h.Close(context.Background())
	tool := func(name string) Tool {
		return Tool{Name: name, Traits: Traits{Effect: Read}, Run: func(context.Context, *Invocation) (Result, error) {
			return TextResult("done"), nil
		}}
	}
	tools := h.Root().Tools()
	_ = tools.Define(tool("old"))
	err := tools.Batch(func(b *ToolBatch) error {
		b.Remove("old")
		b.Define(tool("new"))
		return nil
	})
	for _, e := range tools.Catalog(Viewer{}) {
		fmt.Println(e.Name, e.Effect, e.Owner, err)
	}
	// Output: new read root <nil>
}

func ExampleTools_Use() {
	h := New(nil)
	defer h.Close(context.Background())
	_ = DefineTool(h.Root(), Tool{Name: "greet", Traits: Traits{Effect: Read}},
		func(context.Context, struct{}) (string, error) { return "hello", nil })
	_ = h.Root().Tools().Use(0, func(next Handler) Handler {
		return func(ctx context.Context, call *Invocation) Result {
			fmt.Println("before", call.Name)
			defer fmt.Println("after")
			return next(ctx, call)
		}
	})
	fmt.Println(h.Root().Tools().Execute(context.Background(), Call{Name: "greet"}).Text())
	// Output:
	// before greet
	// after
	// hello
}

func ExampleDefineTool() {
	h := New(nil)
	defer h.Close(context.Background())
	type args struct {
		City string `json:"city" jsonschema_description:"City name, any language"`
	}
	err := DefineTool(h.Root(), Tool{
		Name: "weather_lookup", Description: "Current weather of a city.",
		Traits: Traits{Effect: Read, Parallel: true},
	}, func(ctx context.Context, in args) (string, error) {
		return "sunny in " + in.City, nil
	})
	if err != nil {
		fmt.Println(err)
	}
	tools := h.Root().Tools()
	fmt.Println(tools.Execute(context.Background(), Call{Name: "weather_lookup", Args: []byte(`{"city":"Oslo"}`)}).Text())
	fmt.Println(tools.Execute(context.Background(), Call{Name: "weather_lookup"}).Err)
	fmt.Println(tools.Execute(context.Background(), Call{Name: "wether_lookup"}).Err)
	// Output:
	// sunny in Oslo
	// weather_lookup: invalid arguments: city: missing; want a string
	// wether_lookup: there is no tool "wether_lookup"; did you mean weather_lookup?
}
