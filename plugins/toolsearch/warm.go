package toolsearch

import (
	"cmp"
	"slices"
)

// warmSet is the tools that a session has found, in the order in which they
// were found. It is a value: changing a copy leaves the original.
type warmSet struct {
	tools []warmTool
	clock int64
}

// warmTool is a found tool and when it was last of use.
type warmTool struct {
	Name string `json:"name"`
	Used int64  `json:"used"`
}

func (w *warmSet) clone() warmSet { return warmSet{slices.Clone(w.tools), w.clock} }

// names in the order found.
func (w *warmSet) names() []string {
	names := make([]string, len(w.tools))
	for i, t := range w.tools {
		names[i] = t.Name
	}
	return names
}

func (w *warmSet) find(name string) int {
	return slices.IndexFunc(w.tools, func(t warmTool) bool { return t.Name == name })
}

// limits bound a set.
type limits struct {
	cap    int               // tools; 0 = any number
	halve  bool              // past the cap the older half goes, not one tool
	counts func(string) bool // whether a tool takes a slot; direct ones do not
}

// touch adds tools or renews them; the first is the best and stays longest.
// Past the cap the least recently used go; with halve the older half of those
// that were there, so that the list changes rarely.
func (w *warmSet) touch(names []string, l limits) {
	old := w.clone()
	for _, name := range names {
		if w.find(name) < 0 {
			w.tools = append(w.tools, warmTool{Name: name})
		}
	}
	for _, name := range slices.Backward(names) {
		w.clock++
		w.tools[w.find(name)].Used = w.clock
	}
	if l.halve && w.over(l) > 0 {
		slots := len(old.oldest(l))
		drop := old.oldest(l)[:(slots+1)/2]
		w.keep(func(name string) bool { return slices.Contains(names, name) || !slices.Contains(drop, name) })
	}
	w.cut(l)
}

// over is by how many tools the set passes the cap.
func (w *warmSet) over(l limits) int {
	if l.cap == 0 {
		return 0
	}
	return len(w.oldest(l)) - l.cap
}

// cut drops the least recently used past the cap.
func (w *warmSet) cut(l limits) {
	if n := w.over(l); n > 0 {
		drop := w.oldest(l)[:n]
		w.keep(func(name string) bool { return !slices.Contains(drop, name) })
	}
}

// oldest names the tools that take a slot, the least recently used first.
func (w *warmSet) oldest(l limits) []string {
	byAge := slices.SortedStableFunc(slices.Values(w.tools), func(a, b warmTool) int {
		return cmp.Compare(a.Used, b.Used)
	})
	var names []string
	for _, t := range byAge {
		if l.counts == nil || l.counts(t.Name) {
			names = append(names, t.Name)
		}
	}
	return names
}

// keep drops the tools that f does not want.
func (w *warmSet) keep(f func(name string) bool) {
	w.tools = slices.DeleteFunc(slices.Clone(w.tools), func(t warmTool) bool { return !f(t.Name) })
}
