package core

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/agentd-host/agentd/core/llm"
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

// Invocation is a call that runs: what a tool's function gets.
type Invocation struct {
	Call
	// Tool is the definition that runs, without its function.
	Tool Tool
	// Started is when the function was entered.
	Started time.Time

	run *running // what Ask, Deny and Progress act upon
}

// Result is what came out of a call. It always has parts that a model can
// read, also when Err is set.
type Result struct {
	Parts      []llm.Part      `json:"parts"`
	Structured json.RawMessage `json:"structured,omitempty"`
	// Err is nil on success.
	Err *ToolError `json:"error,omitempty"`
	// Raw is the source's answer as received (an MCP result), for those who
	// pass it on unchanged.
	Raw json.RawMessage `json:"-"`
	// Handle names the background job that goes on with the call.
	Handle string `json:"handle,omitempty"`
	// Truncated is the size in bytes before the cap took its part; 0 = whole.
	Truncated int `json:"truncated,omitempty"`
}

// TextResult is a successful result of one text.
func TextResult(s string) Result { return Result{Parts: []llm.Part{llm.Text(s)}} }

// Text joins the text parts.
func (r Result) Text() string { return llm.PartsText(r.Parts) }

// ErrorCode tells the ways in which a call can fail.
type ErrorCode string

// The codes of failed calls. Up to CodeDenied the tool's function was not
// entered.
const (
	CodeUnknown     ErrorCode = "unknown_tool"
	CodeArguments   ErrorCode = "invalid_arguments"
	CodeDenied      ErrorCode = "denied"
	CodeNobody      ErrorCode = "nobody_to_ask" // denied, since no person could be asked
	CodeGone        ErrorCode = "tool_gone"
	CodeTimeout     ErrorCode = "timeout"
	CodeCancelled   ErrorCode = "cancelled"
	CodeInterrupted ErrorCode = "interrupted"
	CodeFailed      ErrorCode = "failed"
	CodePanicked    ErrorCode = "panicked"
)

// ErrToolGone is matched by errors of calls whose tool was unloaded.
var ErrToolGone = errors.New("the tool is gone")

// ToolError says why a call failed.
type ToolError struct {
	Code    ErrorCode `json:"code"`
	Tool    string    `json:"tool"`
	Message string    `json:"message"`
	// Path, Constraint and Parameters are set with CodeArguments: where, what
	// was wanted, and the schema of that parameter.
	Path       string          `json:"path,omitempty"`
	Constraint string          `json:"constraint,omitempty"`
	Parameters json.RawMessage `json:"parameters,omitempty"`
	// Near are visible names close to an unknown one.
	Near []string `json:"near,omitempty"`
	// Rule and Plugin name who decided or whose code failed.
	Rule   string `json:"rule,omitempty"`
	Plugin string `json:"plugin,omitempty"`
	// Stop asks the turn to begin no further call.
	Stop  bool  `json:"stop,omitempty"`
	Cause error `json:"-"`
}

// Error gives the message with the tool's name.
func (e *ToolError) Error() string { return fmt.Sprintf("%s: %s", e.Tool, e.Message) }

// Unwrap gives the cause.
func (e *ToolError) Unwrap() error { return e.Cause }

// Is matches ErrToolGone by code.
func (e *ToolError) Is(target error) bool {
	return target == ErrToolGone && e.Code == CodeGone
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
