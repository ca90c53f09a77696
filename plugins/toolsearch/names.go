package toolsearch

import "github.com/agentd-host/agentd/core/pattern"

// The tools of this plugin. All four names of the bridge are taken while it is
// loaded, whichever of them are shown.
const (
	toolSearchName  = "tool_search"
	searchToolsName = "search_tools"
	describeName    = "tool_describe"
	callName        = "tool_call"

	catalogName      = "tool_search_catalog"
	configureName    = "tool_search_configure"
	catalogNameDSH   = "tool_slimmer_catalog"
	configureNameDSH = "tool_slimmer_update_config"
)

// isSearch tells both names of the search tool.
func isSearch(name string) bool { return name == toolSearchName || name == searchToolsName }

// isBridge tells the tools through which others are found and run.
func isBridge(name string) bool {
	return isSearch(name) || name == describeName || name == callName
}

// isConfig tells the tools that configure the search.
func isConfig(name string) bool {
	switch name {
	case catalogName, configureName, catalogNameDSH, configureNameDSH:
		return true
	}
	return false
}

func isOwn(name string) bool { return isBridge(name) || isConfig(name) }

// ownTools is how many tools the plugin would add to a request at most.
const ownTools = 5

// bridges are the names that the model is shown.
func (s *settings) bridges() []string {
	if s.fullBridge {
		return []string{s.searchTool, describeName, callName}
	}
	return []string{s.searchTool}
}

// matchesAny tells whether one of the patterns fits a name.
func matchesAny(patterns []string, name string) bool {
	for _, p := range patterns {
		if pattern.Match(p, name) {
			return true
		}
	}
	return false
}

// namesExactly tells whether one of the patterns is the name itself.
func namesExactly(patterns []string, name string) bool {
	for _, p := range patterns {
		if p == name {
			return true
		}
	}
	return false
}
