package core

import (
	"context"
	"encoding/json"
)

// MCPStatus is the state of one MCP server.
type MCPStatus struct {
	Name    string      `json:"name"`
	State   SourceState `json:"state"`
	Error   string      `json:"error,omitempty"`
	Era     string      `json:"era,omitempty"` // the protocol revision spoken
	PID     int         `json:"pid,omitempty"`
	Tools   int         `json:"tools"`
	Started string      `json:"started,omitempty"` // RFC 3339
	Detail  string      `json:"detail,omitempty"`  // login URL, last lines of stderr, …
}

// MCPServers connects MCP servers on behalf of any plugin.
type MCPServers interface {
	// Connect runs a server as an effect of c's fiber. config has the shape
	// of one entry under mcp.servers.
	Connect(c *Context, name string, config json.RawMessage) error
	Servers() []string
	Status(ctx context.Context) []MCPStatus
}

// MCP is the service of the MCPServers.
var MCP = NewService[MCPServers]("mcp")
