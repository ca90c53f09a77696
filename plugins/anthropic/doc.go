// Package anthropic talks to models behind Anthropic's Messages API, always
// streaming.
//
//	plugins:
//	  anthropic: {apiKey: "${ANTHROPIC_API_KEY:-}", model: claude-sonnet-4-5}
//
// Everything is passed explicitly: no environment variable and no profile but
// what agent.yml names has a say. An entry is a provider under its id.
//
// The stable beginning of a request (tools, system prompt) and the
// conversation so far carry cache breakpoints; run-time context stands behind
// the first. Deferred tools are sent with defer_loading where the request asks
// for that (llm.Request.Native); parts of kind llm.ToolReferencePart in a
// tool's result then reveal them, without a change of the tools. Signatures of
// thoughts are kept with the message and sent back.
package anthropic
