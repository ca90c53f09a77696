package core

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agentd-host/agentd/core/llm"
)

// Result is what came out of a call. It always has parts that a model can
// read, also when Err is set.
type Result struct {
	Parts      []llm.Part      `json:"parts"`
	Structured json.RawMessage `json:"structured,omitempty"`
	// Err is nil on success.
	Err *ToolError `json:"error,omitempty"`
	// Raw is the source's answer as received (an MCP result), for those who
	// pass it on unchanged.
	Raw json.RawMessage `json:"-"`
	// Handle names the background job that goes on with the call.
	Handle string `json:"handle,omitempty"`
	// Truncated is the size in bytes before the cap took its part; 0 = whole.
	Truncated int `json:"truncated,omitempty"`
}

// TextResult is a successful result of one text.
func TextResult(s string) Result { return Result{Parts: []llm.Part{llm.Text(s)}} }

// Text joins the text parts.
func (r Result) Text() string { return llm.PartsText(r.Parts) }

// failedResult is the result of a call that failed.
func failedResult(code ErrorCode, tool, message string, cause error) Result {
	return Result{Err: &ToolError{Code: code, Tool: tool, Message: message, Cause: cause}}
}

// ErrorResult is a failed result with the text as a model reads it. Tools
// that fail in a way that is no Go error return it.
func ErrorResult(code ErrorCode, tool, message string) Result {
	r := failedResult(code, tool, message, nil)
	return r.readable()
}

// readable gives a result parts that a model can read.
func (r Result) readable() Result {
	if len(r.Parts) > 0 && !r.blank() {
		return r
	}
	switch {
	case r.Err != nil:
		r.Parts = []llm.Part{llm.Text(r.Err.forModel())}
	case len(r.Structured) > 0:
		r.Parts = []llm.Part{llm.Text(string(r.Structured))}
	case r.Handle != "":
		r.Parts = []llm.Part{llm.Text("still running in the background as " + r.Handle)}
	default:
		r.Parts = []llm.Part{llm.Text("(no output)")}
	}
	return r
}

// blank tells whether the parts say nothing, as the empty text does that a
// typed tool returns beside an error.
func (r Result) blank() bool {
	return !slices.ContainsFunc(r.Parts, func(p llm.Part) bool {
		return p.Kind != llm.TextPart || p.Text != ""
	})
}

// capped cuts the text of the result to at most limit bytes: the head and the
// tail stay, and between them it says how much there was.
func (r Result) capped(limit int) Result {
	total := 0
	for _, p := range r.Parts {
		total += len(p.Text)
	}
	if limit <= 0 || total <= limit {
		return r
	}
	r.Truncated = total
	r.Parts = capParts(r.Parts, limit, total)
	return r
}

// capParts puts all text into one part, in the place of the first, and keeps
// the parts without text.
func capParts(parts []llm.Part, limit, total int) []llm.Part {
	var text strings.Builder
	var kept []llm.Part
	at := -1
	for _, p := range parts {
		if p.Text == "" {
			kept = append(kept, p)
			continue
		}
		if at < 0 {
			at = len(kept)
			kept = append(kept, llm.Part{Kind: llm.TextPart, Name: p.Name})
		} else {
			text.WriteByte('\n')
		}
		text.WriteString(p.Text)
	}
	kept[at].Text = cutMiddle(text.String(), limit, total)
	return kept
}

// cutMiddle keeps three quarters of limit from the beginning and the rest from
// the end. With a limit too small for the note it keeps the beginning.
func cutMiddle(s string, limit, total int) string {
	note := fmt.Sprintf("\n[... cut: %d bytes in all ...]\n", total)
	room := limit - len(note)
	if room <= 0 {
		return headOf(s, limit)
	}
	head := headOf(s, room*3/4)
	return head + note + tailOf(s, room-len(head))
}

func headOf(s string, n int) string {
	if n >= len(s) {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

func tailOf(s string, n int) string {
	at := max(len(s)-n, 0)
	for at < len(s) && !utf8.RuneStart(s[at]) {
		at++
	}
	return s[at:]
}

// failed turns what a tool's function returned into a result. ctx is the one
// that the function had: its cause says why it was told to end.
func (d *definition) failed(ctx context.Context, r Result, err error) Result {
	if err == nil {
		if r.Err != nil {
			r.Err = d.own(r.Err)
		}
		return r
	}
	var known *ToolError
	if errors.As(err, &known) {
		return Result{Parts: r.Parts, Err: d.own(known), Structured: r.Structured, Raw: r.Raw}
	}
	e := &ToolError{Code: CodeFailed, Tool: d.tool.Name, Message: err.Error(), Plugin: d.owner.Path(), Cause: err}
	if errors.As(err, new(*PanicError)) {
		e.Code, e.Message = CodePanicked, "the plugin "+d.owner.Path()+" panicked: "+err.Error()
	} else if ctx.Err() != nil {
		e.Code, e.Message = endCode(context.Cause(ctx)), endMessage(d, ctx)
	}
	return Result{Parts: r.Parts, Err: e, Structured: r.Structured, Raw: r.Raw}
}

// own is a copy of a tool's error with what the tool may leave out.
func (d *definition) own(e *ToolError) *ToolError {
	own := *e
	own.Tool = cmp.Or(own.Tool, d.tool.Name)
	own.Code = cmp.Or(own.Code, CodeFailed)
	return &own
}

// errTimeout is the cause with which a call past its time-out is cancelled.
var errTimeout = errors.New("the call took too long")

func endCode(cause error) ErrorCode {
	switch {
	case errors.Is(cause, errTimeout):
		return CodeTimeout
	case errors.Is(cause, ErrGraceOver):
		return CodeGone
	}
	return CodeCancelled
}

func endMessage(d *definition, ctx context.Context) string {
	switch cause := context.Cause(ctx); endCode(cause) {
	case CodeTimeout:
		return "it took too long and was stopped"
	case CodeGone:
		return "its plugin " + d.owner.Path() + " was unloaded while it ran"
	default:
		return "it was cancelled: " + cause.Error()
	}
}
