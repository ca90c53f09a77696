package toolsearch

import (
	"encoding/json"

	"github.com/agentd-host/agentd/core"
)

// defineTools registers the bridge tools under all four names: two for the
// search, so that a conversation goes on that knew it by the other.
func (l *layer) defineTools() error {
	return l.c.Tools().Batch(func(b *core.ToolBatch) error {
		for _, name := range []string{toolSearchName, searchToolsName} {
			b.Define(bridgeTool(name, "Search tools", searchDescription, searchParameters, l.runSearch))
		}
		describe := bridgeTool(describeName, "Describe tools", describeDescription, describeParameters, l.runDescribe)
		b.Define(describe)
		call := bridgeTool(callName, "Call a tool", callDescription, callParameters, l.runCall)
		call.Inner = innerName
		b.Define(call)
		return nil
	})
}

// bridgeTool is a tool that only reads and may run beside others: what a call
// through it does is decided about where it arrives.
func bridgeTool(name, title, description string, parameters json.RawMessage, run core.ToolFunc) core.Tool {
	return core.Tool{
		Name: name, Title: title, Description: description, Parameters: parameters,
		Traits: core.Traits{Effect: core.Read, Parallel: true, AlwaysLoad: true}, Run: run,
		Subsystem: "tool search",
	}
}
