package core_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentd-host/agentd/core"
)

func TestAgentEvent_DurationsAreMillisecondsInJSON(t *testing.T) {
	ev := core.AgentEvent{
		Kind: core.AgentFinish, Tool: "read_file", Duration: 1234567 * time.Microsecond,
		Result: &core.TurnResult{Session: "s", Stop: core.StopDone, Elapsed: 1500 * time.Microsecond},
	}
	raw, err := json.Marshal(ev)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"durationMs":1234.567`, `"elapsedMs":1.5`, `"tool":"read_file"`, `"stop":"done"`} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("%s lacks %s", raw, want)
		}
	}
	var back core.AgentEvent
	if err := json.Unmarshal(raw, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(ev, back); diff != "" {
		t.Error(diff)
	}
}
