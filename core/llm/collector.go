package llm

import "encoding/json"

// Collector folds events into an answer while they arrive. The zero value is
// ready to use; it is for one goroutine.
type Collector struct {
	parts    []Part
	calls    map[int]int // event index -> position in parts
	usage    Usage
	reason   FinishReason
	warnings []string
}

// Add takes the next event of the stream.
func (c *Collector) Add(ev Event) {
	switch ev.Kind {
	case TextDelta:
		c.grow(TextPart, ev.Text, ev.Opaque)
	case ReasoningDelta:
		c.grow(ReasoningPart, ev.Text, ev.Opaque)
	case ToolCallStart:
		c.start(ev)
	case ToolCallDelta:
		if call := c.call(ev.Index); call != nil {
			call.Call.Args += ev.Text
		}
	case ToolCallEnd:
		if call := c.call(ev.Index); call != nil && ev.Opaque != nil {
			call.Opaque = ev.Opaque
		}
	case UsageReport:
		c.usage = *ev.Usage
	case Warning:
		c.warnings = append(c.warnings, ev.Text)
	case Reset:
		c.parts, c.calls, c.reason = nil, nil, ""
	case Finish:
		c.reason = ev.Reason
	}
}

// Answer is what has arrived so far.
func (c *Collector) Answer() Answer {
	return Answer{
		Message:  Message{Role: Assistant, Parts: c.parts},
		Usage:    c.usage,
		Reason:   c.reason,
		Warnings: c.warnings,
	}
}

// grow appends to the last part if it is of this kind and not yet sealed by
// the provider's opaque value.
func (c *Collector) grow(kind PartKind, text string, opaque json.RawMessage) {
	if n := len(c.parts); n > 0 && c.parts[n-1].Kind == kind && c.parts[n-1].Opaque == nil {
		c.parts[n-1].Text += text
		c.parts[n-1].Opaque = opaque
		return
	}
	c.parts = append(c.parts, Part{Kind: kind, Text: text, Opaque: opaque})
}

func (c *Collector) start(ev Event) {
	if c.calls == nil {
		c.calls = map[int]int{}
	}
	c.calls[ev.Index] = len(c.parts)
	c.parts = append(c.parts, Part{
		Kind:   ToolCallPart,
		Call:   &ToolCall{ID: ev.ID, Name: ev.Name, Args: ev.Text},
		Opaque: ev.Opaque,
	})
}

func (c *Collector) call(index int) *Part {
	at, ok := c.calls[index]
	if !ok {
		return nil
	}
	return &c.parts[at]
}
