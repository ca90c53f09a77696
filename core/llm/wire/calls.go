package wire

import (
	"encoding/json"
	"fmt"

	"github.com/agentd-host/agentd/core/llm"
)

// Delta is a piece of a tool call as a provider streams it. Any field may be
// missing.
type Delta struct {
	// Index tells calls of one answer apart, where HasIndex says that it was
	// sent. Some servers leave it out, some send 0 for all calls.
	Index    int
	HasIndex bool
	ID       string
	Name     string
	Args     string
	// Opaque is kept with the call.
	Opaque json.RawMessage
}

// Calls makes events of pieces of tool calls. What begins a new call: an index
// that was not seen; else a name at a place that has both a name and
// arguments already; else a new id together with a name. What continues one:
// everything else, also under an id that changes with each piece. The zero
// value is ready for use.
type Calls struct {
	open  []*open
	place map[int]int // provider's index -> position in open
}

// open is a call that is being put together.
type open struct {
	id, name string
	args     int // bytes so far
	whole    bool
	opaque   json.RawMessage
	ended    bool
}

// Add takes a piece and gives the events that follow from it.
func (c *Calls) Add(d Delta) []llm.Event {
	at, begins := c.find(d)
	var events []llm.Event
	if begins {
		at = len(c.open)
		c.open = append(c.open, &open{id: d.ID, name: d.Name})
		c.remember(d, at)
		id := d.ID
		if id == "" {
			id = fmt.Sprintf("call_%d", at)
		}
		events = append(events, llm.Event{Kind: llm.ToolCallStart, Index: at, ID: id, Name: d.Name})
	}
	o := c.open[at]
	if d.Opaque != nil {
		o.opaque = d.Opaque
	}
	if d.Args != "" {
		o.args += len(d.Args)
		o.whole = o.args == len(d.Args) && json.Valid([]byte(d.Args)) // it came in one piece
		events = append(events, llm.Event{Kind: llm.ToolCallDelta, Index: at, Text: d.Args})
	}
	return events
}

// find gives the call that a piece belongs to, or says that it begins one.
func (c *Calls) find(d Delta) (at int, begins bool) {
	if len(c.open) == 0 {
		return 0, true
	}
	at = len(c.open) - 1
	if d.HasIndex {
		known, ok := c.place[d.Index]
		if !ok {
			return 0, true
		}
		at = known
	}
	o := c.open[at]
	switch {
	case d.Name == "":
		return at, false
	case d.ID != "" && o.id != "" && d.ID != o.id:
		// A server that sends a new id and the name again with each piece of
		// one call goes on where the arguments are not complete.
		return at, o.name != d.Name || o.whole || o.args == 0
	case o.name != d.Name:
		return at, true
	}
	// The name again without an id: the next call, if this one came whole.
	return at, d.ID == "" && o.whole && d.Args != ""
}

func (c *Calls) remember(d Delta, at int) {
	if c.place == nil {
		c.place = map[int]int{}
	}
	if d.HasIndex {
		c.place[d.Index] = at
	}
}

// End gives the events that end all calls, and says whether there was any.
func (c *Calls) End() (events []llm.Event, any bool) {
	for i, o := range c.open {
		if !o.ended {
			o.ended = true
			events = append(events, llm.Event{Kind: llm.ToolCallEnd, Index: i, Opaque: o.opaque})
		}
	}
	return events, len(c.open) > 0
}
