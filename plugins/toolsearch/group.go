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
	of     map[string]string   // tool -> group
	member map[string][]string // group -> tools, sorted
	empty  []Group             // groups of the settings that no tool is in
}

// newGrouping sorts tools into groups: those of the settings, the first that
// fits, else that of the MCP server.
func newGrouping(s *settings, tools []core.Tool) *grouping {
	g := &grouping{of: make(map[string]string, len(tools)), member: make(map[string][]string)}
	used := make([]bool, len(s.groups))
	for i := range tools {
		t := &tools[i]
		name := sourceGroup(t)
		if k := slices.IndexFunc(s.groups, func(g Group) bool { return s.inGroup(&g, t.Name) }); k >= 0 {
			name, used[k] = s.groups[k].Name, true
		}
		g.of[t.Name] = name
		g.member[name] = append(g.member[name], t.Name)
	}
	for i, u := range used {
		if !u {
			g.empty = append(g.empty, s.groups[i])
		}
	}
	return g
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

// groupCount is a group and how many tools it has.
type groupCount struct {
	Group string `json:"group"`
	Count int    `json:"count"`
}

// counts lists the groups by name, what is in none at the end.
func (g *grouping) counts() []groupCount {
	list := make([]groupCount, 0, len(g.member))
	for name, tools := range g.member {
		list = append(list, groupCount{name, len(tools)})
	}
	slices.SortFunc(list, func(a, b groupCount) int { return compareGroups(a.Group, b.Group) })
	return list
}

func compareGroups(a, b string) int {
	if (a == ungrouped) != (b == ungrouped) {
		return cmp.Compare(boolInt(a == ungrouped), boolInt(b == ungrouped))
	}
	return strings.Compare(a, b)
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// label is the group as answers show it: none for what is in none.
func (g *grouping) label(tool string) string {
	if name := g.of[tool]; name != ungrouped {
		return name
	}
	return ""
}
