package toolsearch

import (
	"cmp"
	"slices"
	"strings"

	"github.com/agentd-host/agentd/core"
)

// ungrouped is the group of tools that are in no other.
const ungrouped = "ungrouped"

// grouping puts tools into groups.
type grouping struct {
	tools  toolList
	of     []int    // by place in tools: place in names
	names  []string // in the order of a listing
	counts []GroupCount
	empty  []Group // groups of the settings that no tool is in
}

// GroupCount is a group and how many tools it has.
type GroupCount struct {
	Group string `json:"group"`
	Count int    `json:"count"`
}

// newGrouping sorts tools into groups: those of the settings, the first that
// fits, else that of the MCP server. What is in none comes last.
func newGrouping(s *settings, tools toolList) *grouping {
	g := &grouping{tools: tools, of: make([]int, len(tools))}
	used := make([]bool, len(s.groups))
	counts := make(map[string]int)
	names := make([]string, len(tools))
	for i, t := range tools {
		names[i] = sourceGroup(t)
		if k := slices.IndexFunc(s.groups, func(g Group) bool { return s.inGroup(&g, t.Name) }); k >= 0 {
			names[i], used[k] = s.groups[k].Name, true
		}
		counts[names[i]]++
	}
	for name, n := range counts {
		g.counts = append(g.counts, GroupCount{name, n})
	}
	slices.SortFunc(g.counts, func(a, b GroupCount) int {
		return cmp.Or(compareBools(a.Group == ungrouped, b.Group == ungrouped), strings.Compare(a.Group, b.Group))
	})
	at := make(map[string]int, len(counts))
	for i, c := range g.counts {
		g.names = append(g.names, c.Group)
		at[c.Group] = i
	}
	for i, name := range names {
		g.of[i] = at[name]
	}
	for i, u := range used {
		if !u {
			g.empty = append(g.empty, s.groups[i])
		}
	}
	return g
}

func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

func sourceGroup(t *core.Tool) string {
	if t.Source.Kind == core.FromMCP && t.Source.Name != "" {
		return t.Source.Name
	}
	return ungrouped
}

func (s *settings) inGroup(g *Group, tool string) bool {
	if slices.Contains(g.Tools, tool) {
		return true
	}
	return slices.ContainsFunc(g.Prefixes, func(prefix string) bool {
		return strings.HasPrefix(tool, prefix) || s.preset == presetDSH && hasServerPrefix(tool, prefix)
	})
}

// hasServerPrefix lets the prefix mcp_<server>_ of preset dsh fit our names,
// mcp__<server>__<tool>.
func hasServerPrefix(tool, prefix string) bool {
	server, ok := strings.CutPrefix(prefix, "mcp_")
	server, end := strings.CutSuffix(server, "_")
	return ok && end && strings.HasPrefix(tool, "mcp__"+server+"__")
}

// place is the number of a tool's group, -1 for a tool that is not there.
func (g *grouping) place(tool string) int {
	i, ok := slices.BinarySearchFunc(g.tools, tool, func(t *core.Tool, name string) int {
		return strings.Compare(t.Name, name)
	})
	if !ok {
		return -1
	}
	return g.of[i]
}

// label is the group as answers show it: none for what is in none.
func (g *grouping) label(tool string) string {
	if at := g.place(tool); at >= 0 && g.names[at] != ungrouped {
		return g.names[at]
	}
	return ""
}

// sort puts some of the tools into their groups.
func (g *grouping) sort(some toolList) []toolList {
	sorted := make([]toolList, len(g.names))
	at := 0
	for _, t := range some {
		for g.tools[at] != t {
			at++
		}
		sorted[g.of[at]] = append(sorted[g.of[at]], t)
	}
	return sorted
}

// members are the tools of a group, by name.
func (g *grouping) members(group int) []string {
	var names []string
	for i, t := range g.tools {
		if g.of[i] == group {
			names = append(names, t.Name)
		}
	}
	return names
}
