package agent

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/llm"
)

// The kinds of events that the loop writes beside core's.
const (
	eventTurn   = "agent:turn"   // turnRecord: a turn began
	eventUsage  = "agent:usage"  // usageRecord: what one step used
	eventFinish = "agent:finish" // core.TurnResult: how a turn ended
	eventShort  = "agent:short"  // shortRecord: old results are shown shortened
	eventJob    = "agent:job"    // jobRecord: a background job began or ended
)

type turnRecord struct {
	Turn  string `json:"turn"`
	Agent string `json:"agent"`
	User  string `json:"user,omitempty"`
}

type usageRecord struct {
	Turn  string    `json:"turn"`
	Model string    `json:"model"`
	Usage llm.Usage `json:"usage"`
	Cost  float64   `json:"cost,omitempty"`
}

// shortRecord says that results up to and with Through are shown with at most
// Limit bytes of text each.
type shortRecord struct {
	Through int64 `json:"through"`
	Limit   int   `json:"limit"`
}

// interruptedText is what a model reads in place of a result that never came.
const interruptedText = "interrupted: the call was cut off before it answered; " +
	"whether it had an effect is not known"

// entry is a message of the conversation with the event that it came from.
type entry struct {
	seq int64
	msg llm.Message
}

// history is a conversation folded from a session's events. It is always one
// that a model can go on with: every call has exactly one result, in the order
// of the calls, whatever was cut off.
type history struct {
	entries []entry
	ids     map[string]bool // call ids that were used
	usage   llm.Usage
	cost    float64
	jobs    map[string]jobRecord // by handle, the latest state
}

// fold reads a session's events.
func fold(events []core.SessionEvent) (*history, error) {
	h := &history{ids: map[string]bool{}, jobs: map[string]jobRecord{}}
	for _, ev := range events {
		if err := h.add(ev); err != nil {
			return nil, fmt.Errorf("event %d (%s): %w", ev.Seq, ev.Kind, err)
		}
	}
	return h, nil
}

// Spent sums what the turns of a session used and cost, by the prices that
// were configured then. events is the session's log.
func Spent(events []core.SessionEvent) (llm.Usage, float64, error) {
	h, err := fold(events)
	if err != nil {
		return llm.Usage{}, 0, err
	}
	return h.usage, h.cost, nil
}

// add takes the next event. Kinds of other plugins are passed over.
func (h *history) add(ev core.SessionEvent) error {
	switch ev.Kind {
	case core.EventMessage:
		return decode[llm.Message](h, ev)
	case core.EventSummary:
		return decode[core.Summary](h, ev)
	case eventShort:
		return decode[shortRecord](h, ev)
	case eventUsage:
		return decode[usageRecord](h, ev)
	case eventJob:
		return decode[jobRecord](h, ev)
	}
	return nil
}

func decode[T any](h *history, ev core.SessionEvent) error {
	var v T
	if err := json.Unmarshal(ev.Data, &v); err != nil {
		return err
	}
	h.apply(ev.Seq, v)
	return nil
}

// apply folds the data of one event. The history may keep parts of it.
func (h *history) apply(seq int64, data any) {
	switch r := data.(type) {
	case llm.Message:
		h.message(seq, r)
	case core.Summary:
		h.summary(r)
	case shortRecord:
		h.shorten(r)
	case usageRecord:
		h.usage, h.cost = h.usage.Add(r.Usage), h.cost+r.Cost
	case jobRecord:
		h.jobs[r.Handle] = r
	}
}

func (h *history) message(seq int64, m llm.Message) {
	if m.Role == llm.ToolRole {
		h.results(m)
		return
	}
	for _, c := range m.Calls() {
		h.ids[c.ID] = true
	}
	h.entries = append(h.entries, entry{seq, m})
	if calls := m.Calls(); len(calls) > 0 {
		h.entries = append(h.entries, entry{seq, unanswered(calls)})
	}
}

// unanswered is the tool message that answers the calls before any of them
// did.
func unanswered(calls []llm.ToolCall) llm.Message {
	m := llm.Message{Role: llm.ToolRole, Parts: make([]llm.Part, len(calls))}
	for i, c := range calls {
		m.Parts[i] = resultPart(c, []llm.Part{llm.Text(interruptedText)}, true)
	}
	return m
}

func resultPart(c llm.ToolCall, parts []llm.Part, isError bool) llm.Part {
	return llm.Part{Kind: llm.ToolResultPart, Result: &llm.ToolResult{
		CallID: c.ID, Name: c.Name, Parts: parts, IsError: isError,
	}}
}

// results puts results at the place of their calls. Those whose call is gone
// (a summary took it) are dropped.
func (h *history) results(m llm.Message) {
	last := h.lastToolMessage()
	if last == nil {
		return
	}
	for _, p := range m.Parts {
		for i := range last.Parts {
			if p.Result != nil && last.Parts[i].Result.CallID == p.Result.CallID {
				last.Parts[i] = p
			}
		}
	}
}

func (h *history) lastToolMessage() *llm.Message {
	for i := len(h.entries) - 1; i >= 0; i-- {
		switch h.entries[i].msg.Role {
		case llm.ToolRole:
			return &h.entries[i].msg
		case llm.Assistant:
			return nil
		}
	}
	return nil
}

// answered tells whether a tool's result has this text.
func (h *history) answered(text string) bool {
	for _, e := range h.entries {
		for _, p := range e.msg.Parts {
			if p.Result != nil && strings.Contains(llm.PartsText(p.Result.Parts), text) {
				return true
			}
		}
	}
	return false
}

// summary puts a text in place of the messages that it stands for.
func (h *history) summary(r core.Summary) {
	kept := []entry{{r.Through, summaryMessage(r.Text)}}
	for _, e := range h.entries {
		if e.seq > r.Through {
			kept = append(kept, e)
		}
	}
	h.entries = kept
}

func summaryMessage(text string) llm.Message {
	return llm.Message{Role: llm.User, Parts: []llm.Part{
		llm.NamedText("summary", "Summary of the conversation so far:\n\n"+text),
	}}
}

// shorten cuts the text of old results.
func (h *history) shorten(r shortRecord) {
	for i, e := range h.entries {
		if e.seq <= r.Through && e.msg.Role == llm.ToolRole {
			h.entries[i].msg = shortened(e.msg, r.Limit)
		}
	}
}

// shortened returns a copy of a tool message whose results have at most limit
// bytes of text each, and nothing but text where something was cut.
func shortened(m llm.Message, limit int) llm.Message {
	out := llm.Message{Role: m.Role, Parts: make([]llm.Part, len(m.Parts))}
	for i, p := range m.Parts {
		out.Parts[i] = p
		if p.Result == nil || partsSize(p.Result.Parts) <= limit || isShort(p.Result) {
			continue
		}
		text := llm.PartsText(p.Result.Parts)
		short := *p.Result
		short.Parts = []llm.Part{llm.NamedText(shortName, cutText(text, limit)+
			fmt.Sprintf("\n[shortened; the whole result had %d bytes]", partsSize(p.Result.Parts)))}
		out.Parts[i].Result = &short
	}
	return out
}

// shortName marks the part of a result that was shortened already.
const shortName = "shortened"

func isShort(r *llm.ToolResult) bool { return len(r.Parts) == 1 && r.Parts[0].Name == shortName }

func partsSize(parts []llm.Part) int {
	n := 0
	for _, p := range parts {
		n += len(p.Text) + len(p.Data) + len(p.Raw)
	}
	return n
}

// cutText gives at most n bytes of s and cuts no rune.
func cutText(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n]
}

// messages is the conversation as a request carries it. Messages without
// content are left out: providers refuse them.
func (h *history) messages() []llm.Message {
	out := make([]llm.Message, 0, len(h.entries)+8)
	for _, e := range h.entries {
		if len(e.msg.Parts) > 0 {
			out = append(out, e.msg)
		}
	}
	return out
}

// firstText is the first text that a person wrote.
func (h *history) firstText() string {
	for _, e := range h.entries {
		if e.msg.Role == llm.User && !isNote(e.msg) {
			return e.msg.Text()
		}
	}
	return ""
}

// isNote tells whether a message was put in by the host: all its parts have
// names.
func isNote(m llm.Message) bool {
	for _, p := range m.Parts {
		if p.Name == "" {
			return false
		}
	}
	return len(m.Parts) > 0
}

// event makes a session event of any data.
func event(kind string, data any) (core.SessionEvent, error) {
	raw, err := json.Marshal(data)
	if err != nil {
		return core.SessionEvent{}, fmt.Errorf("%s: %w", kind, err)
	}
	return core.SessionEvent{Kind: kind, Data: raw}, nil
}
