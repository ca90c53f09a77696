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
