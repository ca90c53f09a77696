package toolsearch

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/plugins/toolsearch/index"
)

// split is a catalogue under settings: what is always shown and what is
// deferred. It depends on nothing else, is made once and then only read.
type split struct {
	cat *catalogue
	s   *settings
	max int // tools that the model takes; 0 = any number

	pass     bool        // everything is shown as it is
	direct   []core.Tool // always shown, sorted; without bridges
	deferred []core.Tool // sorted
	places   map[string]int
	found    []core.Tool // what a search finds: all but ours, and the deferred configuration tools
	groups   *grouping

	index    func() *index.Index // made at the first call
	indexing atomic.Bool         // that call was made
	noticed  atomic.Bool         // notices looked at it

	mu       sync.Mutex // guards the fields below
	listings map[int]string
	bridge   []core.Tool
	rankings map[rankingKey]ranking // of services
}

// split finds or makes the split for settings and a model's limit of tools.
func (l *layer) split(cat *catalogue, s *settings, max int) *split {
	cat.mu.Lock()
	defer cat.mu.Unlock()
	for _, sp := range cat.splits {
		if sp.s == s && sp.max == max {
			return sp
		}
	}
	sp := newSplit(cat, s, max)
	sp.index = sync.OnceValue(func() *index.Index { return l.shelf.index(sp) })
	cat.splits = append(slices.DeleteFunc(cat.splits, func(o *split) bool { return o.s != s }), sp)
	return sp
}

func newSplit(cat *catalogue, s *settings, max int) *split {
	sp := &split{cat: cat, s: s, max: max, listings: make(map[int]string)}
	sp.found = slices.DeleteFunc(slices.Clone(cat.tools), func(t core.Tool) bool {
		return matchesAny(s.never, t.Name)
	})
	config := cat.configTools(s)
	force := sp.force(len(sp.found) + len(cat.foreign))
	for i := range sp.found {
		t := &sp.found[i]
		if sp.defers(t, force) {
			sp.deferred = append(sp.deferred, *t)
		} else {
			sp.direct = append(sp.direct, *t)
		}
	}
	sp.pass = s.enabled == EnabledOff || len(sp.deferred) == 0
	switch {
	case sp.pass:
	case s.configTools == configToolsShown:
		sp.direct = append(sp.direct, config...)
	default:
		sp.deferred = append(sp.deferred, config...)
		sp.found = append(sp.found, config...)
		slices.SortFunc(sp.found, byName)
	}
	slices.SortFunc(sp.direct, byName)
	slices.SortFunc(sp.deferred, byName)
	sp.places = make(map[string]int, len(sp.deferred))
	for i := range sp.deferred {
		sp.places[sp.deferred[i].Name] = i
	}
	sp.groups = newGrouping(s, sp.found)
	return sp
}

// force tells whether there are so many tools that all are deferred which are
// not always direct.
func (sp *split) force(n int) bool {
	threshold := sp.s.maxDirect
	if sp.max > 0 {
		threshold = min(threshold, sp.max)
	}
	if sp.s.countOwn {
		n += ownTools
	}
	return sp.s.enabled == EnabledOn || n > threshold
}

// defers tells whether a tool is to be found rather than shown.
func (sp *split) defers(t *core.Tool, force bool) bool {
	s := sp.s
	switch {
	case s.enabled == EnabledOff, matchesAny(s.alwaysDirect, t.Name):
		return false
	case t.Traits.AlwaysLoad && !namesExactly(s.autoDefer, t.Name):
		return false
	case t.Traits.Deferred, matchesAny(s.autoDefer, t.Name):
		return true
	}
	return force
}

// configTools are those of the configuration tools that there are to be.
func (cat *catalogue) configTools(s *settings) []core.Tool {
	if s.configTools == configToolsNone {
		return nil
	}
	return cat.config
}

// get finds a tool that can be searched or shown.
func (sp *split) get(name string) (core.Tool, bool) {
	i, ok := slices.BinarySearchFunc(sp.found, name, func(t core.Tool, n string) int {
		return byName(t, core.Tool{Name: n})
	})
	if !ok {
		return core.Tool{}, false
	}
	return sp.found[i], true
}

func (sp *split) isDeferred(name string) bool {
	_, ok := sp.places[name]
	return ok
}

// names of all tools that can be found.
func (sp *split) names() []string {
	names := make([]string, len(sp.found))
	for i := range sp.found {
		names[i] = sp.found[i].Name
	}
	return names
}
