package llm

import "encoding/json"

// Request is everything that one model call needs. Whoever builds it owns it
// until Stream is called; a model must not change it.
type Request struct {
	// System is the system prompt, in named parts so that one of them can be
	// replaced. Stable over a session: providers cache it.
	System []Part `json:"system,omitempty"`
	// Context holds run-time context. It is rendered after the system prompt,
	// behind the stable cache breakpoint, and stays when an agent replaces
	// its whole system prompt.
	Context  []Part    `json:"context,omitempty"`
	Messages []Message `json:"messages"`
	// Tools in the order in which the model shall see them.
	Tools        []Tool       `json:"tools,omitempty"`
	Presentation Presentation `json:"presentation,omitempty"` // empty means native
	Choice       ToolChoice   `json:"choice,omitzero"`
	Limits       Limits       `json:"limits,omitzero"`
	Cache        CacheHints   `json:"cache,omitzero"`
	Viewer       Viewer       `json:"viewer,omitzero"`
	// Native asks an adapter that can to defer the tools whose Deferred bit
	// is set by the provider's own means. Without it an adapter leaves
	// deferred tools out of what it sends.
	Native bool `json:"native,omitempty"`
	// DryRun is set when the request is only measured, never sent. Listeners
	// must have no side effects then.
	DryRun bool `json:"dryRun,omitempty"`
	// Options holds settings for one provider each, by its name, unread here.
	Options map[string]json.RawMessage `json:"options,omitempty"`
}

// Tool is a tool's definition as a model sees it.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"` // JSON Schema of the arguments
	Strict      bool            `json:"strict,omitempty"`
	// Deferred tools are known to the request but shown to the model only by
	// a provider's own deferral ([Request.Native]).
	Deferred bool `json:"deferred,omitempty"`
}

// Presentation says how tools reach the model.
type Presentation string

// The presentations. Code offers tools as functions of a script tool.
const (
	Native Presentation = "native"
	Code   Presentation = "code"
	Both   Presentation = "both"
)

// ToolChoice limits what a model may call. The zero value leaves the choice
// to the model.
type ToolChoice struct {
	Mode string `json:"mode,omitempty"` // "", "none", "required", or "tool" with Name
	Name string `json:"name,omitempty"`
	// NoParallel asks for at most one call in an answer.
	NoParallel bool `json:"noParallel,omitempty"`
}

// Limits bound one answer. Zero means the provider's default.
type Limits struct {
	MaxTokens   int      `json:"maxTokens,omitempty"`
	Temperature *float64 `json:"temperature,omitempty"`
	Stop        []string `json:"stop,omitempty"`
	// Effort is a word for reasoning models: minimal, low, medium, high.
	Effort string `json:"effort,omitempty"`
}

// CacheHints tell a provider with explicit cache breakpoints what is stable.
type CacheHints struct {
	// Prefix: tools and System are the same as in the session's last request.
	Prefix bool `json:"prefix,omitempty"`
	// Messages: the first n messages will come again unchanged.
	Messages int `json:"messages,omitempty"`
	// Key groups requests that share a prefix (usually the session).
	Key string `json:"key,omitempty"`
}

// Viewer says on whose behalf a request is made. It is for listeners and
// logs, never sent to a provider.
type Viewer struct {
	Agent   string   `json:"agent,omitempty"`
	Session string   `json:"session,omitempty"`
	User    string   `json:"user,omitempty"`
	Groups  []string `json:"groups,omitempty"`
}
