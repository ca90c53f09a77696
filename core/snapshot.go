package core

import (
	"hash/maphash"
	"slices"
	"strings"
	"sync/atomic"
)

// A toolSnapshot is the registry at one version. It never changes; what has
// been worked out from it is kept with it.
type toolSnapshot struct {
	version uint64
	names   []toolName // sorted
	hidden  map[sourceKey]SourceState
	seed    maphash.Seed
	bases   viewCache[*baseView]
	views   viewCache[*toolView]
}

// toolName is all definitions of one name.
type toolName struct {
	name string
	defs []*definition
}

// current returns the snapshot of the present version. Readers of an unchanged
// registry take no lock.
func (r *toolRegistry) current() *toolSnapshot {
	if s := r.snapshot.Load(); s != nil && s.version == r.version.Load() {
		return s
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.snapshot.Load(); s != nil && s.version == r.version.Load() {
		return s
	}
	s := &toolSnapshot{version: r.version.Load(), seed: maphash.MakeSeed()}
	s.names = make([]toolName, 0, len(r.defs))
	for name, defs := range r.defs {
		s.names = append(s.names, toolName{name, defs}) // put and drop never change a list in place
	}
	slices.SortFunc(s.names, func(a, b toolName) int { return strings.Compare(a.name, b.name) })
	if len(r.sources) > 0 {
		s.hidden = make(map[sourceKey]SourceState, len(r.sources))
		for k, v := range r.sources {
			s.hidden[k] = v
		}
	}
	r.snapshot.Store(s)
	return s
}

func (s *toolSnapshot) find(name string) []*definition {
	i, ok := slices.BinarySearchFunc(s.names, name, func(n toolName, name string) int {
		return strings.Compare(n.name, name)
	})
	if !ok {
		return nil
	}
	return s.names[i].defs
}

func (s *toolSnapshot) sourceState(t *Tool) SourceState {
	if state, ok := s.hidden[sourceKey{t.Source.Kind, t.Source.Name}]; ok {
		return state
	}
	return SourceReady
}

// viewKey is what a view depends on. Groups are hashed, so that looking a view
// up allocates nothing; whoever finds one compares them.
type viewKey struct {
	agent, session, user string
	groups               uint64
	place                *Context // whose filters hold
	at                   *Context // whose policy holds
}

func (s *toolSnapshot) groupsHash(groups []string) uint64 {
	var sum uint64
	for _, g := range groups {
		sum = sum*31 + maphash.String(s.seed, g)
	}
	return sum
}

// viewCache keeps views behind an atomic pointer. It starts afresh when it is
// full, which costs those who come back one rebuild.
type viewCache[V any] struct {
	table atomic.Pointer[map[viewKey]V]
}

const viewsKept = 256

func (c *viewCache[V]) get(k viewKey) (v V, ok bool) {
	if t := c.table.Load(); t != nil {
		v, ok = (*t)[k]
	}
	return v, ok
}

// put may lose against another put; then the view is built once more.
func (c *viewCache[V]) put(k viewKey, v V) {
	next := map[viewKey]V{k: v}
	if t := c.table.Load(); t != nil && len(*t) < viewsKept {
		for key, value := range *t {
			next[key] = value
		}
		next[k] = v
	}
	c.table.Store(&next)
}

// A baseView is what depends on the snapshot alone: scopes, groups, filters,
// disabled sources.
type baseView struct {
	groups []string
	defs   []*definition // sorted by name
}

// A toolView is what one viewer sees: a base after policy, or after rules too.
type toolView struct {
	groups []string
	prov   *provision // of the Decider
	epoch  uint64
	// restricted is what holds without a Decider.
	restricted *restrictions

	defs   []*definition
	policy []previewed // one for each of defs; nil without a Decider

	hidden []bool                   // of a view after rules: what they hid
	last   atomic.Pointer[toolView] // after rules, as it was the last time

	tools   atomic.Pointer[[]Tool]
	entries atomic.Pointer[[]Entry]
}

type previewed struct {
	policy Policy
	rule   string
}

// entry describes a definition.
func (s *toolSnapshot) entry(d *definition) Entry {
	t := &d.tool
	e := Entry{
		Name: t.Name, Title: t.Title, Description: t.Description, Owner: d.owner.Path(),
		Source: t.Source, State: s.sourceState(t), Subsystem: t.Subsystem, Scope: t.Scope,
		Groups: t.Groups, Traits: t.Traits, Effect: t.Traits.Effect,
	}
	if t.Scope == "" && len(t.Groups) == 0 {
		return e
	}
	for _, other := range s.find(t.Name) {
		if other.tool.Scope == "" && len(other.tool.Groups) == 0 {
			e.Shadows = other.owner.Path()
		}
	}
	return e
}
