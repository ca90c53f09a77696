package wire_test

import (
	"encoding/json"
	"fmt"

	"github.com/agentd-host/agentd/core/llm/wire"
)

func ExampleNames() {
	names := wire.NewNames(wire.Common)
	sent := names.Wire("weather.look up")
	fmt.Println(sent, "->", names.Canonical(sent))
	// Output: weather_look_up_1f6c61ba -> weather.look up
}

func ExampleDialect_Parameters() {
	schema, err := wire.OpenAI.Parameters(json.RawMessage(`{"properties": {"ids": {"type": "array"}}}`))
	fmt.Println(string(schema), err)
	// Output: {"properties":{"ids":{"items":{},"type":"array"}},"type":"object"} <nil>
}

func ExampleCalls() {
	var calls wire.Calls
	for _, piece := range []wire.Delta{
		{ID: "a", Name: "read_file"}, {Args: `{"path":`}, {Args: `"x"}`}, // no index at all
		{ID: "b", Name: "now", Args: "{}"},
	} {
		for _, ev := range calls.Add(piece) {
			fmt.Printf("%s %d %s%s\n", ev.Kind, ev.Index, ev.Name, ev.Text)
		}
	}
	// Output:
	// tool_call_start 0 read_file
	// tool_call_delta 0 {"path":
	// tool_call_delta 0 "x"}
	// tool_call_start 1 now
	// tool_call_delta 1 {}
}
