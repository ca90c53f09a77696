package openai

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/agentd-host/agentd/core/llm"
	"github.com/agentd-host/agentd/core/llm/wire"
)

// chatRequest is the body as it goes over the wire, its order fixed so that
// equal prefixes are equal bytes.
type chatRequest struct {
	Model             string         `json:"model"`
	Tools             []chatTool     `json:"tools,omitempty"`
	ToolChoice        any            `json:"tool_choice,omitempty"`
	ParallelToolCalls *bool          `json:"parallel_tool_calls,omitempty"`
	Messages          []chatMessage  `json:"messages"`
	MaxTokens         int            `json:"max_tokens,omitempty"`
	MaxCompletion     int            `json:"max_completion_tokens,omitempty"`
	Temperature       *float64       `json:"temperature,omitempty"`
	Stop              []string       `json:"stop,omitempty"`
	Effort            string         `json:"reasoning_effort,omitempty"`
	CacheKey          string         `json:"prompt_cache_key,omitempty"`
	Stream            bool           `json:"stream"`
	StreamOptions     map[string]any `json:"stream_options"`
}

type chatTool struct {
	Type     string       `json:"type"`
	Function chatFunction `json:"function"`
}

type chatFunction struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      bool            `json:"strict,omitempty"`
}

type chatMessage struct {
	Role       string           `json:"role"`
	Content    any              `json:"content,omitempty"` // a text, or parts
	ToolCalls  []map[string]any `json:"tool_calls,omitempty"`
	ToolCallID string           `json:"tool_call_id,omitempty"`
	reasoning  map[string]any   // members of the message by their names
}

// MarshalJSON adds what the server attached to its reasoning.
func (m chatMessage) MarshalJSON() ([]byte, error) {
	type plain chatMessage
	out, err := wire.Marshal(plain(m))
	if err != nil || len(m.reasoning) == 0 {
		return out, err
	}
	more, err := wire.Marshal(m.reasoning)
	if err != nil {
		return nil, err
	}
	return append(append(out[:len(out)-1], ','), more[1:]...), nil
}

// attached is what this adapter keeps in the Opaque of a part.
type attached struct {
	OpenAI map[string]json.RawMessage `json:"openai"`
}

func attach(fields map[string]json.RawMessage) json.RawMessage {
	if len(fields) == 0 {
		return nil
	}
	raw, err := json.Marshal(attached{fields})
	if err != nil {
		return nil // the fields came as JSON
	}
	return raw
}

// attachedTo reads what an adapter of this family kept; what another one left
// there is none of ours.
func attachedTo(p llm.Part) map[string]json.RawMessage {
	var a attached
	if json.Unmarshal(p.Opaque, &a) != nil {
		return nil
	}
	return a.OpenAI
}

// Body builds the request. Tools that cannot be expressed are left out and
// named in the warnings.
func (m *model) Body(req *llm.Request, names *wire.Names) (body []byte, warnings []string, err error) {
	r := chatRequest{
		Model: m.name, Temperature: req.Limits.Temperature, Stop: req.Limits.Stop, Effort: req.Limits.Effort,
		Stream: true, StreamOptions: map[string]any{"include_usage": true},
	}
	if m.s.official() {
		r.MaxCompletion, r.CacheKey = req.Limits.MaxTokens, cut(req.Cache.Key, 64)
	} else {
		r.MaxTokens = req.Limits.MaxTokens
	}
	r.Tools, warnings = tools(req, names)
	if len(r.Tools) > 0 {
		r.ToolChoice = choice(req.Choice, names)
		if req.Choice.NoParallel {
			no := false
			r.ParallelToolCalls = &no
		}
	}
	r.Messages = messages(req, names)
	body, err = wire.Body(r, req.Options[m.s.name])
	return body, warnings, err
}

func tools(req *llm.Request, names *wire.Names) (out []chatTool, warnings []string) {
	sent, warnings := wire.OpenAI.Tools(req.Tools, false) // this API defers nothing by itself
	for _, t := range sent {
		out = append(out, chatTool{"function", chatFunction{names.Wire(t.Name), t.Description, t.Parameters, t.Strict}})
	}
	return out, warnings
}

func choice(c llm.ToolChoice, names *wire.Names) any {
	switch c.Mode {
	case "none", "required":
		return c.Mode
	case "tool":
		return map[string]any{"type": "function", "function": map[string]string{"name": names.Wire(c.Name)}}
	}
	return nil
}

func messages(req *llm.Request, names *wire.Names) []chatMessage {
	var out []chatMessage
	system := joinTexts(req.System, req.Context)
	if system != "" {
		out = append(out, chatMessage{Role: "system", Content: system})
	}
	for _, m := range req.Messages {
		switch m.Role {
		case llm.Assistant:
			out = append(out, assistant(m, names))
		case llm.ToolRole:
			out = append(out, results(m)...)
		default:
			out = append(out, chatMessage{Role: "user", Content: content(m.Parts)})
		}
	}
	return out
}

// joinTexts joins system prompt and run-time context, in this order: what
// comes first is what a server can cache.
func joinTexts(lists ...[]llm.Part) string {
	var texts []string
	for _, list := range lists {
		for _, p := range list {
			if p.Text != "" {
				texts = append(texts, p.Text)
			}
		}
	}
	return strings.Join(texts, "\n\n")
}

// content is a text where there is nothing but text: every server takes that.
func content(parts []llm.Part) any {
	var list []map[string]any
	images := false
	parts = wire.CheckImages(parts)
	for _, p := range parts {
		switch {
		case p.Kind == llm.ImagePart:
			images = true
			list = append(list, image(p))
		case p.Text != "":
			list = append(list, map[string]any{"type": "text", "text": p.Text})
		case p.Kind != llm.ToolReferencePart:
			list = append(list, map[string]any{"type": "text", "text": wire.Placeholder(p)})
		}
	}
	if images {
		return list
	}
	return llm.PartsText(textOnly(parts))
}

func image(p llm.Part) map[string]any {
	url := p.URI
	if len(p.Data) > 0 {
		url = "data:" + p.MIME + ";base64," + base64.StdEncoding.EncodeToString(p.Data)
	}
	return map[string]any{"type": "image_url", "image_url": map[string]string{"url": url}}
}

// textOnly puts a word in place of parts that this API cannot carry.
func textOnly(parts []llm.Part) []llm.Part {
	out := make([]llm.Part, 0, len(parts))
	for _, p := range parts {
		switch {
		case p.Kind == llm.TextPart || p.Kind == llm.ResourcePart && p.Text != "":
			out = append(out, p)
		case p.Kind == llm.ReasoningPart, p.Kind == llm.ToolReferencePart:
		default:
			out = append(out, llm.Text(wire.Placeholder(p)))
		}
	}
	return out
}

func assistant(m llm.Message, names *wire.Names) chatMessage {
	out := chatMessage{Role: "assistant", reasoning: map[string]any{}}
	var texts []string
	for _, p := range m.Parts {
		switch p.Kind {
		case llm.TextPart:
			texts = append(texts, p.Text)
		case llm.ReasoningPart:
			for k, v := range attachedTo(p) {
				out.reasoning[k] = v
			}
		case llm.ToolCallPart:
			out.ToolCalls = append(out.ToolCalls, toolCall(p, names))
		}
	}
	out.Content = strings.Join(texts, "")
	if out.Content == "" && len(out.ToolCalls) > 0 {
		out.Content = nil
	}
	return out
}

func toolCall(p llm.Part, names *wire.Names) map[string]any {
	args := strings.TrimSpace(p.Call.Args)
	if !json.Valid([]byte(args)) {
		args = "{}" // servers refuse a history with broken arguments; the result says what was wrong
	}
	call := map[string]any{
		"id": p.Call.ID, "type": "function",
		"function": map[string]string{"name": names.Wire(p.Call.Name), "arguments": args},
	}
	for k, v := range attachedTo(p) {
		call[k] = v
	}
	return call
}

// results answers calls. Images go into a user's message behind them: the
// message of a tool has only text here.
func results(m llm.Message) []chatMessage {
	var out []chatMessage
	var images []map[string]any
	for _, p := range m.Parts {
		if p.Result == nil {
			continue
		}
		text := llm.PartsText(textOnly(p.Result.Parts))
		if text == "" {
			text = "(no output)"
		}
		out = append(out, chatMessage{Role: "tool", ToolCallID: p.Result.CallID, Content: text})
		for _, q := range p.Result.Parts {
			if q.Kind == llm.ImagePart {
				images = append(images, map[string]any{"type": "text", "text": "Image from " + p.Result.Name + ":"}, image(q))
			}
		}
	}
	if len(images) > 0 {
		out = append(out, chatMessage{Role: "user", Content: images})
	}
	return out
}

func cut(s string, n int) string {
	if len(s) > n {
		return s[:n]
	}
	return s
}
