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

// touch adds tools or renews them; the first is the best and stays longest.
// Past the cap the least recently used go, with halve the older half of those
// that were there, so that the list changes rarely. A cap of 0 is none.
func (w *warmSet) touch(names []string, cap int, halve bool) {
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
	if cap == 0 || len(w.tools) <= cap {
		return
	}
	if halve {
		for _, name := range old.oldest((len(old.tools) + 1) / 2) {
			if i := w.find(name); !slices.Contains(names, name) {
				w.tools = slices.Delete(w.tools, i, i+1)
			}
		}
	}
	w.cut(cap)
}

// cut drops the least recently used past a cap.
func (w *warmSet) cut(cap int) {
	if cap == 0 || len(w.tools) <= cap {
		return
	}
	drop := w.oldest(len(w.tools) - cap)
	w.keep(func(name string) bool { return !slices.Contains(drop, name) })
}

// oldest names the n least recently used.
func (w *warmSet) oldest(n int) []string {
	byAge := slices.SortedStableFunc(slices.Values(w.tools), func(a, b warmTool) int {
		return cmp.Compare(a.Used, b.Used)
	})
	names := make([]string, 0, n)
	for _, t := range byAge[:n] {
		names = append(names, t.Name)
	}
	return names
}

// keep drops the tools that f does not want.
func (w *warmSet) keep(f func(name string) bool) {
	w.tools = slices.DeleteFunc(slices.Clone(w.tools), func(t warmTool) bool { return !f(t.Name) })
}
