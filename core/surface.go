package core

import "github.com/agentd-host/agentd/core/llm"

// Surface is what one step of a model, or one MCP client, is shown. It starts
// as the viewer's list; handlers of [ToolSurface] narrow and rearrange it.
type Surface struct {
	Viewer Viewer
	Turn   string
	Model  llm.Info // zero for an MCP client
	// Tools in the order in which they are shown. The slice may be the
	// registry's own: a handler puts another one in its place and never
	// writes into it.
	Tools []Tool
	// Deferred tools are sent for the provider's own deferral; Native says
	// that this is wanted.
	Deferred []Tool
	Native   bool
	// Context is added to the request's run-time context.
	Context []llm.Part
	// History is the conversation so far, First the first text of the user.
	// Both are read only.
	History []llm.Message
	First   string
	// DryRun: only measured; no side effects.
	DryRun bool
}

// ToolSurface settles what a step shows. A handler calls next for what the
// others settle and may narrow the answer. It never widens policy: Execute
// decides about each call whatever was shown.
var ToolSurface = NewHook[Surface, Surface]("tool:surface", LogShortCircuit())

// LLMBefore sees each request just before it goes to the model and may change
// it; the hook's answer is what is sent.
var LLMBefore = NewHook[*llm.Request, *llm.Request]("llm:before", LogShortCircuit())

// ClearRequest asks for memory to be cleared.
type ClearRequest struct {
	// All clears every session, else Session alone.
	All     bool
	Session string
	// Types are kinds of memory: messages, images, summaries, jobs, or a
	// plugin's own. Empty = everything.
	Types []string
}

// Wants tells whether a kind of memory is to be cleared.
func (r ClearRequest) Wants(kind string) bool {
	if len(r.Types) == 0 {
		return true
	}
	for _, t := range r.Types {
		if t == kind {
			return true
		}
	}
	return false
}

// ClearReport says what was cleared, by kind.
type ClearReport map[string]int

// MemoryClear clears memory. The deletion is the innermost function; a
// handler does its own part after next succeeded.
var MemoryClear = NewHook[ClearRequest, ClearReport]("memory:clear")
