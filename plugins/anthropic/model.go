package anthropic

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"

	"github.com/agentd-host/agentd/core/llm"
	"github.com/agentd-host/agentd/core/llm/wire"
)

// model is one model of the API.
type model struct {
	p    *provider
	name string
}

// Describe says what is known of the model without asking the API.
func (m *model) Describe() llm.Info {
	return llm.Info{
		Provider: m.p.name, Model: m.name, ContextWindow: cmp.Or(m.p.cfg.ContextWindow, 200_000),
		NamePattern: "^[a-zA-Z0-9_-]{1,64}$",
		Capabilities: llm.Capabilities{
			Tools: true, ParallelCalls: true, Reasoning: true, Images: true, NativeDeferral: m.p.cfg.NativeDefer,
		},
	}
}

// Stream sends the request and reads the events.
func (m *model) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		names := wire.NewNames(wire.Common)
		body, warnings, err := m.body(req, names)
		if err != nil {
			yield(llm.Event{}, m.fault(ctx, err, req))
			return
		}
		for _, w := range warnings {
			if !yield(llm.Event{Kind: llm.Warning, Text: w}, nil) {
				return
			}
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		var opts []option.RequestOption
		if req.Native && m.p.cfg.NativeDefer {
			opts = append(opts, option.WithHeader("anthropic-beta", deferralBeta))
		}
		params := param.Override[anthropic.MessageNewParams](json.RawMessage(body))
		stream := m.p.messages.NewStreaming(ctx, params, opts...)
		defer stream.Close()
		r := &reader{names: names, blocks: map[int]*opened{}}
		for stream.Next() {
			current := stream.Current()
			for _, ev := range r.event([]byte(current.RawJSON())) {
				if !yield(ev, nil) {
					return
				}
			}
		}
		switch err := stream.Err(); {
		case err != nil:
			yield(llm.Event{}, m.fault(ctx, err, req))
		case !r.done && ctx.Err() != nil:
			yield(llm.Event{}, m.fault(ctx, ctx.Err(), req))
		case !r.done:
			yield(llm.Event{}, &llm.Error{
				Kind: llm.ErrTransient, Provider: m.p.name, ToolIndex: -1, Message: "the stream ended before the answer did",
			})
		}
	}
}

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

// event reads one event. Kinds that are not known are passed over.
func (r *reader) event(raw []byte) []llm.Event {
	var e streamed
	if json.Unmarshal(raw, &e) != nil {
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
		return r.end()
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

func (r *reader) end() []llm.Event {
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

// fault says what an error means. Nothing of the request and no dump of the
// answer gets into it.
func (m *model) fault(ctx context.Context, err error, req *llm.Request) error {
	e := &llm.Error{Kind: llm.ErrTransient, Provider: m.p.name, ToolIndex: -1}
	var api *anthropic.Error
	var address *url.Error
	switch {
	case ctx.Err() != nil:
		e.Kind, e.Message, e.Cause = llm.ErrCancelled, "cancelled", ctx.Err()
	case errors.As(err, &api):
		m.apiFault(e, api, req)
	case errors.As(err, &address):
		e.Message = address.Err.Error()
	default:
		e.Message = err.Error()
	}
	return e
}

var toolPath = regexp.MustCompile(`tools\.(\d+)\.`)

func (m *model) apiFault(e *llm.Error, api *anthropic.Error, req *llm.Request) {
	e.Message = cmp.Or(api.Message, http.StatusText(api.StatusCode), "error "+strconv.Itoa(api.StatusCode))
	e.RequestID = api.RequestID
	if api.Response != nil {
		e.RetryAfter = wire.RetryAfter(api.Response.Header)
	}
	e.Kind = kindOf(api)
	if e.Kind != llm.ErrBadRequest {
		return
	}
	if match := toolPath.FindStringSubmatch(api.Message); match != nil {
		e.ToolIndex, e.ToolName = offender(match[1], req, req.Native && m.p.cfg.NativeDefer)
	}
}

func kindOf(api *anthropic.Error) llm.ErrorKind {
	switch string(api.Type()) {
	case "authentication_error", "permission_error", "billing_error":
		return llm.ErrAuth
	case "rate_limit_error":
		return llm.ErrRateLimited
	case "overloaded_error":
		return llm.ErrOverloaded
	case "request_too_large":
		return llm.ErrTooLarge
	}
	if strings.Contains(api.Message, "prompt is too long") || strings.Contains(api.Message, "exceed context limit") {
		return llm.ErrTooLarge
	}
	if api.StatusCode == http.StatusOK { // an error within the stream
		return llm.ErrTransient
	}
	return wire.KindOfStatus(api.StatusCode)
}

// offender finds the tool that a bad request is about, in the request's own
// numbering.
func offender(number string, req *llm.Request, native bool) (int, string) {
	n, err := strconv.Atoi(number)
	if err != nil {
		return -1, ""
	}
	for i, t := range req.Tools {
		if _, err := wire.Anthropic.Parameters(t.Parameters); err != nil || t.Deferred && !native {
			continue // was left out
		}
		if n == 0 {
			return i, t.Name
		}
		n--
	}
	return -1, ""
}

var _ llm.Model = (*model)(nil)
