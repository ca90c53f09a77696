package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/llm"
)

func printSessions(w io.Writer, list []core.SessionInfo) {
	if len(list) == 0 {
		fmt.Fprintln(w, "no sessions")
		return
	}
	rows := make([][]string, len(list))
	for i, s := range list {
		rows[i] = []string{s.ID, s.Agent, s.Updated.Local().Format("2006-01-02 15:04"), fmt.Sprint(s.Events), s.Title}
	}
	table(w, []string{"ID", "AGENT", "USED", "EVENTS", "TITLE"}, rows)
}

func printSessionID(w io.Writer, info core.SessionInfo) { fmt.Fprintln(w, info.ID) }

func printCleared(w io.Writer, report core.ClearReport) {
	if len(report) == 0 {
		fmt.Fprintln(w, "nothing to clear")
		return
	}
	for _, kind := range slices.Sorted(maps.Keys(report)) {
		fmt.Fprintf(w, "%s: %d\n", kind, report[kind])
	}
}

func printPruned(w io.Writer, gone []core.SessionInfo, dry bool) {
	if len(gone) == 0 {
		fmt.Fprintln(w, "none is that old")
		return
	}
	printSessions(w, gone)
	if !dry {
		fmt.Fprintf(w, "%d deleted\n", len(gone))
	}
}

// printTranscript prints a session as a conversation. Events of kinds that
// only a plugin reads are left out.
func printTranscript(w io.Writer, s sessionLog) {
	fmt.Fprintf(w, "%s  %s  %s\n", s.ID, s.Agent, s.Created.Local().Format("2006-01-02 15:04"))
	answered := answeredCalls(s.Log)
	for _, ev := range s.Log {
		switch ev.Kind {
		case core.EventMessage:
			var m llm.Message
			if json.Unmarshal(ev.Data, &m) == nil {
				printMessage(w, ev.Seq, m, answered)
			}
		case core.EventSummary, core.EventCleared:
			fmt.Fprintf(w, "\n[%d] %s\n", ev.Seq, ev.Kind)
		}
	}
}

// answeredCalls are the ids of the calls that have a result. The others were
// cut off, which a model is told when the session goes on.
func answeredCalls(log []core.SessionEvent) map[string]bool {
	answered := map[string]bool{}
	for _, ev := range log {
		var m llm.Message
		if ev.Kind != core.EventMessage || json.Unmarshal(ev.Data, &m) != nil {
			continue
		}
		for _, p := range m.Parts {
			if p.Result != nil {
				answered[p.Result.CallID] = true
			}
		}
	}
	return answered
}

// maxShown is how much of one call or result a transcript shows, in runes.
const maxShown = 2000

func printMessage(w io.Writer, seq int64, m llm.Message, answered map[string]bool) {
	fmt.Fprintf(w, "\n[%d] %s\n", seq, m.Role)
	for _, p := range m.Parts {
		switch {
		case p.Call != nil:
			fmt.Fprintf(w, "→ %s %s\n", visible(p.Call.Name), visible(cut(p.Call.Args, maxShown)))
			if !answered[p.Call.ID] {
				fmt.Fprintf(w, "✗ %s interrupted\n", visible(p.Call.Name))
			}
		case p.Result != nil:
			mark := "←"
			if p.Result.IsError {
				mark = "✗"
			}
			fmt.Fprintf(w, "%s %s %s\n", mark, visible(p.Result.Name),
				strings.TrimSpace(visibleText(cut(llm.PartsText(p.Result.Parts), maxShown))))
		case p.Kind == llm.TextPart:
			fmt.Fprintln(w, strings.TrimSuffix(visibleText(p.Text), "\n"))
		default:
			fmt.Fprintf(w, "(%s %s)\n", p.Kind, visible(p.Name+p.MIME))
		}
	}
}
