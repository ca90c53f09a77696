// Package plugins names the standard set: the plugins that agentd is built
// with. Each is a package of its own below this one.
package plugins

import (
	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/plugins/agent"
	"github.com/agentd-host/agentd/plugins/anthropic"
	"github.com/agentd-host/agentd/plugins/mcp"
	"github.com/agentd-host/agentd/plugins/memory"
	"github.com/agentd-host/agentd/plugins/offline"
	"github.com/agentd-host/agentd/plugins/openai"
	"github.com/agentd-host/agentd/plugins/skills"
	"github.com/agentd-host/agentd/plugins/toolpolicy"
	"github.com/agentd-host/agentd/plugins/toolsearch"
	"github.com/agentd-host/agentd/plugins/workspace"
)

// Standard returns the standard set, in the order in which lists show it.
func Standard() []core.AnyPlugin {
	return []core.AnyPlugin{
		offline.Plugin,
		openai.Plugin,
		anthropic.Plugin,
		agent.Plugin,
		toolpolicy.Plugin,
		toolsearch.Plugin,
		mcp.Plugin,
		skills.Plugin,
		workspace.Plugin,
		memory.Plugin,
	}
}
