package toolsearch

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/llm"
)

// notices says once what a user should know about the configuration.
type notices struct {
	mu   sync.Mutex // guards the field below
	said map[string]bool
}

// first tells whether this was not said before.
func (n *notices) first(what string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.said[what] {
		return false
	}
	if n.said == nil {
		n.said = make(map[string]bool)
	}
	n.said[what] = true
	return true
}

// of looks at a step.
func (n *notices) of(c *core.Context, sp *split, out *core.Surface) {
	if sp.noticed.Swap(true) {
		return
	}
	n.missing(c, sp)
	n.emptyGroups(c, sp)
	if sp.s.enabled == EnabledOff {
		n.large(c, sp, out.Model)
	}
	can := out.Model.Capabilities.NativeDeferral
	if sp.s.reveal == revealNative && !can && n.first("native:"+out.Model.Model) {
		c.Logger().Warn("the model has no deferral of its own, found tools are appended instead",
			"model", out.Model.Model, "option", "reveal")
	}
}

// missing names tools of alwaysDirectTools that are not there.
func (n *notices) missing(c *core.Context, sp *split) {
	for _, name := range sp.s.pinned {
		if sp.cat.tools.has(name) || strings.ContainsAny(name, "*?") || isOwn(name) || !n.first("pinned:"+name) {
			continue
		}
		c.Logger().Warn("a tool that should always be shown is not there", "tool", name,
			"near", nearest(name, sp.found.names(), nearCount))
	}
}

// emptyGroups names groups that no tool is in.
func (n *notices) emptyGroups(c *core.Context, sp *split) {
	for _, g := range sp.groups.empty {
		if !n.first("group:" + g.Name) {
			continue
		}
		var near []string
		for _, tool := range append(slices.Clone(g.Tools), g.Prefixes...) {
			near = append(near, nearest(tool, sp.found.names(), 1)...)
		}
		c.Logger().Warn("no tool is in this group", "group", g.Name, "near", near)
	}
}

// largeShare is the part of the window from which definitions are too many.
const largeShare = 10

// large says how much the definitions take when nothing is deferred.
func (n *notices) large(c *core.Context, sp *split, m llm.Info) {
	window := sp.s.window(m.ContextWindow)
	tokens, bySource := 0, make(map[string]int)
	for _, t := range sp.found {
		tokens += toolTokens(t)
		bySource[strings.TrimSpace(string(t.Source.Kind)+" "+t.Source.Name)]++
	}
	if tokens*largeShare <= window || !n.first("large") {
		return
	}
	var sources []string
	for _, s := range slices.Sorted(maps.Keys(bySource)) {
		sources = append(sources, fmt.Sprintf("%s %d", s, bySource[s]))
	}
	c.Logger().Warn("tool definitions take much of the context window; set enabled to auto to defer them",
		"tokens", tokens, "window", window, "tools", strings.Join(sources, ", "))
}

// toolTokens estimates a tool's definition.
func toolTokens(t *core.Tool) int {
	return llm.UnitTokens(llm.TokenUnits(t.Name) + llm.TokenUnits(t.Description) + llm.TokenUnits(string(t.Parameters)))
}
