package core

import (
	"encoding/json"
	"errors"
	"fmt"
)

// ErrorCode tells the ways in which a call can fail.
type ErrorCode string

// The codes of failed calls. They do not tell whether the tool's function was
// entered, since it may itself refuse: see [ToolOutcome].
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

// forModel adds to the message what helps to try again.
func (e *ToolError) forModel() string {
	text := "error: " + e.Message
	if e.Code == CodeArguments && len(e.Parameters) > 0 && len(e.Parameters) <= schemaShown {
		text += "\nschema: " + string(e.Parameters)
	}
	return text
}

// schemaShown is the size up to which an error shows the schema.
const schemaShown = 4 << 10
