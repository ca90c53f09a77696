package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/agentd-host/agentd/plugins/mcp/internal/wire"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// call makes a request beside the SDK, which would decode what nobody reads.
func (x *session) call(ctx context.Context, tap *wire.Tap, params mcp.Params) (json.RawMessage, error) {
	method, err := methodOf(params)
	if err != nil {
		return nil, err
	}
	raw, err := encodeParams(params)
	if err != nil {
		return nil, fmt.Errorf("%s: the parameters can't be sent: %w", method, err)
	}
	res, err := x.direct.Call(ctx, method, raw, tap)
	if rpc, ok := err.(*jsonrpc.Error); ok {
		return nil, rpc // whatever its code is, it is the server's
	}
	if err != nil {
		return nil, x.explain(ctx, tap, err)
	}
	return res, nil
}

// methodOf names the request that params are for.
func methodOf(params mcp.Params) (string, error) {
	switch params.(type) {
	case *mcp.CallToolParams:
		return "tools/call", nil
	case *mcp.GetPromptParams:
		return "prompts/get", nil
	case *mcp.ReadResourceParams:
		return "resources/read", nil
	case *mcp.CompleteParams:
		return "completion/complete", nil
	case *mcp.ListToolsParams:
		return "tools/list", nil
	case *mcp.ListPromptsParams:
		return "prompts/list", nil
	case *mcp.ListResourcesParams:
		return "resources/list", nil
	case *mcp.ListResourceTemplatesParams:
		return "resources/templates/list", nil
	case *mcp.SubscribeParams:
		return "resources/subscribe", nil
	case *mcp.UnsubscribeParams:
		return "resources/unsubscribe", nil
	case *mcp.SetLoggingLevelParams:
		return "logging/setLevel", nil
	}
	return "", fmt.Errorf("no way to send %T", params)
}

// encodeParams writes params as they go over the wire, without the escapes
// that are only good for HTML.
func encodeParams(params mcp.Params) (json.RawMessage, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(params); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}
