package core

import (
	"cmp"
	"slices"
	"strings"
)

// Tools is the host's one registry of tools, seen from a context: what is
// defined through it belongs to that context's fiber, and a [Viewer] made by
// hand looks from there. It is cheap and may be used from any goroutine.
type Tools struct {
	c *Context
}

// Tools returns the registry seen from c.
func (c *Context) Tools() *Tools { return &Tools{c} }

// Version counts the changes of the registry. It increases whenever a tool, a
// filter, a rule or the state of a source changes.
func (t *Tools) Version() uint64 { return t.registry().version.Load() }

// List returns the tools that v may see now, sorted by name, without their
// functions. The slice is shared and must not be changed; it stays as it is
// while the registry goes on. On an unchanged registry List allocates nothing.
func (t *Tools) List(v Viewer) []Tool {
	view := t.view(v)
	if list := view.tools.Load(); list != nil {
		return *list
	}
	list := make([]Tool, len(view.defs))
	for i, d := range view.defs {
		list[i] = d.tool
	}
	view.tools.Store(&list)
	return list
}

// Catalog returns the same tools as List as light entries. The slice is shared
// and must not be changed.
func (t *Tools) Catalog(v Viewer) []Entry {
	view := t.view(v)
	if list := view.entries.Load(); list != nil {
		return *list
	}
	snap := t.registry().current()
	list := make([]Entry, len(view.defs))
	for i, d := range view.defs {
		list[i] = snap.entry(d)
		if view.policy != nil {
			list[i].Policy, list[i].Rule = view.policy[i].policy, view.policy[i].rule
		}
	}
	view.entries.Store(&list)
	return list
}

// All returns every definition that there is, whoever may see it, sorted by name
// and owner. It is for the owner of the host, never for a model.
func (t *Tools) All() []Entry {
	snap := t.registry().current()
	var all []Entry
	for _, n := range snap.names {
		for _, d := range n.defs {
			all = append(all, snap.entry(d))
		}
	}
	slices.SortStableFunc(all, func(a, b Entry) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Owner, b.Owner))
	})
	return all
}

// Traits tells how a call would behave: the traits of the tool, or those of
// the inner tool if it stands for another. False: the viewer has no such tool.
func (t *Tools) Traits(call Call) (Traits, bool) {
	def, _ := t.lookup(call.Viewer, call.Name)
	if def == nil {
		return Traits{}, false
	}
	traits := def.tool.Traits
	args, err := normalArgs(call.Args)
	if err != nil {
		return traits, true
	}
	name := def.innerName(args)
	if name == "" || name == call.Name {
		return traits, true
	}
	inner, _ := t.lookup(call.Viewer, name)
	if inner == nil {
		return traits, true
	}
	traits.Parallel, traits.Timeout = inner.tool.Traits.Parallel, inner.tool.Traits.Timeout
	traits.Background = inner.tool.Traits.Background
	return traits, true
}

func (t *Tools) registry() *toolRegistry { return &t.c.host.tools }

var _ Executor = (*Tools)(nil)
