package core_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/llm"
)

func TestClearRequestCoversEventsByTheirKind(t *testing.T) {
	for _, tt := range []struct {
		event string
		types []string
		kind  string
		ok    bool
	}{
		{core.EventMessage, nil, core.MemoryMessages, true},
		{core.EventMessage, []string{core.MemoryImages}, core.MemoryMessages, false},
		{core.EventSummary, []string{core.MemoryMessages}, core.MemorySummaries, false},
		{core.EventSummary, []string{core.MemorySummaries}, core.MemorySummaries, true},
		{core.EventApproval, []string{core.MemoryMessages}, core.MemoryMessages, true},
		{"agent:job", []string{core.MemoryJobs}, core.MemoryJobs, true},
		{"agent:usage", []string{core.MemoryMessages}, core.MemoryMessages, true},
		{"toolsearch:warm", []string{core.MemoryMessages}, "toolsearch", true},
		{"toolsearch:warm", []string{"toolsearch"}, "toolsearch", true},
		{"toolsearch:warm", []string{core.MemoryJobs}, "toolsearch", false},
		{core.EventCleared, nil, "", false},
	} {
		kind, ok := core.ClearRequest{Types: tt.types}.Covers(tt.event)
		if kind != tt.kind || ok != tt.ok {
			t.Errorf("%s with %v: got %q %v, want %q %v", tt.event, tt.types, kind, ok, tt.kind, tt.ok)
		}
	}
}

func TestWithoutImagesLeavesTheRest(t *testing.T) {
	m := llm.Message{Role: llm.ToolRole, Parts: []llm.Part{llm.Text("a"),
		{Kind: llm.ToolResultPart, Result: &llm.ToolResult{CallID: "1", Parts: []llm.Part{
			{Kind: llm.ImagePart, Data: []byte{1}}, llm.Text("b")}}}}}
	data, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	out, n := core.WithoutImages(data)
	if n != 1 || strings.Contains(string(out), `"image"`) || !strings.Contains(string(out), `"b"`) {
		t.Errorf("%d: %s", n, out)
	}
	if again, n := core.WithoutImages(out); n != 0 || string(again) != string(out) {
		t.Errorf("%d: %s", n, again)
	}
}

func TestSessionTitleIsTheFirstLineOfAPerson(t *testing.T) {
	title := func(kind, data string) string {
		return core.SessionTitle(core.SessionEvent{Kind: kind, Data: json.RawMessage(data)})
	}
	if got := title(core.EventMessage, `{"role":"user","parts":[{"kind":"text","text":" one\ntwo"}]}`); got != "one" {
		t.Errorf("got %q", got)
	}
	if got := title(core.EventMessage, `{"role":"assistant","parts":[{"kind":"text","text":"x"}]}`); got != "" {
		t.Errorf("got %q", got)
	}
	long := title(core.EventMessage, `{"role":"user","parts":[{"kind":"text","text":"`+strings.Repeat("é", 99)+`"}]}`)
	if len([]rune(long)) != 60 {
		t.Errorf("got %q", long)
	}
}
