package llm

import (
	"context"
	"iter"
)

// Model is one model of one provider. Both methods may be called from many
// goroutines at once.
type Model interface {
	// Describe says what the model is and what it can do. It does no I/O.
	Describe() Info
	// Stream sends the request and yields what comes back. An error is always
	// an [*Error], comes last, and ends the stream; without one the last event
	// is a [Finish]. Leaving the loop or cancelling ctx releases everything.
	Stream(ctx context.Context, req *Request) iter.Seq2[Event, error]
}

// Info describes a model. Zero numbers mean unknown.
type Info struct {
	Provider      string `json:"provider"`
	Model         string `json:"model"`
	ContextWindow int    `json:"contextWindow,omitempty"` // tokens
	MaxOutput     int    `json:"maxOutput,omitempty"`     // tokens
	MaxTools      int    `json:"maxTools,omitempty"`
	// NamePattern is the regular expression that tool names must match on the
	// wire; adapters translate names that do not.
	NamePattern  string       `json:"namePattern,omitempty"`
	Capabilities Capabilities `json:"capabilities"`
}

// Capabilities lists what a model can do.
type Capabilities struct {
	Tools         bool `json:"tools"`
	ParallelCalls bool `json:"parallelCalls,omitempty"`
	Strict        bool `json:"strict,omitempty"`
	// NativeDeferral: the provider can hold tools back by itself.
	NativeDeferral bool `json:"nativeDeferral,omitempty"`
	// MidConversationTools: the tool list may change between calls without
	// losing the provider's cache.
	MidConversationTools bool `json:"midConversationTools,omitempty"`
	Reasoning            bool `json:"reasoning,omitempty"`
	Images               bool `json:"images,omitempty"`
}
