package toolsearch

import (
	"slices"
	"strings"
	"sync"

	"github.com/agentd-host/agentd/core"
)

// catalogue is what one viewer can see in one step: the tools that the other
// listeners of the surface left, as far as the viewer may see them now. Every
// part of this package that names, counts, finds or runs a tool goes by one.
type catalogue struct {
	input []core.Tool // what it was made of; not ours to change

	tools   []core.Tool    // sorted by name, without our own
	places  map[string]int // in tools
	config  []core.Tool    // our configuration tools, as registered
	bridge  []core.Tool    // our bridge tools, as registered
	foreign []core.Tool    // unknown to the registry: they pass, and are never deferred

	mu     sync.Mutex // guards splits
	splits []*split
}

// newCatalogue sorts the tools of a step. visible is the viewer's list, sorted
// by name; stranger tells whether the registry knows nothing of a name.
func newCatalogue(tools, visible []core.Tool, stranger func(string) bool) *catalogue {
	cat := &catalogue{input: tools, places: make(map[string]int, len(tools))}
	sorted := tools
	if !slices.IsSortedFunc(tools, byName) {
		sorted = slices.SortedFunc(slices.Values(tools), byName)
	}
	at := 0
	for i := range sorted {
		t := &sorted[i]
		for at < len(visible) && visible[at].Name < t.Name {
			at++
		}
		switch {
		case at < len(visible) && visible[at].Name == t.Name:
			cat.add(t)
		case stranger(t.Name):
			cat.foreign = append(cat.foreign, *t)
		}
	}
	return cat
}

func byName(a, b core.Tool) int { return strings.Compare(a.Name, b.Name) }

func (cat *catalogue) add(t *core.Tool) {
	switch {
	case isBridge(t.Name):
		cat.bridge = append(cat.bridge, *t)
	case isConfig(t.Name):
		cat.config = append(cat.config, *t)
	default:
		if _, twice := cat.places[t.Name]; twice {
			return
		}
		cat.places[t.Name] = len(cat.tools)
		cat.tools = append(cat.tools, *t)
	}
}

// size counts the request's tools, ours not counted.
func (cat *catalogue) size() int { return len(cat.tools) + len(cat.foreign) }

// made tells whether the catalogue was made of the same tools.
func (cat *catalogue) made(tools []core.Tool) bool {
	if len(tools) != len(cat.input) {
		return false
	}
	if len(tools) == 0 || &tools[0] == &cat.input[0] {
		return true
	}
	for i := range tools {
		if !sameTool(&tools[i], &cat.input[i]) {
			return false
		}
	}
	return true
}

// sameTool compares what a model or this package reads of a tool.
func sameTool(a, b *core.Tool) bool {
	return a.Name == b.Name && a.Description == b.Description &&
		string(a.Parameters) == string(b.Parameters) && a.Source == b.Source &&
		a.Traits.Deferred == b.Traits.Deferred && a.Traits.AlwaysLoad == b.Traits.AlwaysLoad
}

// catalogues keeps the latest ones, so that an unchanged step costs a
// comparison.
type catalogues struct {
	mu     sync.Mutex // guards the field below
	recent []*catalogue
}

const cataloguesKept = 16

// of finds or makes the catalogue of a step.
func (k *catalogues) of(tools, visible []core.Tool, stranger func(string) bool) *catalogue {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i, cat := range k.recent {
		if cat.made(tools) {
			copy(k.recent[1:i+1], k.recent[:i])
			k.recent[0] = cat
			return cat
		}
	}
	cat := newCatalogue(tools, visible, stranger)
	k.recent = slices.Insert(k.recent, 0, cat)
	k.recent = k.recent[:min(len(k.recent), cataloguesKept)]
	return cat
}

// probeKey marks a context in which only the others' surface is wanted.
type probeKey struct{}

// catalogue makes the catalogue of a settled surface.
func (l *layer) catalogue(v core.Viewer, tools []core.Tool) *catalogue {
	registry := l.c.Tools()
	return l.catalogues.of(tools, registry.List(v), func(name string) bool {
		return registry.Why(v, name).Layer == "unknown"
	})
}
