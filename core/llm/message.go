package llm

import (
	"encoding/json"
	"strings"
)

// Role says who a message comes from.
type Role string

// The roles of a conversation. A system prompt is no message: it has its own
// place in [Request].
const (
	User      Role = "user"
	Assistant Role = "assistant"
	ToolRole  Role = "tool" // results of tool calls, one part each
)

// Message is one entry of a conversation.
type Message struct {
	Role  Role   `json:"role"`
	Parts []Part `json:"parts"`
}

// PartKind names what a [Part] holds.
type PartKind string

// The kinds of parts. A consumer that meets a kind it does not know keeps the
// part as it is.
const (
	TextPart       PartKind = "text"        // Text
	ReasoningPart  PartKind = "reasoning"   // Text, for people; Opaque goes back to the provider
	ImagePart      PartKind = "image"       // Data, MIME
	AudioPart      PartKind = "audio"       // Data, MIME
	ResourcePart   PartKind = "resource"    // URI, and Text or Data, MIME
	ToolCallPart   PartKind = "tool_call"   // Call
	ToolResultPart PartKind = "tool_result" // Result
	RawPart        PartKind = "raw"         // Raw: a block of a kind unknown here, kept as received
	// ToolReferencePart in a tool's result names a deferred tool (Name) that
	// the model may call from now on. Adapters whose provider defers tools by
	// itself send it on; others leave it out.
	ToolReferencePart PartKind = "tool_reference"
)

// Part is a piece of a message, a system prompt or a tool's result. Which
// fields are set depends on Kind.
type Part struct {
	Kind PartKind `json:"kind"`
	// Name identifies a part of the system prompt or of the context, so that
	// a listener of llm:before can find and replace it.
	Name   string          `json:"name,omitempty"`
	Text   string          `json:"text,omitempty"`
	Data   []byte          `json:"data,omitempty"`
	MIME   string          `json:"mime,omitempty"`
	URI    string          `json:"uri,omitempty"`
	Call   *ToolCall       `json:"call,omitempty"`
	Result *ToolResult     `json:"result,omitempty"`
	Raw    json.RawMessage `json:"raw,omitempty"`
	// Opaque is what the provider attached to the part (a thought signature,
	// reasoning content). It is stored and sent back unread.
	Opaque json.RawMessage `json:"opaque,omitempty"`
}

// ToolCall is a model's wish to run a tool. Args is what the model wrote,
// which need not be valid JSON.
type ToolCall struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Args string `json:"args"`
}

// ToolResult answers the call with the same id.
type ToolResult struct {
	CallID  string `json:"callId"`
	Name    string `json:"name"`
	Parts   []Part `json:"parts"`
	IsError bool   `json:"isError,omitempty"`
}

// Text makes a text part.
func Text(s string) Part { return Part{Kind: TextPart, Text: s} }

// NamedText makes a text part that others can find by its name.
func NamedText(name, s string) Part { return Part{Kind: TextPart, Name: name, Text: s} }

// UserText makes a user's message of one text part.
func UserText(s string) Message { return Message{Role: User, Parts: []Part{Text(s)}} }

// PartsText joins the text of the parts that carry text for the conversation:
// text and embedded text resources. Reasoning is left out.
func PartsText(parts []Part) string {
	var b strings.Builder
	for _, p := range parts {
		if p.Kind != TextPart && p.Kind != ResourcePart || p.Text == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(p.Text)
	}
	return b.String()
}

// Text joins the message's text parts with line breaks.
func (m Message) Text() string { return PartsText(m.Parts) }

// Calls lists the tool calls in the message, in the model's order.
func (m Message) Calls() []ToolCall {
	var calls []ToolCall
	for _, p := range m.Parts {
		if p.Kind == ToolCallPart && p.Call != nil {
			calls = append(calls, *p.Call)
		}
	}
	return calls
}
