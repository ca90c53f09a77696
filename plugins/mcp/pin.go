package mcp

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentd-host/agentd/internal/statefile"
)

// A pinStore remembers how each tool of one server was defined when it was
// accepted, in a file. It may be used concurrently.
type pinStore struct {
	file string // empty: nothing outlives the process

	mu    sync.Mutex // guards the fields below
	pins  map[string]pin
	stamp statefile.Stamp // of the file that was read or written last
}

// A pin is the accepted definition of one tool.
type pin struct {
	Hash     string          `json:"hash"`
	Tool     json.RawMessage `json:"tool"` // the pinned fields, canonical
	Accepted time.Time       `json:"accepted"`
	// New marks a tool that appeared later and that nobody accepted yet.
	New bool `json:"new,omitempty"`
}

// newPinStore keeps the pins of a server of one configuration file: another
// folder's server of the same name is another one.
func newPinStore(state, config, server string) *pinStore {
	return &pinStore{file: stateName(state, "pins", server, config)}
}

// pinState is what the pins say about a tool.
type pinState int

const (
	pinSame    pinState = iota
	pinNew              // the server did not have it when it was accepted
	pinChanged          // defined otherwise than it was accepted
)

// A verdict is the outcome for one tool.
type verdict struct {
	state pinState
	fresh bool   // nobody accepted the tool in any form
	diff  string // from what was accepted, if anything was
}

// check compares the server's tools with their pins. The tools of a server
// seen for the first time are pinned as they are. Pins of tools that are gone
// stay: a tool that comes back changed is a changed one. Where the pins can't
// be read every tool counts as new.
func (p *pinStore) check(defs []*definition, now time.Time) (map[string]verdict, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make(map[string]verdict, len(defs))
	if err := p.reload(); err != nil {
		for _, d := range defs {
			out[d.Name] = newTool(d)
		}
		return out, err
	}
	pins, known := maps.Clone(p.pins), len(p.pins) > 0
	if pins == nil {
		pins = map[string]pin{}
	}
	for _, d := range defs {
		old, has := pins[d.Name]
		switch {
		case !has:
			pins[d.Name] = pin{Hash: d.Hash, Tool: d.Pinned, Accepted: now, New: known}
			if known {
				out[d.Name] = newTool(d)
			}
		case old.Hash != d.Hash:
			out[d.Name] = verdict{state: pinChanged, fresh: old.New, diff: diffJSON(old.Tool, d.Pinned)}
		case old.New:
			out[d.Name] = newTool(d)
		}
	}
	if len(pins) == len(p.pins) {
		return out, nil
	}
	return out, p.save(pins)
}

func newTool(d *definition) verdict {
	return verdict{state: pinNew, fresh: true, diff: diffJSON(json.RawMessage("{}"), d.Pinned)}
}

// accept takes the present definitions that take says as the right ones, and
// returns the names of those that were not before.
func (p *pinStore) accept(defs []*definition, take func(*definition) bool, now time.Time) ([]string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.reload(); err != nil {
		return nil, err
	}
	pins := maps.Clone(p.pins)
	if pins == nil {
		pins = map[string]pin{}
	}
	accepted := []string{}
	for _, d := range defs {
		old, has := pins[d.Name]
		if !take(d) || has && old.Hash == d.Hash && !old.New {
			continue
		}
		pins[d.Name] = pin{Hash: d.Hash, Tool: d.Pinned, Accepted: now}
		accepted = append(accepted, d.Name)
	}
	return accepted, p.save(pins)
}

// reload reads the file if somebody else wrote it. p.mu is held.
func (p *pinStore) reload() error {
	if p.file == "" {
		return nil
	}
	stamp := statefile.StampOf(p.file)
	if stamp.Same(p.stamp) {
		return nil
	}
	pins := map[string]pin{}
	if err := readState(p.file, &pins); err != nil {
		return err
	}
	p.pins, p.stamp = pins, stamp
	return nil
}

// save keeps the pins, for this process even where the file can't be written.
// p.mu is held.
func (p *pinStore) save(pins map[string]pin) error {
	p.pins = pins
	if p.file == "" {
		return nil
	}
	if err := writeState(p.file, pins); err != nil {
		return err
	}
	p.stamp = statefile.StampOf(p.file)
	return nil
}

// diffJSON lists what differs between two JSON values, a line a path, hidden
// characters made visible.
func diffJSON(old, new json.RawMessage) string {
	var a, b any
	_ = json.Unmarshal(old, &a)
	_ = json.Unmarshal(new, &b)
	var lines []string
	diffValue("", a, b, &lines)
	return strings.Join(lines, "\n")
}

func diffValue(path string, a, b any, lines *[]string) {
	x, isMap1 := a.(map[string]any)
	y, isMap2 := b.(map[string]any)
	if isMap1 && isMap2 {
		keys := slices.Sorted(maps.Keys(x))
		for _, k := range slices.Sorted(maps.Keys(y)) {
			if _, both := x[k]; !both {
				keys = append(keys, k)
			}
		}
		slices.Sort(keys)
		for _, k := range keys {
			diffValue(strings.TrimPrefix(path+"."+k, "."), x[k], y[k], lines)
		}
		return
	}
	if equalJSON(a, b) {
		return
	}
	if a != nil {
		*lines = append(*lines, fmt.Sprintf("- %s: %s", path, shown(a)))
	}
	if b != nil {
		*lines = append(*lines, fmt.Sprintf("+ %s: %s", path, shown(b)))
	}
}

func shown(v any) string {
	const width = 2000
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	text := visible(string(data))
	if len(text) > width {
		text = fmt.Sprintf("%s… (%d bytes)", strings.ToValidUTF8(text[:width], ""), len(text))
	}
	return text
}
