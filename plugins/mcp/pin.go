package mcp

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// A pinStore remembers how each tool was defined when it was accepted, in one
// file for all servers. It may be used concurrently.
type pinStore struct {
	file string // empty: nothing outlives the process

	mu      sync.Mutex // guards the fields below
	servers map[string]map[string]pin
	stamp   time.Time // of the file that was read last
}

// A pin is the accepted definition of one tool.
type pin struct {
	Hash     string          `json:"hash"`
	Tool     json.RawMessage `json:"tool"` // the pinned fields, canonical
	Accepted time.Time       `json:"accepted"`
	// New marks a tool that appeared later and that nobody accepted yet.
	New bool `json:"new,omitempty"`
}

func newPinStore(dir string) *pinStore {
	p := &pinStore{servers: map[string]map[string]pin{}}
	if dir != "" {
		p.file = filepath.Join(dir, "mcp", "pins.json")
	}
	return p
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
	diff  string // from what was accepted, if anything was
}

// check compares a server's tools with their pins. The tools of a server seen
// for the first time are pinned as they are. Pins of tools that are gone stay:
// a tool that comes back changed is a changed one.
func (p *pinStore) check(server string, defs []*definition, now time.Time) (map[string]verdict, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	err := p.reload()
	pins, known := p.servers[server]
	if pins == nil {
		pins = map[string]pin{}
	}
	out := make(map[string]verdict, len(defs))
	dirty := false
	for _, d := range defs {
		old, has := pins[d.Name]
		switch {
		case !has:
			pins[d.Name] = pin{Hash: d.Hash, Tool: d.canonical(), Accepted: now, New: known}
			dirty = true
			if known {
				out[d.Name] = newTool(d)
			}
		case old.Hash != d.Hash:
			out[d.Name] = verdict{pinChanged, diffJSON(old.Tool, d.canonical())}
		case old.New:
			out[d.Name] = newTool(d)
		}
	}
	if dirty && len(defs) > 0 {
		p.servers[server] = pins
		if err == nil {
			err = p.save()
		}
	}
	return out, err
}

func newTool(d *definition) verdict {
	return verdict{pinNew, diffJSON(json.RawMessage("{}"), d.canonical())}
}

// accept takes the present definitions that take says as the right ones, and
// returns the names of those that were not before.
func (p *pinStore) accept(server string, defs []*definition, take func(*definition) bool, now time.Time) ([]string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.reload(); err != nil {
		return nil, err
	}
	pins := maps.Clone(p.servers[server])
	if pins == nil {
		pins = map[string]pin{}
	}
	accepted := []string{}
	for _, d := range defs {
		old, has := pins[d.Name]
		if !take(d) || has && old.Hash == d.Hash && !old.New {
			continue
		}
		pins[d.Name] = pin{Hash: d.Hash, Tool: d.canonical(), Accepted: now}
		accepted = append(accepted, d.Name)
	}
	p.servers[server] = pins
	return accepted, p.save()
}

// reload reads the file if somebody else wrote it. p.mu is held.
func (p *pinStore) reload() error {
	if p.file == "" {
		return nil
	}
	info, err := os.Stat(p.file)
	if err != nil || info.ModTime().Equal(p.stamp) {
		return nil
	}
	servers := map[string]map[string]pin{}
	if err := readState(p.file, &servers); err != nil {
		return err
	}
	p.servers, p.stamp = servers, info.ModTime()
	return nil
}

// save writes the file. p.mu is held.
func (p *pinStore) save() error {
	if p.file == "" {
		return nil
	}
	if err := writeState(p.file, p.servers); err != nil {
		return err
	}
	if info, err := os.Stat(p.file); err == nil {
		p.stamp = info.ModTime()
	}
	return nil
}

// canonical is the part of the definition that is pinned.
func (d *definition) canonical() json.RawMessage {
	fields, kept := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	_ = json.Unmarshal(d.Raw, &fields)
	for _, name := range pinned {
		if v, ok := fields[name]; ok {
			kept[name] = canonical(v)
		}
	}
	out, err := json.Marshal(kept)
	if err != nil {
		return json.RawMessage("null")
	}
	return out
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
