package toolpolicy

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/agentd-host/agentd/core"
)

func TestADefinitionsHashFollowsTheTool(t *testing.T) {
	var known definitions
	schema := json.RawMessage(`{"type":"object"}`)
	for _, tool := range []core.Tool{
		{Name: "a", Description: "one", Parameters: schema},
		{Name: "b", Description: "one", Parameters: schema},
		{Name: "a", Description: "two", Parameters: schema},
		{Name: "a", Description: "two", Parameters: schema[:2]},
		{Name: "a", Description: "two"},
		{Name: "a", Description: "one", Parameters: json.RawMessage(`{"type":"object"}`)},
	} {
		for range 2 {
			if got, want := known.hash(&tool), definitionHash(&tool); got != want {
				t.Errorf("%+v: got %s, want %s", tool, got, want)
			}
		}
	}
}

func TestDefinitionsAreBounded(t *testing.T) {
	var known definitions
	for i := range 2*maxDefinitions + 1 {
		known.hash(&core.Tool{Name: fmt.Sprint(i)})
		if len(known.known) > maxDefinitions {
			t.Fatalf("%d definitions are kept", len(known.known))
		}
	}
}

func TestAKnownDefinitionCostsNothing(t *testing.T) {
	var known definitions
	tool := toolNamed("a", core.Read)
	known.hash(tool)
	if n := testing.AllocsPerRun(100, func() { known.hash(tool) }); n != 0 {
		t.Errorf("got %v allocations, want 0", n)
	}
}
