package anthropic

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/agentd-host/agentd/core/llm"
	"github.com/agentd-host/agentd/core/llm/wire"
)

// messagesRequest is the body as it goes over the wire, its order fixed so
// that equal prefixes are equal bytes.
type messagesRequest struct {
	Model       string          `json:"model"`
	MaxTokens   int             `json:"max_tokens"`
	Tools       []tool          `json:"tools,omitempty"`
	ToolChoice  map[string]any  `json:"tool_choice,omitempty"`
	System      []block         `json:"system,omitempty"`
	Messages    []message       `json:"messages"`
	Temperature *float64        `json:"temperature,omitempty"`
	Stop        []string        `json:"stop_sequences,omitempty"`
	Thinking    *thinkingConfig `json:"thinking,omitempty"`
	Stream      bool            `json:"stream"`
}

type tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"input_schema"`
	Defer       bool            `json:"defer_loading,omitempty"`
	Cache       *cache          `json:"cache_control,omitempty"`
}

type thinkingConfig struct {
	Type   string `json:"type"`
	Budget int    `json:"budget_tokens"`
}

type message struct {
	Role    string  `json:"role"`
	Content []block `json:"content"`
}

// block is a piece of content; which fields are set depends on Type.
type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
	ToolUseID string          `json:"tool_use_id,omitempty"`
	ToolName  string          `json:"tool_name,omitempty"`
	Content   []block         `json:"content,omitempty"`
	IsError   bool            `json:"is_error,omitempty"`
	Source    *source         `json:"source,omitempty"`
	Thinking  *string         `json:"thinking,omitempty"`
	Signature string          `json:"signature,omitempty"`
	Data      string          `json:"data,omitempty"`
	Cache     *cache          `json:"cache_control,omitempty"`
}

type source struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type,omitempty"`
	Data      []byte `json:"data,omitempty"`
	URL       string `json:"url,omitempty"`
}

type cache struct {
	Type string `json:"type"`
}

// breakpoint marks the end of what will come again.
func breakpoint() *cache { return &cache{"ephemeral"} }

// attached is what this adapter keeps in the Opaque of a part: what seals a
// thought.
type attached struct {
	Anthropic *seal `json:"anthropic"`
}

type seal struct {
	Signature string `json:"signature,omitempty"`
	Redacted  string `json:"redacted,omitempty"` // a thought that only the API can read
}

// budgets are the tokens for thinking by the words for effort.
var budgets = map[string]int{"low": 2048, "medium": 8192, "high": 24576}

// Body builds the request. Tools that cannot be expressed are left out and
// named in the warnings.
func (m *model) Body(req *llm.Request, names *wire.Names) (body []byte, warnings []string, err error) {
	native := m.defers(req)
	r := messagesRequest{
		Model: m.name, MaxTokens: cmp.Or(req.Limits.MaxTokens, m.s.cfg.MaxTokens, 8192),
		Temperature: req.Limits.Temperature, Stop: req.Limits.Stop, Stream: true,
	}
	r.Tools, warnings = tools(req, names, native)
	if len(r.Tools) > 0 {
		r.ToolChoice = choice(req.Choice, names)
	}
	r.System = system(req)
	r.Messages = messages(req, names, native)
	if budget := budgets[req.Limits.Effort]; budget > 0 {
		r.Thinking = &thinkingConfig{"enabled", budget}
		r.MaxTokens += budget
		r.Temperature = nil // not together with thinking
	}
	body, err = wire.Body(r, req.Options[m.s.name])
	return body, warnings, err
}

// tools puts the breakpoint on the last tool that is shown: deferred ones are
// no part of the prefix and may not carry one.
func tools(req *llm.Request, names *wire.Names, native bool) (out []tool, warnings []string) {
	sent, warnings := wire.Anthropic.Tools(req.Tools, native)
	last := -1
	for i, t := range sent {
		if !t.Deferred {
			last = i
		}
		out = append(out, tool{Name: names.Wire(t.Name), Description: t.Description, Schema: t.Parameters, Defer: t.Deferred})
	}
	if last >= 0 {
		out[last].Cache = breakpoint()
	}
	return out, warnings
}

func choice(c llm.ToolChoice, names *wire.Names) map[string]any {
	out := map[string]any{}
	switch c.Mode {
	case "none":
		out["type"] = "none"
	case "required":
		out["type"] = "any"
	case "tool":
		out["type"], out["name"] = "tool", names.Wire(c.Name)
	case "":
		if !c.NoParallel {
			return nil
		}
		out["type"] = "auto"
	}
	if c.NoParallel && c.Mode != "none" {
		out["disable_parallel_tool_use"] = true
	}
	return out
}

// system is the prompt, a breakpoint, and the run-time context behind it.
func system(req *llm.Request) []block {
	out := texts(req.System)
	if len(out) > 0 {
		out[len(out)-1].Cache = breakpoint()
	}
	return append(out, texts(req.Context)...)
}

func texts(parts []llm.Part) []block {
	var out []block
	for _, p := range parts {
		if p.Text != "" {
			out = append(out, block{Type: "text", Text: p.Text})
		}
	}
	return out
}

// messages joins neighbours of one role, as the API wants them to take turns,
// and marks the end of the conversation so far.
func messages(req *llm.Request, names *wire.Names, native bool) []message {
	deferred := map[string]bool{}
	for _, t := range req.Tools {
		if t.Deferred && native {
			deferred[t.Name] = true
		}
	}
	var out []message
	for _, m := range req.Messages {
		role, blocks := "user", []block(nil)
		switch m.Role {
		case llm.Assistant:
			role, blocks = "assistant", assistant(m, names)
		case llm.ToolRole:
			blocks = results(m, names, deferred)
		default:
			blocks = content(m.Parts)
		}
		if len(blocks) == 0 {
			continue
		}
		if n := len(out); n > 0 && out[n-1].Role == role {
			out[n-1].Content = append(out[n-1].Content, blocks...)
		} else {
			out = append(out, message{role, blocks})
		}
	}
	markLast(out)
	return out
}

// markLast puts a breakpoint on the last block that can carry one.
func markLast(out []message) {
	for _, m := range slices.Backward(out) {
		for i := len(m.Content) - 1; i >= 0; i-- {
			switch m.Content[i].Type {
			case "text", "image", "tool_result", "tool_use":
				m.Content[i].Cache = breakpoint()
				return
			}
		}
	}
}

func content(parts []llm.Part) []block {
	var out []block
	for _, p := range wire.CheckImages(parts) {
		switch {
		case p.Kind == llm.ImagePart && len(p.Data) > 0:
			out = append(out, block{Type: "image", Source: &source{Type: "base64", MediaType: p.MIME, Data: p.Data}})
		case p.Kind == llm.ImagePart:
			out = append(out, block{Type: "image", Source: &source{Type: "url", URL: p.URI}})
		case p.Kind == llm.ReasoningPart, p.Kind == llm.ToolReferencePart:
		case p.Text != "":
			if strings.TrimSpace(p.Text) != "" { // the API refuses text of white space alone
				out = append(out, block{Type: "text", Text: p.Text})
			}
		case p.Kind != llm.TextPart:
			out = append(out, block{Type: "text", Text: wire.Placeholder(p)})
		}
	}
	return out
}

func assistant(m llm.Message, names *wire.Names) []block {
	var out []block
	for _, p := range m.Parts {
		switch p.Kind {
		case llm.ReasoningPart:
			if b, ok := thought(p); ok {
				out = append(out, b)
			}
		case llm.ToolCallPart:
			out = append(out, block{
				Type: "tool_use", ID: wireID(p.Call.ID), Name: names.Wire(p.Call.Name), Input: input(p.Call.Args),
			})
		default:
			out = append(out, content([]llm.Part{p})...)
		}
	}
	return out
}

// thought is a block of reasoning, if it is one that this API sealed.
func thought(p llm.Part) (block, bool) {
	var a attached
	if json.Unmarshal(p.Opaque, &a) != nil || a.Anthropic == nil {
		return block{}, false
	}
	if a.Anthropic.Redacted != "" {
		return block{Type: "redacted_thinking", Data: a.Anthropic.Redacted}, true
	}
	return block{Type: "thinking", Thinking: &p.Text, Signature: a.Anthropic.Signature}, true
}

// input is an object, as the API wants; the result says what was wrong with
// anything else.
func input(args string) json.RawMessage {
	var object map[string]json.RawMessage
	if json.Unmarshal([]byte(args), &object) != nil || object == nil {
		return json.RawMessage("{}")
	}
	return json.RawMessage(args)
}

// wireID keeps to the characters that the API takes in an id.
func wireID(id string) string {
	return strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, id)
}

func results(m llm.Message, names *wire.Names, deferred map[string]bool) []block {
	var out []block
	for _, p := range m.Parts {
		if p.Result == nil {
			continue
		}
		b := block{Type: "tool_result", ToolUseID: wireID(p.Result.CallID), IsError: p.Result.IsError, Content: content(p.Result.Parts)}
		for _, q := range p.Result.Parts {
			if q.Kind == llm.ToolReferencePart && deferred[q.Name] {
				b.Content = append(b.Content, block{Type: "tool_reference", ToolName: names.Wire(q.Name)})
			}
		}
		if len(b.Content) == 0 {
			b.Content = []block{{Type: "text", Text: "(no output)"}}
		}
		out = append(out, b)
	}
	return out
}
