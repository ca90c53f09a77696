package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/llm"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// offers are the entries of a list that plugins of ours add to the merged
// view.
func (m *mount) offers(method string) []json.RawMessage {
	out := []json.RawMessage{}
	if m.name != "" {
		return out
	}
	if method == "prompts/list" {
		for _, p := range m.g.c.Prompts().List() {
			out = append(out, promptEntry(p))
		}
		return out
	}
	templates := method == "resources/templates/list"
	for _, r := range m.g.c.Resources().List() {
		if r.IsTemplate() == templates {
			out = append(out, resourceEntry(r))
		}
	}
	return out
}

func promptEntry(p core.Prompt) json.RawMessage {
	e := &mcp.Prompt{Name: p.Name, Title: p.Title, Description: p.Description}
	for _, a := range p.Arguments {
		e.Arguments = append(e.Arguments, &mcp.PromptArgument{
			Name: a.Name, Title: a.Title, Description: a.Description, Required: a.Required,
		})
	}
	return encode(e)
}

func resourceEntry(r core.Resource) json.RawMessage {
	if r.IsTemplate() {
		return encode(&mcp.ResourceTemplate{
			URITemplate: r.URI, Name: r.Name, Title: r.Title, Description: r.Description, MIMEType: r.MIME,
		})
	}
	return encode(&mcp.Resource{URI: r.URI, Name: r.Name, Title: r.Title, Description: r.Description, MIMEType: r.MIME})
}

// isOurs tells whether a request is for a plugin of ours and not for a server.
func (m *mount) isOurs(params mcp.Params) bool {
	if m.name != "" {
		return false
	}
	switch p := params.(type) {
	case *mcp.GetPromptParams:
		return !strings.HasPrefix(p.Name, core.MCPPrefix)
	case *mcp.ReadResourceParams:
		return !strings.HasPrefix(p.URI, core.MCPScheme)
	case *mcp.CompleteParams:
		return p.Ref != nil && !strings.HasPrefix(p.Ref.Name, core.MCPPrefix) && !strings.HasPrefix(p.Ref.URI, core.MCPScheme)
	}
	return false
}

// offered answers a request from what plugins of ours offer.
func (m *mount) offered(ctx context.Context, params mcp.Params) (json.RawMessage, error) {
	switch p := params.(type) {
	case *mcp.GetPromptParams:
		messages, err := m.g.c.Prompts().Get(ctx, p.Name, p.Arguments)
		return promptResult(messages), offerError(err, "")
	case *mcp.ReadResourceParams:
		parts, err := m.g.c.Resources().Read(ctx, p.URI)
		return readingResult(parts), offerError(err, p.URI)
	case *mcp.CompleteParams:
		values, err := m.complete(ctx, p)
		return completionResult(values), offerError(err, p.Ref.URI)
	}
	return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "there is no such prompt or resource"}
}

func (m *mount) complete(ctx context.Context, p *mcp.CompleteParams) ([]string, error) {
	q := core.Completion{Argument: p.Argument.Name, Value: p.Argument.Value}
	if p.Context != nil {
		q.Others = p.Context.Arguments
	}
	if p.Ref.URI != "" {
		return m.g.c.Resources().Complete(ctx, p.Ref.URI, q)
	}
	return m.g.c.Prompts().Complete(ctx, p.Ref.Name, q)
}

// offerError is an error of ours in the terms of the protocol.
func offerError(err error, uri string) error {
	switch {
	case errors.Is(err, core.ErrNoResource):
		return mcp.ResourceNotFoundError(uri)
	case errors.Is(err, core.ErrNoPrompt), errors.Is(err, core.ErrPromptArguments):
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: err.Error()}
	}
	return err
}

// promptResult writes each part as a message of its own: one of the protocol
// has one block.
func promptResult(messages []llm.Message) json.RawMessage {
	out := []any{}
	for _, m := range messages {
		for _, block := range blocksOf(core.Result{Parts: m.Parts}) {
			out = append(out, map[string]any{"role": roleOf(m), "content": block})
		}
	}
	return encode(map[string]any{"messages": out})
}

func readingResult(parts []llm.Part) json.RawMessage {
	out := []any{}
	for _, p := range parts {
		out = append(out, contentOf(p))
	}
	return encode(map[string]any{"contents": out})
}

// maxValues is how many values of a completion the protocol takes.
const maxValues = 100

func completionResult(values []string) json.RawMessage {
	shown := append([]string{}, values[:min(len(values), maxValues)]...)
	return encode(map[string]any{"completion": map[string]any{
		"values": shown, "total": len(values), "hasMore": len(shown) < len(values),
	}})
}
