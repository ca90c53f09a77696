package wire

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

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
// that was not seen; else another name; else the name again, under a new id or
// without one, where the arguments so far are whole. What continues one:
// everything else, also under an id that changes with each piece, and with the
// name in each. The zero value is ready for use.
type Calls struct {
	open  []*open
	place map[int]int // provider's index -> position in open
}

// open is a call that is being put together.
type open struct {
	id, name string
	args     []byte // so far
	repeats  bool   // a later piece had the name again
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
	o.id = cmp.Or(o.id, d.ID)
	o.repeats = o.repeats || !begins && d.Name != ""
	if d.Opaque != nil {
		o.opaque = d.Opaque
	}
	if d.Args != "" {
		o.args = append(o.args, d.Args...)
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
	return at, c.open[at].endsBefore(d)
}

// endsBefore tells whether a piece at the place of o belongs to the next call.
func (o *open) endsBefore(d Delta) bool {
	switch {
	case d.Name == "":
		return false
	case d.Name != o.name:
		return true
	case d.ID != "" && d.ID == o.id:
		return false
	case len(o.args) == 0: // a call without arguments, if both have an id
		return d.ID != "" && o.id != ""
	}
	// A server that sends the name with each piece may send an empty one last.
	return o.whole() && (!o.repeats || strings.TrimSpace(d.Args) != "")
}

// whole tells whether the arguments are complete.
func (o *open) whole() bool {
	args := bytes.TrimSpace(o.args)
	if bytes.HasPrefix(args, []byte("{")) && !bytes.HasSuffix(args, []byte("}")) {
		return false // most pieces end here, however long they have become
	}
	return json.Valid(args)
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
