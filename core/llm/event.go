package llm

import (
	"encoding/json"
	"fmt"
	"iter"
	"time"
)

// EventKind names what an [Event] carries.
type EventKind string

// The kinds of events. Calls of one answer are told apart by Event.Index.
const (
	TextDelta      EventKind = "text"            // Text
	ReasoningDelta EventKind = "reasoning"       // Text, Opaque
	ToolCallStart  EventKind = "tool_call_start" // Index, ID, Name
	ToolCallDelta  EventKind = "tool_call_delta" // Index, Text: a piece of the arguments
	ToolCallEnd    EventKind = "tool_call_end"   // Index, Opaque
	UsageReport    EventKind = "usage"           // Usage, the whole answer so far
	Warning        EventKind = "warning"         // Text
	// Reset says that the stream starts again from the beginning (a retry
	// after output began): consumers drop what they have of this answer.
	Reset  EventKind = "reset"  // Text: why
	Finish EventKind = "finish" // Reason
)

// Event is one step of a model's answer.
type Event struct {
	Kind   EventKind       `json:"kind"`
	Index  int             `json:"index,omitempty"`
	ID     string          `json:"id,omitempty"`
	Name   string          `json:"name,omitempty"`
	Text   string          `json:"text,omitempty"`
	Usage  *Usage          `json:"usage,omitempty"`
	Reason FinishReason    `json:"reason,omitempty"`
	Opaque json.RawMessage `json:"opaque,omitempty"`
}

// FinishReason says why an answer ended.
type FinishReason string

// The reasons for an answer's end.
const (
	Stop          FinishReason = "stop"
	ToolCalls     FinishReason = "tool_calls"
	Length        FinishReason = "length"
	ContentFilter FinishReason = "content_filter"
)

// Usage counts tokens. CacheRead and CacheWrite are parts of Input.
type Usage struct {
	Input      int `json:"input"`
	Output     int `json:"output"`
	CacheRead  int `json:"cacheRead,omitempty"`
	CacheWrite int `json:"cacheWrite,omitempty"`
	Reasoning  int `json:"reasoning,omitempty"`
}

// Add sums two counts.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		Input: u.Input + v.Input, Output: u.Output + v.Output,
		CacheRead: u.CacheRead + v.CacheRead, CacheWrite: u.CacheWrite + v.CacheWrite,
		Reasoning: u.Reasoning + v.Reasoning,
	}
}

// ErrorKind says what went wrong with a model call, in terms of what can be
// done about it.
type ErrorKind string

// The kinds of errors.
const (
	ErrAuth        ErrorKind = "auth"
	ErrBadRequest  ErrorKind = "bad_request"
	ErrTooLarge    ErrorKind = "too_large"
	ErrRateLimited ErrorKind = "rate_limited"
	ErrOverloaded  ErrorKind = "overloaded"
	ErrRefused     ErrorKind = "refused"
	ErrTransient   ErrorKind = "transient"
	ErrCancelled   ErrorKind = "cancelled"
)

// Error is the one type of error that a model's stream yields. Its text never
// holds a request's headers or a raw dump of a provider's answer.
type Error struct {
	Kind       ErrorKind
	Provider   string
	Message    string
	RequestID  string
	RetryAfter time.Duration // with ErrRateLimited and ErrOverloaded; 0 = not said
	ToolIndex  int           // with ErrBadRequest: the offending tool; -1 or empty ToolName = unknown
	ToolName   string
	Cause      error
}

// Error tells provider, kind, message and request id in one line.
func (e *Error) Error() string {
	s := fmt.Sprintf("%s: %s: %s", e.Provider, e.Kind, e.Message)
	if e.ToolName != "" {
		s += fmt.Sprintf(" (tool %q)", e.ToolName)
	}
	if e.RetryAfter > 0 {
		s += fmt.Sprintf(" (retry after %s)", e.RetryAfter)
	}
	if e.RequestID != "" {
		s += fmt.Sprintf(" (request %s)", e.RequestID)
	}
	return s
}

// Unwrap gives the cause, if there is one.
func (e *Error) Unwrap() error { return e.Cause }

// Retryable tells whether the same request may work later.
func (e *Error) Retryable() bool {
	return e.Kind == ErrRateLimited || e.Kind == ErrOverloaded || e.Kind == ErrTransient
}

// Answer is a whole model answer.
type Answer struct {
	Message  Message
	Usage    Usage
	Reason   FinishReason
	Warnings []string
}

// Collect reads a stream to its end and folds it into one answer. On an error
// it returns what had arrived together with the error.
func Collect(stream iter.Seq2[Event, error]) (Answer, error) {
	var c Collector
	for ev, err := range stream {
		if err != nil {
			return c.Answer(), err
		}
		c.Add(ev)
	}
	return c.Answer(), nil
}
