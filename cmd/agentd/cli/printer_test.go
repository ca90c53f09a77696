package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentd-host/agentd/core"
)

func TestPrinter_AnswersAndNotesGoApart(t *testing.T) {
	var out, notes bytes.Buffer
	p := &printer{out: &out, notes: &notes}
	for _, ev := range []core.AgentEvent{
		{Kind: core.AgentTurn},
		{Kind: core.AgentText, Text: "Let me "},
		{Kind: core.AgentText, Text: "look."},
		{Kind: core.AgentCallStarted, CallID: "1", Tool: "read_file", Render: "read_file a.txt"},
		{Kind: core.AgentCallFinished, CallID: "1", Tool: "read_file", Render: "3 lines", Duration: 1500 * time.Microsecond},
		{Kind: core.AgentCallFinished, CallID: "2", Tool: "look", Duration: 2 * time.Second},
		{Kind: core.AgentCallFinished, CallID: "3", Tool: "run_command", Code: core.CodeDenied, Duration: time.Millisecond},
		{Kind: core.AgentWarning, Text: "half the\nwindow is used"},
		{Kind: core.AgentReset, Text: "the connection broke"},
		{Kind: core.AgentText, Text: "Done.\n"},
		{Kind: core.AgentFinish, Result: &core.TurnResult{Stop: core.StopSteps, Detail: "30 steps"}},
	} {
		p.show(ev)
	}
	if diff := cmp.Diff("Let me look.\nDone.\n", out.String()); diff != "" {
		t.Errorf("the answer:\n%s", diff)
	}
	want := `✓ read_file a.txt · 3 lines 2ms
✓ look · 2s
✗ run_command · denied 1ms
warning: half the window is used
starting again: the connection broke
turn ended: steps: 30 steps
`
	if diff := cmp.Diff(want, notes.String()); diff != "" {
		t.Errorf("the notes:\n%s", diff)
	}
}

// Nothing that a model or a tool says can move the cursor or colour the
// screen.
func TestE16_PrinterShowsControlCharacters(t *testing.T) {
	var out, notes bytes.Buffer
	p := &printer{out: &out, notes: &notes}
	evil := "a\x1b[2Jb\u202ec\r\u200bd"
	p.show(core.AgentEvent{Kind: core.AgentText, Text: evil})
	p.show(core.AgentEvent{Kind: core.AgentCallStarted, CallID: "1", Tool: "t" + evil, Render: evil})
	p.show(core.AgentEvent{Kind: core.AgentCallFinished, CallID: "1", Tool: "t" + evil, Render: evil})
	p.show(core.AgentEvent{Kind: core.AgentWarning, Text: evil})
	p.show(core.AgentEvent{Kind: core.AgentFinish, Result: &core.TurnResult{Stop: core.StopError, Detail: evil}})
	if bad := strings.IndexAny(out.String()+notes.String(), "\x1b\u202e\r\u200b"); bad >= 0 {
		t.Errorf("%q\n%q", out.String(), notes.String())
	}
}

func TestLines_AreJSONOneALine(t *testing.T) {
	var out bytes.Buffer
	watch := lines(&out)
	watch(core.AgentEvent{Kind: core.AgentText, Text: "<b>&\n"})
	watch(core.AgentEvent{Kind: core.AgentCallFinished, Duration: time.Second})
	rows := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(rows) != 2 || !strings.Contains(rows[1], `"durationMs":1000`) {
		t.Fatalf("%q", out.String())
	}
	var ev core.AgentEvent
	if err := json.Unmarshal([]byte(rows[0]), &ev); err != nil || ev.Text != "<b>&\n" {
		t.Errorf("%v, %v", ev, err)
	}
}

func TestTable_FitsTheWindow(t *testing.T) {
	for _, tc := range []struct {
		limit int
		want  string
	}{
		{0, "NAME  SAYS\na     short\nlong  漢字 and some more words\n"},
		{14, "NAME  SAYS\na     short\nlong  漢字 an…\n"},
	} {
		w := window{columns: tc.limit}
		table(&w, []string{"NAME", "SAYS"}, [][]string{{"a", "short"}, {"long", "漢字 and some more words"}})
		if diff := cmp.Diff(tc.want, w.String()); diff != "" {
			t.Errorf("%d columns:\n%s", tc.limit, diff)
		}
	}
}

// window is output of a given width.
type window struct {
	bytes.Buffer
	columns int
}

func (w *window) width() int { return w.columns }
