package anthropic

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"

	"github.com/agentd-host/agentd/core/llm"
	"github.com/agentd-host/agentd/core/llm/wire"
	"github.com/agentd-host/agentd/core/provider"
)

// model is one model of the API.
type model struct {
	s    *server
	name string
}

// Describe says what is known of the model without asking the API.
func (m *model) Describe() llm.Info {
	return llm.Info{
		Provider: m.s.name, Model: m.name, ContextWindow: cmp.Or(m.s.cfg.ContextWindow, 200_000),
		NamePattern: wire.Pattern,
		Capabilities: llm.Capabilities{
			Tools: true, ParallelCalls: true, Reasoning: true, Images: true, NativeDeferral: m.s.cfg.NativeDefer,
		},
	}
}

// Stream sends the request and reads the events.
func (m *model) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return provider.Stream(ctx, m.s.name, m, req)
}

// Open sends the body.
func (m *model) Open(
	ctx context.Context, req *llm.Request, body []byte, names *wire.Names,
) (provider.Chunks[event], provider.Reader[event]) {
	var opts []option.RequestOption
	if m.defers(req) {
		opts = append(opts, option.WithHeader("anthropic-beta", deferralBeta))
	}
	params := param.Override[anthropic.MessageNewParams](json.RawMessage(body))
	return m.s.messages.NewStreaming(ctx, params, opts...), &reader{names: names, blocks: map[int]*opened{}}
}

// defers tells whether the API is to hold back deferred tools of the request.
func (m *model) defers(req *llm.Request) bool { return req.Native && m.s.cfg.NativeDefer }

// event is an event of the API, as its library has it.
type event = anthropic.MessageStreamEventUnion

// streamed is an event of the API, as far as it is read.
type streamed struct {
	Type    string `json:"type"`
	Index   int    `json:"index"`
	Message struct {
		Usage usage `json:"usage"`
	} `json:"message"`
	Block struct {
		Type string `json:"type"`
		ID   string `json:"id"`
		Name string `json:"name"`
		Text string `json:"text"`
		Data string `json:"data"`
	} `json:"content_block"`
	Delta struct {
		Type      string `json:"type"`
		Text      string `json:"text"`
		Thinking  string `json:"thinking"`
		Signature string `json:"signature"`
		JSON      string `json:"partial_json"`
		Stop      string `json:"stop_reason"`
	} `json:"delta"`
	Usage usage `json:"usage"`
}

// usage counts input apart from what the cache gave or took.
type usage struct {
	Input      int `json:"input_tokens"`
	Output     int `json:"output_tokens"`
	CacheRead  int `json:"cache_read_input_tokens"`
	CacheWrite int `json:"cache_creation_input_tokens"`
}

// opened is a content block that is being read.
type opened struct {
	kind      string
	call      int // number among the calls
	signature string
}

// reader makes events of the API's events.
type reader struct {
	names  *wire.Names
	blocks map[int]*opened
	calls  int
	usage  usage
	stop   string
	done   bool
}

// Read reads one event. Kinds that are not known are passed over.
func (r *reader) Read(ev event) []llm.Event {
	var e streamed
	if json.Unmarshal([]byte(ev.RawJSON()), &e) != nil {
		return nil
	}
	switch e.Type {
	case "message_start":
		r.count(e.Message.Usage)
	case "content_block_start":
		return r.start(e)
	case "content_block_delta":
		return r.delta(e)
	case "content_block_stop":
		return r.endBlock(e.Index)
	case "message_delta":
		r.count(e.Usage)
		r.stop = cmp.Or(e.Delta.Stop, r.stop)
	case "message_stop":
		r.done = true
		return r.finish()
	}
	return nil
}

// count keeps the latest figures; later events repeat or complete them.
func (r *reader) count(u usage) {
	r.usage = usage{
		max(u.Input, r.usage.Input), max(u.Output, r.usage.Output),
		max(u.CacheRead, r.usage.CacheRead), max(u.CacheWrite, r.usage.CacheWrite),
	}
}

func (r *reader) start(e streamed) []llm.Event {
	o := &opened{kind: e.Block.Type}
	r.blocks[e.Index] = o
	switch e.Block.Type {
	case "text":
		if e.Block.Text != "" {
			return []llm.Event{{Kind: llm.TextDelta, Text: e.Block.Text}}
		}
	case "tool_use":
		o.call = r.calls
		r.calls++
		return []llm.Event{{Kind: llm.ToolCallStart, Index: o.call, ID: e.Block.ID, Name: r.names.Canonical(e.Block.Name)}}
	case "redacted_thinking":
		return []llm.Event{{Kind: llm.ReasoningDelta, Opaque: sealed(seal{Redacted: e.Block.Data})}}
	}
	return nil
}

func (r *reader) delta(e streamed) []llm.Event {
	o := r.blocks[e.Index]
	if o == nil {
		return nil
	}
	switch e.Delta.Type {
	case "text_delta":
		return []llm.Event{{Kind: llm.TextDelta, Text: e.Delta.Text}}
	case "thinking_delta":
		return []llm.Event{{Kind: llm.ReasoningDelta, Text: e.Delta.Thinking}}
	case "signature_delta":
		o.signature += e.Delta.Signature
	case "input_json_delta":
		if o.kind == "tool_use" && e.Delta.JSON != "" {
			return []llm.Event{{Kind: llm.ToolCallDelta, Index: o.call, Text: e.Delta.JSON}}
		}
	}
	return nil
}

func (r *reader) endBlock(index int) []llm.Event {
	o := r.blocks[index]
	switch {
	case o == nil:
	case o.kind == "tool_use":
		return []llm.Event{{Kind: llm.ToolCallEnd, Index: o.call}}
	case o.kind == "thinking":
		return []llm.Event{{Kind: llm.ReasoningDelta, Opaque: sealed(seal{Signature: o.signature})}}
	}
	return nil
}

func sealed(s seal) json.RawMessage {
	raw, err := json.Marshal(attached{&s})
	if err != nil {
		return nil // two strings
	}
	return raw
}

// End has nothing to add: an answer that is not done was cut off.
func (r *reader) End() (events []llm.Event, whole bool) { return nil, r.done }

func (r *reader) finish() []llm.Event {
	u := llm.Usage{
		Input: r.usage.Input + r.usage.CacheRead + r.usage.CacheWrite, Output: r.usage.Output,
		CacheRead: r.usage.CacheRead, CacheWrite: r.usage.CacheWrite,
	}
	reason := llm.Stop
	switch r.stop {
	case "tool_use":
		reason = llm.ToolCalls
	case "max_tokens", "model_context_window_exceeded":
		reason = llm.Length
	case "refusal":
		reason = llm.ContentFilter
	}
	return []llm.Event{{Kind: llm.UsageReport, Usage: &u}, {Kind: llm.Finish, Reason: reason}}
}

var (
	_ llm.Model           = (*model)(nil)
	_ provider.API[event] = (*model)(nil)
)
