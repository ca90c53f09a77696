package openai

import (
	"context"
	"encoding/json"
	"iter"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"

	"github.com/agentd-host/agentd/core/llm"
	"github.com/agentd-host/agentd/core/llm/wire"
	"github.com/agentd-host/agentd/core/provider"
)

// windows are context windows by the beginning of a model's name.
var windows = []struct {
	prefix string
	tokens int
}{
	{"gpt-4.1", 1_047_576}, {"gpt-4o", 128_000}, {"gpt-4", 128_000}, {"gpt-5", 400_000}, {"o1", 200_000}, {"o3", 200_000}, {"o4", 200_000},
}

// model is one model of a server.
type model struct {
	s    *server
	name string
}

// Describe says what is known of the model without asking the server.
func (m *model) Describe() llm.Info {
	info := llm.Info{
		Provider: m.s.name, Model: m.name, ContextWindow: m.s.cfg.ContextWindow, MaxTools: m.s.cfg.MaxTools,
		NamePattern: wire.Pattern,
		Capabilities: llm.Capabilities{
			Tools: true, ParallelCalls: true, Strict: m.s.official(), Reasoning: true, Images: true,
		},
	}
	if info.MaxTools == 0 {
		info.MaxTools = 128
	}
	for _, w := range windows {
		if info.ContextWindow == 0 && strings.HasPrefix(m.name, w.prefix) {
			info.ContextWindow = w.tokens
		}
	}
	return info
}

// Stream sends the request and reads the chunks.
func (m *model) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return provider.Stream(ctx, m.s.name, m, req)
}

// Open sends the body.
func (m *model) Open(
	ctx context.Context, _ *llm.Request, body []byte, names *wire.Names,
) (provider.Chunks[openai.ChatCompletionChunk], provider.Reader[openai.ChatCompletionChunk]) {
	params := param.Override[openai.ChatCompletionNewParams](json.RawMessage(body))
	return m.s.chat.NewStreaming(ctx, params), &reader{names: names}
}

// reader makes events of chunks.
type reader struct {
	names     *wire.Names
	calls     wire.Calls
	reasoning map[string]json.RawMessage // members that go back to the server
	thought   string                     // text of the reasoning so far
	thinking  bool
	usage     *llm.Usage
	reason    string
	refused   bool
}

// delta are the members that servers add to a delta.
type delta struct {
	ReasoningContent string            `json:"reasoning_content"` // DeepSeek, vLLM, llama.cpp
	Reasoning        string            `json:"reasoning"`         // OpenRouter, Ollama
	ReasoningDetails []json.RawMessage `json:"reasoning_details"` // OpenRouter
}

// Read reads one chunk.
func (r *reader) Read(c openai.ChatCompletionChunk) (events []llm.Event) {
	if c.JSON.Usage.Valid() {
		r.usage = usage(c.Usage)
	}
	for _, choice := range c.Choices {
		events = append(events, r.think(choice.Delta)...)
		text := choice.Delta.Content
		if choice.Delta.Refusal != "" {
			text, r.refused = text+choice.Delta.Refusal, true
		}
		if text != "" {
			events = append(events, r.endThought()...)
			events = append(events, llm.Event{Kind: llm.TextDelta, Text: text})
		}
		for _, call := range choice.Delta.ToolCalls {
			events = append(events, r.endThought()...)
			events = append(events, r.call(call)...)
		}
		if choice.FinishReason != "" {
			r.reason = choice.FinishReason
		}
	}
	return events
}

func usage(u openai.CompletionUsage) *llm.Usage {
	return &llm.Usage{
		Input: int(u.PromptTokens), Output: int(u.CompletionTokens),
		CacheRead: int(u.PromptTokensDetails.CachedTokens), Reasoning: int(u.CompletionTokensDetails.ReasoningTokens),
	}
}

// think reads reasoning, under whatever name the server sends it.
func (r *reader) think(d openai.ChatCompletionChunkChoiceDelta) []llm.Event {
	if len(d.JSON.ExtraFields) == 0 {
		return nil
	}
	var own delta
	if json.Unmarshal([]byte(d.RawJSON()), &own) != nil {
		return nil
	}
	field, text := "reasoning_content", own.ReasoningContent
	if text == "" {
		field, text = "reasoning", own.Reasoning
	}
	if text == "" && len(own.ReasoningDetails) == 0 {
		return nil
	}
	if r.reasoning == nil {
		r.reasoning = map[string]json.RawMessage{}
	}
	if text != "" {
		r.thought += text
		r.reasoning[field], _ = json.Marshal(r.thought)
	}
	if len(own.ReasoningDetails) > 0 {
		var all []json.RawMessage
		_ = json.Unmarshal(r.reasoning["reasoning_details"], &all)
		r.reasoning["reasoning_details"], _ = json.Marshal(append(all, own.ReasoningDetails...))
	}
	r.thinking = true
	if text == "" {
		return nil
	}
	return []llm.Event{{Kind: llm.ReasoningDelta, Text: text}}
}

// endThought seals the reasoning with what has to go back to the server.
func (r *reader) endThought() []llm.Event {
	if !r.thinking {
		return nil
	}
	r.thinking = false
	return []llm.Event{{Kind: llm.ReasoningDelta, Opaque: attach(r.reasoning)}}
}

func (r *reader) call(c openai.ChatCompletionChunkChoiceDeltaToolCall) []llm.Event {
	d := wire.Delta{
		Index: int(c.Index), HasIndex: c.JSON.Index.Valid(), ID: c.ID, Args: c.Function.Arguments,
	}
	if c.Function.Name != "" {
		d.Name = r.names.Canonical(c.Function.Name)
	}
	extra := map[string]json.RawMessage{}
	for k, f := range c.JSON.ExtraFields {
		if raw := f.Raw(); raw != "" && raw != "null" {
			extra[k] = json.RawMessage(raw)
		}
	}
	d.Opaque = attach(extra)
	return r.calls.Add(d)
}

// End gives what comes behind the last chunk. An answer without a reason for
// its end was cut off.
func (r *reader) End() (events []llm.Event, whole bool) {
	if r.reason == "" {
		return nil, false
	}
	events = r.endThought()
	ends, called := r.calls.End()
	events = append(events, ends...)
	if r.usage != nil {
		events = append(events, llm.Event{Kind: llm.UsageReport, Usage: r.usage})
	}
	reason := llm.Stop
	switch {
	case r.reason == "length":
		reason = llm.Length
	case r.reason == "content_filter", r.refused:
		reason = llm.ContentFilter
	case called:
		reason = llm.ToolCalls
	}
	return append(events, llm.Event{Kind: llm.Finish, Reason: reason}), true
}

var (
	_ llm.Model                                = (*model)(nil)
	_ provider.API[openai.ChatCompletionChunk] = (*model)(nil)
)
