package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/llm"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A host is the caller behind calls of our own agents and people: their
// questions go to the person of the session and to this agent's model.
type host struct {
	hub    *hub
	server string
	ctx    context.Context  // of the call: what is asked in it ends with it
	inv    *core.Invocation // nil if the server asks out of the blue
}

// key: all our agents are one client to a server, but each call has its own
// person.
func (h *host) key() any { return h }

func (h *host) viewer() core.Viewer {
	if h.inv == nil {
		return core.Viewer{}
	}
	return h.inv.Viewer
}

// us is the caller that this agent is to its own tools.
func (h *host) us() core.Caller {
	return core.HostCaller(h.hub.c, h.viewer(), "MCP server "+h.server)
}

// elicit puts the question to the person. Without one it is declined.
func (h *host) elicit(ctx context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	ctx, cancel := both(ctx, h.ctx)
	defer cancel()
	q := core.Elicitation{Text: visible(p.Message)}
	if p.Mode == "url" {
		if !strings.HasPrefix(p.URL, "https://") && !strings.HasPrefix(p.URL, "http://") {
			return &mcp.ElicitResult{Action: "decline"}, nil
		}
		q.Text += "\nOpen this address if you trust it: " + visible(p.URL)
	} else if p.RequestedSchema != nil {
		q.Schema = encode(p.RequestedSchema)
	}
	err := h.us().Ask(ctx, &q)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		h.hub.c.Logger().Info("MCP server's question declined", "server", h.server, "why", err)
		return &mcp.ElicitResult{Action: "decline"}, nil
	case q.Reply.Declined:
		return &mcp.ElicitResult{Action: "decline"}, nil
	}
	res := &mcp.ElicitResult{Action: "accept"}
	if p.Mode == "url" {
		return res, nil
	}
	if json.Unmarshal(orNull(q.Reply.Data), &res.Content) != nil {
		return &mcp.ElicitResult{Action: "cancel"}, nil
	}
	return res, nil
}

var errNoSampling = &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "sampling was not allowed"}

// sample lets this agent's model answer, if policy or a person allows it.
func (h *host) sample(ctx context.Context, p *mcp.CreateMessageWithToolsParams) (*mcp.CreateMessageWithToolsResult, error) {
	ctx, cancel := both(ctx, h.ctx)
	defer cancel()
	reason := fmt.Sprintf("MCP server %s wants this agent's model to answer: %s", h.server, samplingText(p))
	err := core.Permissions.Use(h.hub.c, ctx, func(ctx context.Context, a core.Authorizer) error {
		return a.Authorize(ctx, h.viewer(), core.Permission{Name: "mcp:sampling", Target: h.server}, reason)
	})
	if err != nil {
		h.hub.c.Logger().Info("MCP server's sampling refused", "server", h.server, "why", err)
		return nil, errNoSampling
	}
	q := core.Sampling{Request: samplingRequest(p)}
	if err := h.us().Ask(ctx, &q); err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "sampling: " + err.Error()}
	}
	return &mcp.CreateMessageWithToolsResult{Role: "assistant", Model: q.Model, StopReason: "endTurn",
		Content: []mcp.Content{&mcp.TextContent{Text: q.Answer.Text()}}}, nil
}

// maxSampling bounds what a server may have our model write.
const maxSampling = 8192

func samplingRequest(p *mcp.CreateMessageWithToolsParams) llm.Request {
	req := llm.Request{Limits: llm.Limits{MaxTokens: maxSampling}}
	if p.MaxTokens > 0 {
		req.Limits.MaxTokens = int(min(p.MaxTokens, maxSampling))
	}
	if p.SystemPrompt != "" {
		req.System = []llm.Part{llm.Text(p.SystemPrompt)}
	}
	for _, m := range p.Messages {
		msg := llm.Message{Role: llm.User}
		if m.Role == "assistant" {
			msg.Role = llm.Assistant
		}
		for _, c := range m.Content {
			msg.Parts = append(msg.Parts, readBlock(encode(c)))
		}
		req.Messages = append(req.Messages, msg)
	}
	return req
}

// samplingText is the last thing that is asked, for the person who decides.
func samplingText(p *mcp.CreateMessageWithToolsParams) string {
	const width = 1000
	var parts []llm.Part
	if n := len(p.Messages); n > 0 {
		for _, c := range p.Messages[n-1].Content {
			parts = append(parts, readBlock(encode(c)))
		}
	}
	text := visible(llm.PartsText(parts))
	if len(text) > width {
		text = fmt.Sprintf("%s… (%d bytes)", strings.ToValidUTF8(text[:width], ""), len(text))
	}
	return text
}

// roots: ours are the SDK's to answer.
func (h *host) roots(context.Context) (*mcp.ListRootsResult, error) { return nil, nil }

var _ caller = (*host)(nil)
