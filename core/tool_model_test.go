package core

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

var toolSeed = flag.Uint64("core.toolseed", 0, "seed of the registry's model test; 0: a few fixed ones and a random one")

// The model is the registry as a list, without caches, snapshots or locks.
type (
	modelTool struct {
		name, agent string
		groups      []string
		place       int // index of the fiber
		scope       int // which scope of the fiber; 0 = the fiber itself
		word        string
		source      string
	}
	modelFilter struct {
		Filter
		place, scope int
	}
	toolModel struct {
		tools    []modelTool
		filters  []modelFilter
		hidden   map[string]bool // "agent/name", by the dynamic rule
		off      map[string]bool // by policy
		disabled map[string]bool // sources
	}
)

// chain of each place up to the root: 0 root, 1 group, 2 agent in it, 3 agent beside it.
var modelChain = [][]int{{0}, {1, 0}, {2, 1, 0}, {3, 0}}

func (m *toolModel) sees(v Viewer, place int, name string) (modelTool, bool) {
	var order []toolKey
	for _, agent := range []string{v.Agent, ""} {
		for _, g := range append(slices.Clone(v.Groups), "") {
			order = append(order, toolKey{agent, g})
		}
		if v.Agent == "" {
			break
		}
	}
	found := -1
search:
	for _, key := range order {
		for i, t := range m.tools {
			groups := t.groups
			if len(groups) == 0 {
				groups = []string{""}
			}
			if t.name == name && t.agent == key.agent && slices.Contains(groups, key.group) {
				found = i
				break search
			}
		}
	}
	if found < 0 {
		return modelTool{}, false
	}
	t := m.tools[found]
	for _, f := range m.filters {
		if slices.Contains(modelChain[place], f.place) && !f.Allows(name) {
			return t, false
		}
	}
	return t, !m.hidden[v.Agent+"/"+name] && !m.off[name] && !m.disabled[t.source]
}

func (m *toolModel) list(v Viewer, place int) string {
	var names []string
	for _, name := range modelNames {
		if t, ok := m.sees(v, place, name); ok {
			names = append(names, name+"="+t.word)
		}
	}
	return strings.Join(names, " ")
}

func (m *toolModel) rival(t modelTool) (int, bool) {
	for i, u := range m.tools {
		if u.name != t.name || u.agent != t.agent {
			continue
		}
		if len(u.groups) == 0 && len(t.groups) == 0 || slices.ContainsFunc(t.groups, func(g string) bool { return slices.Contains(u.groups, g) }) {
			return i, true
		}
	}
	return 0, false
}

// put is Define or Replace; false is a conflict.
func (m *toolModel) put(t modelTool, replace bool) bool {
	for i, ok := m.rival(t); ok; i, ok = m.rival(t) {
		if !replace || m.tools[i].place != t.place {
			return false
		}
		m.tools = slices.Delete(m.tools, i, i+1)
	}
	m.tools = append(m.tools, t)
	return true
}

func (m *toolModel) remove(place int, name string) bool {
	n := len(m.tools)
	m.tools = slices.DeleteFunc(m.tools, func(t modelTool) bool { return t.place == place && t.name == name })
	return len(m.tools) < n
}

// drop is the end of a scope, or of a whole fiber for scope 0.
func (m *toolModel) drop(place, scope int) {
	gone := func(p, s int) bool {
		return slices.Contains(modelChain[p], place) && (scope == 0 || p == place && s == scope)
	}
	m.tools = slices.DeleteFunc(m.tools, func(t modelTool) bool { return gone(t.place, t.scope) })
	m.filters = slices.DeleteFunc(m.filters, func(f modelFilter) bool { return gone(f.place, f.scope) })
}

func (m *toolModel) clone() *toolModel {
	own := *m
	own.tools = slices.Clone(m.tools)
	return &own
}

var (
	modelNames   = []string{"a", "a_1", "b", "b_1", "c"}
	modelAgents  = []string{"", "bob", "eve"}
	modelGroups  = []string{"g", "h", "i"}
	modelGlobs   = []string{"*", "a*", "*_1", "?", "b", "c*"}
	modelSources = []string{"s1", "s2"}
)

// modelRun drives a host and the model with one seed.
type modelRun struct {
	t       *testing.T
	r       *rand.Rand
	h       *Host
	m       toolModel
	fibers  [4]*Fiber
	places  [4]*Context
	scopes  [4]map[int]*Scope
	sources map[string]*SourceControl
	last    int // numbers scopes and words
	mu      sync.Mutex
	now     *toolModel // what rule and policy go by; guarded by mu
}

func pickOf[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

func (x *modelRun) some(list []string) []string {
	var some []string
	for _, i := range x.r.Perm(len(list))[:x.r.IntN(len(list))] {
		some = append(some, list[i])
	}
	return some
}

// load brings up a place and those below it.
func (x *modelRun) load(place int) {
	parent := x.h.Root()
	if chain := modelChain[place]; len(chain) > 2 {
		parent = x.places[chain[1]]
	}
	x.fibers[place] = tooler(x.t, parent, fmt.Sprint("p", place), func(c *Context) error { x.places[place] = c; return nil })
	x.scopes[place] = map[int]*Scope{}
	if place == 1 {
		x.load(2)
	}
}

func (x *modelRun) sync() {
	x.mu.Lock()
	defer x.mu.Unlock()
	own := x.m.clone()
	own.hidden, own.off = copyOf(x.m.hidden), copyOf(x.m.off)
	x.now = own
}

func copyOf(m map[string]bool) map[string]bool {
	own := map[string]bool{}
	for k, v := range m {
		own[k] = v
	}
	return own
}

func (x *modelRun) Preview(_ Viewer, t *Tool) (Policy, string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.now.off[t.Name] {
		return Off, "model"
	}
	return Auto, "model"
}

func (x *modelRun) Decide(_ context.Context, r DecideRequest) Decision {
	if p, rule := x.Preview(r.Call.Viewer, &r.Tool); p == Off {
		return Decision{Verdict: Hidden, Rule: rule}
	}
	return Decision{Verdict: Allow}
}

func (x *modelRun) start() {
	x.h = newHost(x.t)
	x.places[0], x.fibers[0], x.scopes[0] = x.h.Root(), x.h.Root().Fiber(), map[int]*Scope{}
	x.load(1)
	x.load(3)
	x.m = toolModel{hidden: map[string]bool{}, off: map[string]bool{}, disabled: map[string]bool{}}
	x.sources = map[string]*SourceControl{}
	x.sync()
	tooler(x.t, x.h.Root(), "policy", func(c *Context) error {
		for _, name := range modelSources {
			s, err := c.Tools().Source(FromMCP, name)
			must(x.t, err)
			x.sources[name] = s
		}
		must(x.t, c.Tools().Visibility(func(v Viewer, t *Tool) bool {
			x.mu.Lock()
			defer x.mu.Unlock()
			return !x.now.hidden[v.Agent+"/"+t.Name]
		}))
		return Deciders.Provide(c, x)
	})
}

func (x *modelRun) newTool(place int) (modelTool, Tool, *Tools) {
	x.last++
	mt := modelTool{name: pickOf(x.r, modelNames), agent: pickOf(x.r, modelAgents), groups: x.some(modelGroups),
		place: place, word: fmt.Sprint(x.last), source: pickOf(x.r, modelSources)}
	c := x.places[place]
	for id, s := range x.scopes[place] {
		if id < mt.scope || mt.scope == 0 && x.r.IntN(2) == 0 {
			mt.scope, c = id, s.Context
		}
	}
	tool := says(mt.name, mt.word)
	tool.Scope, tool.Groups, tool.Source = mt.agent, mt.groups, Source{Kind: FromMCP, Name: mt.source, Raw: mt.word}
	return mt, tool, c.Tools()
}

func (x *modelRun) wantOutcome(what string, ok bool, err error) {
	x.t.Helper()
	if ok != (err == nil) {
		x.t.Fatalf("%s: %v, the model says ok=%v", what, err, ok)
	}
}

// step makes one random change.
func (x *modelRun) step() {
	place := x.r.IntN(4)
	switch n := x.r.IntN(20); {
	case n < 6:
		mt, tool, tools := x.newTool(place)
		x.wantOutcome("define", x.m.put(mt, false), tools.Define(tool))
	case n < 9:
		mt, tool, tools := x.newTool(place)
		next := x.m.clone()
		ok := next.put(mt, true)
		x.wantOutcome("replace", ok, tools.Replace(tool))
		if ok {
			x.m = *next
		}
	case n < 11:
		name := pickOf(x.r, modelNames)
		x.wantOutcome("remove", x.m.remove(place, name), x.places[place].Tools().Remove(name))
	case n < 13:
		x.batch(place)
	case n < 14:
		x.last++
		s, err := x.places[place].Scope(fmt.Sprint(x.last))
		must(x.t, err)
		x.scopes[place][x.last] = s
	case n < 15:
		for id, s := range x.scopes[place] {
			must(x.t, s.Dispose(x.t.Context()))
			delete(x.scopes[place], id)
			x.m.drop(place, id)
			break
		}
	case n < 16 && place > 0:
		must(x.t, x.fibers[place].Dispose(x.t.Context()))
		x.m.drop(place, 0)
		x.load(place)
	case n < 17 && len(x.m.filters) < 2:
		f := Filter{Include: x.some(modelGlobs), Exclude: x.some(modelGlobs[1:])}
		must(x.t, x.places[place].Tools().Filter(f))
		x.m.filters = append(x.m.filters, modelFilter{f, place, 0})
	case n < 18:
		key := pickOf(x.r, modelAgents) + "/" + pickOf(x.r, modelNames)
		x.m.hidden[key] = !x.m.hidden[key]
	case n < 19:
		name := pickOf(x.r, modelNames)
		x.m.off[name] = !x.m.off[name]
	default:
		name := pickOf(x.r, modelSources)
		x.m.disabled[name] = !x.m.disabled[name]
		x.sources[name].Set(map[bool]SourceState{true: SourceDisabled, false: SourceReady}[x.m.disabled[name]])
	}
	x.sync()
}

// batch makes several changes of one place, all or none.
func (x *modelRun) batch(place int) {
	next := x.m.clone()
	ok := true
	before := x.h.Root().Tools().Version()
	err := x.places[place].Tools().Batch(func(b *ToolBatch) error {
		for range 1 + x.r.IntN(4) {
			mt, tool, _ := x.newTool(place)
			mt.scope = 0
			switch x.r.IntN(3) {
			case 0:
				b.Define(tool)
				ok = ok && next.put(mt, false)
			case 1:
				b.Replace(tool)
				ok = ok && next.put(mt, true)
			default:
				b.Remove(mt.name)
				ok = ok && next.remove(place, mt.name)
			}
		}
		return nil
	})
	x.wantOutcome("batch", ok, err)
	if got := x.h.Root().Tools().Version(); got > before+1 || !ok && got != before {
		x.t.Fatalf("a batch (ok=%v) raised the version by %d", ok, got-before)
	}
	if ok {
		x.m = *next
	}
}

// compare looks with several viewers.
func (x *modelRun) compare() {
	for range 6 {
		place := x.r.IntN(4)
		v := Viewer{Agent: pickOf(x.r, modelAgents), Groups: x.some(modelGroups), Session: fmt.Sprint(x.r.IntN(2))}
		seen := x.places[place].Viewer(v)
		tools := x.h.Root().Tools()
		var got []string
		list, catalog := tools.List(seen), tools.Catalog(seen)
		for i, t := range list {
			got = append(got, t.Name+"="+t.Source.Raw)
			if catalog[i].Name != t.Name || catalog[i].Source != t.Source {
				x.t.Fatalf("catalogue %v and list %v differ", catalog[i], t.Name)
			}
		}
		if want := x.m.list(v, place); strings.Join(got, " ") != want || len(list) != len(catalog) {
			x.t.Fatalf("%+v at %d sees %q, want %q", v, place, strings.Join(got, " "), want)
		}
		name := pickOf(x.r, modelNames)
		r := tools.Execute(x.t.Context(), Call{Name: name, Viewer: seen})
		if t, ok := x.m.sees(v, place, name); ok != (r.Err == nil) || ok && r.Text() != t.word {
			x.t.Fatalf("%+v at %d calls %s: %q %v, the model says %v %q", v, place, name, r.Text(), r.Err, ok, t.word)
		} else if !ok && r.Err.Code != CodeUnknown {
			x.t.Fatalf("call of a hidden tool: %v", r.Err)
		}
	}
}

func TestToolsAgreeWithAModel(t *testing.T) {
	seeds := []uint64{1, 2, 3, rand.Uint64()}
	if *toolSeed != 0 {
		seeds = []uint64{*toolSeed}
	}
	for _, seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			x := &modelRun{t: t, r: rand.New(rand.NewPCG(seed, 1))}
			x.start()
			for range 400 {
				x.step()
				x.compare()
			}
			for i := 3; i > 0; i-- {
				must(t, x.fibers[i].Dispose(t.Context()))
			}
			for _, d := range x.m.tools {
				if d.place == 0 {
					_ = x.h.Root().Tools().Remove(d.name)
				}
			}
			for _, s := range x.scopes[0] {
				must(t, s.Dispose(t.Context()))
			}
			x.h.tools.mu.Lock()
			left := len(x.h.tools.defs)
			x.h.tools.mu.Unlock()
			if left != 0 {
				t.Errorf("%d names left in the table", left)
			}
		})
	}
}

// TestToolsUnderContention is for the race detector: everything at once, and
// each list in itself whole.
func TestToolsUnderContention(t *testing.T) {
	h := newHost(t)
	keepLedger(t, h.Root())
	var wg sync.WaitGroup
	var bad atomic.Pointer[string]
	for i := range 4 {
		wg.Go(func() {
			for n := range 50 {
				f, err := Load(h.Root(), Plugin[struct{}]{Name: fmt.Sprint("p", i), Apply: func(c *Context, _ struct{}) error {
					must(t, c.Tools().Filter(Filter{Exclude: []string{fmt.Sprint("x", n%3)}}))
					must(t, c.Tools().Use(n, func(next Handler) Handler { return next }))
					return c.Tools().Batch(func(b *ToolBatch) error {
						b.Define(says(fmt.Sprint("a", i), ""))
						b.Define(says(fmt.Sprint("b", i), ""))
						return nil
					})
				}}, struct{}{})
				must(t, err, f.Ready(t.Context()), f.Dispose(t.Context()))
			}
		})
		wg.Go(func() {
			for range 200 {
				list := h.Root().Tools().List(Viewer{Agent: fmt.Sprint(i)})
				h.Root().Tools().Catalog(Viewer{Groups: []string{fmt.Sprint(i)}})
				if !slices.IsSortedFunc(list, beforeStrictly) {
					s := namesOf(list)
					bad.Store(&s)
				}
				switch r := run(t, h.Root(), fmt.Sprint("a", i), ""); {
				case r.Err == nil, r.Err.Code == CodeUnknown, r.Err.Code == CodeGone:
				default:
					s := r.Err.Error()
					bad.Store(&s)
				}
			}
		})
	}
	wg.Wait()
	if s := bad.Load(); s != nil {
		t.Errorf("seen: %s", *s)
	}
}

// beforeStrictly makes two tools of one name count as out of order.
func beforeStrictly(a, b Tool) int {
	if a.Name < b.Name {
		return -1
	}
	return 1
}
