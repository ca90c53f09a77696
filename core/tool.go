package core

import (
	"context"
	"encoding/json"
	"time"
)

// Tool is a function that a model, a person or another plugin may run. It is
// registered with [DefineTool] (arguments as a Go type) or [Tools.Define]
// (raw) and belongs to the fiber of the context that registered it.
type Tool struct {
	// Name matches ^[a-zA-Z0-9_-]{1,64}$ and is unique in its scope.
	Name string
	// Title is for display; empty means Name.
	Title       string
	Description string
	// Parameters is the JSON Schema of the arguments, kept as it was given.
	// DefineTool makes it from the argument type where it is nil. A raw tool
	// without one takes any object.
	Parameters json.RawMessage
	// Output is the JSON Schema of Result.Structured; nil = not stated.
	Output json.RawMessage
	Traits Traits
	// Scope is the name of the one agent that has this tool; empty = all.
	// A scoped tool shadows a global one of the same name there.
	Scope string
	// Groups are labels; a viewer needs one of them. None = everybody.
	Groups []string
	// Source says where the tool comes from; zero = the registering plugin.
	Source Source
	// Subsystem is for display: a heading under which people look for it.
	Subsystem string
	// Meta is what came with the definition and is passed on unread (MCP's
	// _meta, annotations, icons).
	Meta map[string]json.RawMessage
	// Permission computes from the arguments what a call needs; every part
	// must pass. Nil: one permission "tool:<name>". Pure, quick, no I/O.
	Permission func(args json.RawMessage) ([]Permission, error)
	// Inner names the tool that a call of this one stands for: a bridge's
	// Parallel trait and time-out are those of the inner tool. Nil or "": the
	// tool stands for itself. Pure.
	Inner func(args json.RawMessage) string
	// RenderCall and RenderResult give one short line for people. Pure.
	RenderCall   func(args json.RawMessage) string
	RenderResult func(Result) string
	// Run does the work. It is called by [Tools.Execute] alone; the tools
	// that [Tools.List] returns have it removed.
	Run ToolFunc
}

// ToolFunc runs one call. It may be called from many goroutines at once, must
// return soon after ctx is cancelled, and must not change the invocation's
// arguments. An error becomes a result with [CodeFailed].
type ToolFunc func(ctx context.Context, call *Invocation) (Result, error)

// Traits say how a tool behaves.
type Traits struct {
	// Effect is what the tool may do; undeclared counts as Exec for policy.
	Effect Effect
	// Parallel: may run beside its neighbours of one answer.
	Parallel bool
	// Timeout of one call; 0 = the host's default.
	Timeout time.Duration
	// Deferred: better found by search than shown. AlwaysLoad: better shown.
	Deferred, AlwaysLoad bool
	// Background false: abort at the time-out instead of handing the call to
	// the background. Nil = allowed.
	Background *bool
}

// Effect is what a tool does to the world.
type Effect string

// The effects, from harmless to dangerous. Undeclared is treated as Exec.
const (
	Undeclared Effect = ""
	Read       Effect = "read"
	Write      Effect = "write"
	Exec       Effect = "exec"
)

// Or gives the effect that policy goes by: Exec where none was declared.
func (e Effect) Or() Effect {
	if e == Undeclared {
		return Exec
	}
	return e
}

// SourceKind tells the kinds of sources apart.
type SourceKind string

// The kinds of sources.
const (
	FromPlugin SourceKind = "plugin"
	FromMCP    SourceKind = "mcp"
)

// Source is where a tool comes from: a plugin, or an MCP server by its name.
type Source struct {
	Kind SourceKind `json:"kind"`
	Name string     `json:"name"`
	// Raw is the tool's name at the source, where it differs.
	Raw string `json:"raw,omitempty"`
	// Trusted: the source's own claims about effects may loosen policy.
	Trusted bool `json:"trusted,omitempty"`
}

// SourceState says whether a source's tools can work now.
type SourceState string

// The states of a source. Tools of a disabled one are hidden; those of one
// that is connecting, held or unavailable stay listed, marked.
const (
	SourceReady       SourceState = "ready"
	SourceConnecting  SourceState = "connecting"
	SourceUnavailable SourceState = "unavailable"
	SourceDisabled    SourceState = "disabled"
	// SourceHeld: it does not start before a person consents to what it runs.
	SourceHeld SourceState = "needs consent"
)

// Permission is one thing that a call needs to be allowed.
type Permission struct {
	Name   string `json:"name"`             // "tool:<name>", "path:write", "command", ...
	Target string `json:"target,omitempty"` // a path, a program, a host
	// With is what else the target depends on, such as the folder that a
	// program runs in. Rules do not look at it; an answer that is kept covers
	// the target with the same alone.
	With string `json:"with,omitempty"`
}

// Entry is a tool in the catalogue: light, without schemas.
type Entry struct {
	Name        string      `json:"name"`
	Title       string      `json:"title,omitempty"`
	Description string      `json:"description,omitempty"`
	Owner       string      `json:"owner"` // the plugin's fiber, by its path
	Source      Source      `json:"source"`
	State       SourceState `json:"state"`
	Subsystem   string      `json:"subsystem,omitempty"`
	Scope       string      `json:"scope,omitempty"`
	Groups      []string    `json:"groups,omitempty"`
	Traits      Traits      `json:"-"`
	Effect      Effect      `json:"effect"`
	Policy      Policy      `json:"policy,omitempty"` // empty without a Decider
	Rule        string      `json:"rule,omitempty"`
	// Shadows names the owner of a global tool that this scoped one hides.
	Shadows string `json:"shadows,omitempty"`
}

// believedEffect is what the tool counts as: what an untrusted server says
// about its own tools does not make them harmless.
func (t *Tool) believedEffect() Effect {
	if t.Source.Kind == FromMCP && !t.Source.Trusted {
		return Exec
	}
	return t.Traits.Effect.Or()
}
