package toolsearch

import (
	"bytes"
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
	keys  []toolKey   // of input

	tools   toolList // without our own
	config  toolList // our configuration tools, as registered
	bridge  toolList // our bridge tools, as registered
	foreign toolList // unknown to the registry: they pass, and are never deferred

	mu     sync.Mutex // guards splits
	splits []*split
}

// toolList is tools sorted by name. They are shared and not to be changed.
type toolList []*core.Tool

func (l toolList) find(name string) (*core.Tool, bool) {
	i, ok := slices.BinarySearchFunc(l, name, func(t *core.Tool, name string) int {
		return strings.Compare(t.Name, name)
	})
	if !ok {
		return nil, false
	}
	return l[i], true
}

func (l toolList) has(name string) bool {
	_, ok := l.find(name)
	return ok
}

func (l toolList) names() []string {
	names := make([]string, len(l))
	for i, t := range l {
		names[i] = t.Name
	}
	return names
}

// appendTo appends the tools themselves.
func (l toolList) appendTo(tools []core.Tool) []core.Tool {
	for _, t := range l {
		tools = append(tools, *t)
	}
	return tools
}

// pick gives the tools of these names that are in the list.
func (l toolList) pick(names []string) []core.Tool {
	tools := make([]core.Tool, 0, len(names))
	for _, name := range names {
		if t, ok := l.find(name); ok {
			tools = append(tools, *t)
		}
	}
	return tools
}

// merge is a list of both.
func (l toolList) merge(m toolList) toolList {
	if len(m) == 0 {
		return l
	}
	both := slices.Concat(l, m)
	slices.SortFunc(both, func(a, b *core.Tool) int { return byName(*a, *b) })
	return both
}

func byName(a, b core.Tool) int { return strings.Compare(a.Name, b.Name) }

// newCatalogue sorts the tools of a step. visible is the viewer's list, sorted
// by name; stranger tells whether the registry knows nothing of a name.
func newCatalogue(tools, visible []core.Tool, stranger func(string) bool) *catalogue {
	cat := &catalogue{input: tools, keys: make([]toolKey, len(tools)), tools: make(toolList, 0, len(tools))}
	for i := range tools {
		cat.keys[i] = keyOf(&tools[i])
	}
	sorted := tools
	if !sortedByName(tools) {
		sorted = slices.SortedStableFunc(slices.Values(tools), byName)
	}
	at, last := 0, ""
	for i := range sorted {
		t := &sorted[i]
		if i > 0 && t.Name == last {
			continue
		}
		last = t.Name
		for at < len(visible) && visible[at].Name < t.Name {
			at++
		}
		switch {
		case at < len(visible) && visible[at].Name == t.Name:
			cat.add(t)
		case stranger(t.Name):
			cat.foreign = append(cat.foreign, t)
		}
	}
	return cat
}

func sortedByName(tools []core.Tool) bool {
	for i := 1; i < len(tools); i++ {
		if tools[i].Name < tools[i-1].Name {
			return false
		}
	}
	return true
}

func (cat *catalogue) add(t *core.Tool) {
	switch {
	case isBridge(t.Name):
		cat.bridge = append(cat.bridge, t)
	case isConfig(t.Name):
		cat.config = append(cat.config, t)
	default:
		cat.tools = append(cat.tools, t)
	}
}

// made tells whether the catalogue was made of the same tools.
func (cat *catalogue) made(tools []core.Tool) bool {
	if len(tools) != len(cat.input) {
		return false
	}
	if len(tools) == 0 || &tools[0] == &cat.input[0] {
		return true
	}
	for i := range tools {
		if !cat.keys[i].of(&tools[i]) {
			return false
		}
	}
	return true
}

// toolKey is what a model or this package reads of a tool, close together:
// comparing ten thousand tools is a matter of memory.
type toolKey struct {
	name, description, source string
	parameters                []byte
	kind                      core.SourceKind
	deferred, always          bool
}

func keyOf(t *core.Tool) toolKey {
	return toolKey{
		t.Name, t.Description, t.Source.Name, t.Parameters, t.Source.Kind, t.Traits.Deferred, t.Traits.AlwaysLoad,
	}
}

// of tells whether the key is that of a tool. Nearly always each string is one
// and the same, which costs next to nothing to compare.
func (k *toolKey) of(t *core.Tool) bool {
	return k.name == t.Name && k.description == t.Description &&
		k.deferred == t.Traits.Deferred && k.always == t.Traits.AlwaysLoad &&
		k.source == t.Source.Name && k.kind == t.Source.Kind && sameBytes(k.parameters, t.Parameters)
}

func sameBytes(a, b []byte) bool {
	if len(a) != len(b) {
		return false
	}
	return len(a) == 0 || &a[0] == &b[0] || bytes.Equal(a, b)
}

// catalogues keeps the latest ones, so that an unchanged step costs a
// comparison.
type catalogues struct {
	mu     sync.Mutex // guards the field below
	recent []*catalogue
}

const cataloguesKept = 8

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
