package core

import (
	"context"
	"slices"

	"github.com/agentd-host/agentd/core/pattern"
)

// Filter narrows tools by name. A tool passes if it matches one of Include, or
// Include is empty, and none of Exclude. Patterns are names with * for any
// number of characters and ? for one.
type Filter struct {
	Include, Exclude []string
}

// Allows reports whether the filter lets a tool of that name through.
func (f Filter) Allows(name string) bool {
	matches := func(glob string) bool { return pattern.Match(glob, name) }
	if len(f.Include) > 0 && !slices.ContainsFunc(f.Include, matches) {
		return false
	}
	return !slices.ContainsFunc(f.Exclude, matches)
}

func (f Filter) clone() *Filter {
	return &Filter{slices.Clone(f.Include), slices.Clone(f.Exclude)}
}

// Filter narrows what viewers see from this fiber and from everything below
// it, until the context's scope ends.
func (t *Tools) Filter(f Filter) error {
	scope, own := &t.c.act.scope, f.clone()
	scope.addFilter(own)
	err := t.c.OnUndo("tool filter", func(context.Context) error {
		scope.dropFilter(own)
		return nil
	})
	if err != nil {
		scope.dropFilter(own)
	}
	return err
}

// Filtered returns a derived context from which viewers, and those of plugins
// loaded through it, see fewer tools.
func (c *Context) Filtered(f Filter) *Context {
	d := c.derive()
	d.filters.Store(&[]*Filter{f.clone()})
	return d
}

func (c *Context) addFilter(f *Filter) {
	c.setFilters(func(fs []*Filter) []*Filter { return append(slices.Clip(fs), f) })
}

func (c *Context) dropFilter(f *Filter) {
	c.setFilters(func(fs []*Filter) []*Filter {
		return slices.DeleteFunc(slices.Clone(fs), func(g *Filter) bool { return g == f })
	})
}

// setFilters replaces the list and makes a new version of the registry, in
// which views are filtered anew.
func (c *Context) setFilters(next func([]*Filter) []*Filter) {
	r := &c.host.tools
	r.mu.Lock()
	defer r.mu.Unlock()
	var old []*Filter
	if p := c.filters.Load(); p != nil {
		old = *p
	}
	list := next(old)
	if len(list) == 0 {
		c.filters.Store(nil)
	} else {
		c.filters.Store(&list)
	}
	r.changed(c.host)
}

// filterPlace is the nearest context from c up that has filters of its own;
// nil if there are none at all. Contexts with one place see the same.
func (c *Context) filterPlace() *Context {
	for ; c != nil; c = c.parentScope() {
		if c.filters.Load() != nil {
			return c
		}
	}
	return nil
}

// filtersFrom lists the filters from c up to the root.
func (c *Context) filtersFrom() []*Filter {
	var all []*Filter
	for ; c != nil; c = c.parentScope() {
		if fs := c.filters.Load(); fs != nil {
			all = append(all, *fs...)
		}
	}
	return all
}
