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

	pass     bool     // everything is shown as it is
	bridged  bool     // what is found is run through the call tool, and never shown
	direct   toolList // always shown, without bridges
	deferred toolList
	found    toolList // what a search finds: all but ours, and deferred configuration tools
	groups   *grouping
	behind   []toolList // the deferred tools by group

	index    func() *index.Index // made at the first call
	indexing atomic.Bool         // that call was made
	noticed  atomic.Bool         // notices looked at it
	native   func() []core.Tool  // the deferred tools, for a provider's own deferral

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
	sp := &split{cat: cat, s: s, max: max, listings: make(map[int]string), found: cat.tools}
	if len(s.never) > 0 {
		sp.found = slices.DeleteFunc(slices.Clone(cat.tools), func(t *core.Tool) bool {
			return matchesAny(s.never, t.Name)
		})
	}
	force := sp.force(len(sp.found) + len(cat.foreign))
	for _, t := range sp.found {
		if sp.defers(t, force) {
			sp.deferred = append(sp.deferred, t)
		} else {
			sp.direct = append(sp.direct, t)
		}
	}
	sp.pass = s.enabled == EnabledOff || len(sp.deferred) == 0
	sp.bridged = s.reveal == revealBridge && sp.offers(callName)
	switch {
	case sp.pass || s.configTools == configToolsNone:
	case s.configTools == configToolsShown, sp.bridged: // they are not run through another tool
		sp.direct = sp.direct.merge(cat.config)
	default:
		sp.deferred = sp.deferred.merge(cat.config)
		sp.found = sp.found.merge(cat.config)
	}
	sp.groups = newGrouping(s, sp.found)
	sp.behind = sp.groups.sort(sp.deferred)
	sp.native = sync.OnceValue(func() []core.Tool { return slices.Clip(sp.deferred.appendTo(nil)) })
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

// offers tells whether a step shows one of our bridge tools.
func (sp *split) offers(name string) bool {
	return slices.Contains(sp.s.bridges(), name) && sp.cat.bridge.has(name)
}

// defers tells whether a tool is to be found rather than shown. Where the
// viewer can't see the search tool, all are shown.
func (sp *split) defers(t *core.Tool, force bool) bool {
	s := sp.s
	switch {
	case s.enabled == EnabledOff, !sp.cat.bridge.has(s.searchTool), matchesAny(s.alwaysDirect, t.Name):
		return false
	case alwaysLoad(t) && !namesExactly(s.autoDefer, t.Name):
		return false
	case t.Traits.Deferred, matchesAny(s.autoDefer, t.Name):
		return true
	}
	return force
}

// alwaysLoad tells whether an MCP server wants its tool shown. What tools of
// plugins want is said by alwaysDirectTools, which people can change.
func alwaysLoad(t *core.Tool) bool {
	return t.Traits.AlwaysLoad && t.Source.Kind == core.FromMCP
}

func (sp *split) isDeferred(name string) bool { return sp.deferred.has(name) }
