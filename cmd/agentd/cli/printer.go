package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/plugins/toolpolicy"
)

// printer shows a turn's events: the answer on out, all else on notes.
type printer struct {
	out, notes io.Writer
	style      style
	width      func() int // of the window; nil or 0 = no limit
	midLine    bool       // out does not stand at the start of a line

	calls map[string]string // how running calls are shown, by id
}

// style is how text is set off; the zero value leaves it plain.
type style struct{ colour bool }

// styleOf uses colour on terminals only, and not with NO_COLOR set.
func styleOf(f *os.File) style {
	_, plain := os.LookupEnv("NO_COLOR")
	return style{!plain && os.Getenv("TERM") != "dumb" && isTerminal(f)}
}

func (s style) paint(code, text string) string {
	if !s.colour {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (s style) dim(t string) string    { return s.paint("2", t) }
func (s style) bold(t string) string   { return s.paint("1", t) }
func (s style) red(t string) string    { return s.paint("31", t) }
func (s style) green(t string) string  { return s.paint("32", t) }
func (s style) yellow(t string) string { return s.paint("33", t) }

// show prints one event.
func (p *printer) show(ev core.AgentEvent) {
	switch ev.Kind {
	case core.AgentText:
		p.text(ev.Text)
	case core.AgentReset:
		p.note(p.style.yellow("starting again: ") + visible(ev.Text))
	case core.AgentWarning:
		p.note(p.style.yellow("warning: ") + visible(ev.Text))
	case core.AgentCompacted, core.AgentJob, core.AgentCallProgress:
		p.note(p.style.dim(visible(ev.Text)))
	case core.AgentCallAsked:
		p.endLine() // the question begins a line of its own
	case core.AgentCallStarted:
		p.begin(ev)
	case core.AgentCallFinished:
		p.note(p.callLine(ev))
	case core.AgentFinish:
		p.finish(ev.Result)
	}
}

func (p *printer) text(s string) {
	if s == "" {
		return
	}
	fmt.Fprint(p.out, visibleText(s))
	p.midLine = !strings.HasSuffix(s, "\n")
}

// note prints a line that is no part of the answer.
func (p *printer) note(line string) {
	p.endLine()
	fmt.Fprintln(p.notes, line)
}

func (p *printer) endLine() {
	if p.midLine {
		fmt.Fprintln(p.out)
		p.midLine = false
	}
}

// begin remembers how a call is shown: its line comes when it is done.
func (p *printer) begin(ev core.AgentEvent) {
	if p.calls == nil {
		p.calls = map[string]string{}
	}
	if ev.Render != "" && ev.Render != ev.Tool {
		p.calls[ev.CallID] = visible(ev.Render)
	}
}

// callLine is a finished call in one line: the tool, what it was called with,
// what came out, and how long it took.
func (p *printer) callLine(ev core.AgentEvent) string {
	mark := p.style.green("✓")
	if ev.Code != "" {
		mark = p.style.red("✗")
	}
	line := mark + " " + p.style.bold(visible(ev.Tool))
	if with := p.calls[ev.CallID]; with != "" {
		line += " " + strings.TrimPrefix(with, ev.Tool+" ")
	}
	delete(p.calls, ev.CallID)
	outcome := cut(visible(ev.Render), 60)
	if ev.Code != "" {
		outcome = p.style.red(strings.ReplaceAll(string(ev.Code), "_", " "))
	}
	if outcome != "" {
		outcome += " "
	}
	return line + p.style.dim(" · ") + outcome + p.style.dim(shortDuration(ev.Duration))
}

// finish says why a turn ended, unless it simply was done.
func (p *printer) finish(r *core.TurnResult) {
	p.endLine()
	if r == nil || r.Stop == core.StopDone {
		return
	}
	line := "turn ended: " + string(r.Stop)
	if r.Detail != "" {
		line += ": " + visible(r.Detail)
	}
	fmt.Fprintln(p.notes, p.style.yellow(line))
}

func shortDuration(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return d.Round(time.Microsecond).String()
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	}
	return d.Round(100 * time.Millisecond).String()
}

// visible shows one line of foreign text with whatever a terminal would obey
// made visible; line breaks become spaces.
func visible(s string) string {
	return toolpolicy.VisibleLine(strings.Join(strings.Fields(s), " "))
}

// visibleText does the same for running text: line breaks and tabs stay.
func visibleText(s string) string {
	parts := strings.Split(s, "\t")
	for i, part := range parts {
		parts[i] = toolpolicy.Visible(part)
	}
	return strings.Join(parts, "\t")
}

// lines prints events as JSON, one a line.
func lines(w io.Writer) func(core.AgentEvent) {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return func(ev core.AgentEvent) { enc.Encode(ev) } //nolint:errcheck // the reader left; the turn ends by its own means
}
