package core

import (
	"context"
	"encoding/json"
	"time"
)

// Via says how a call came about.
type Via string

// The ways to a tool.
const (
	ViaPlugin Via = ""       // a plugin's own call
	ViaModel  Via = "model"  // a model named the tool
	ViaBridge Via = "bridge" // through a bridge tool
	ViaCode   Via = "code"   // from a script tool
	ViaPerson Via = "person" // typed at a terminal or a console
	ViaMCP    Via = "mcp"    // an MCP client
)

// Call asks for one run of a tool.
type Call struct {
	ID   string // unique in its session; empty: one is made
	Name string
	Args json.RawMessage
	// Viewer is on whose behalf; it decides what is visible.
	Viewer Viewer
	Via    Via
	// MaxResult caps the text of the result toward a model, in bytes;
	// 0 = no cap.
	MaxResult int
	// Turn identifies the turn that the call belongs to, for answers that
	// hold for one turn.
	Turn string
}

// ToolChange is what [ToolsChanged] carries.
type ToolChange struct{ Version uint64 }

// ToolFinal is what [ToolAfter] carries before a result is capped: a listener
// may replace *Result.
type ToolFinal struct {
	Call   Call
	Tool   Tool
	Result *Result
}

// ToolOutcome is what [ToolDone] carries: the final result of a call. Entered
// tells whether the tool's function was reached.
type ToolOutcome struct {
	Call     Call
	Tool     Tool // zero for an unknown tool
	Result   Result
	Entered  bool
	Duration time.Duration
}

// ToolDecision is what [ToolDecided] carries.
type ToolDecision struct {
	Call     Call
	Tool     Tool
	Digest   string
	Decision Decision
}

// Events around tools. Exactly one ToolDecided and one ToolDone are emitted
// for each call of [Tools.Execute], also after a panic or a cancel.
var (
	ToolBefore   = NewEvent[*Call]("tool:before") // may rewrite Args; an error refuses the call
	ToolAfter    = NewEvent[*ToolFinal]("tool:after")
	ToolDecided  = NewEvent[ToolDecision]("tool:decided")
	ToolDone     = NewEvent[ToolOutcome]("tool:done")
	ToolsChanged = NewEvent[ToolChange]("tools:changed") // debounced
)

// Executor runs tools; [Tools] fulfils it.
type Executor interface {
	Execute(ctx context.Context, call Call) Result
}
