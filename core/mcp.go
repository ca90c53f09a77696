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
	// Consent is the question that holds the server, nil if none does.
	Consent *MCPConsent `json:"consent,omitempty"`
}

// MCPConsent says what a server would start that nobody consented to yet, and
// what differs from what somebody did consent to. Secrets are left out.
type MCPConsent struct {
	Runs       string `json:"runs"`                 // the command line
	Was        string `json:"was,omitempty"`        // if it is another one than before
	Program    string `json:"program"`              // the files behind the command, with their digests
	WasProgram string `json:"wasProgram,omitempty"` // if they are other ones than before
	Digest     string `json:"digest"`               // of all that, for the answer
	Asking     bool   `json:"asking,omitempty"`     // somebody is being asked now
	Refused    bool   `json:"refused,omitempty"`    // somebody said no
}

// How the names begin under which things of MCP servers are known here.
const (
	MCPPrefix = "mcp__"     // of tools and prompts
	MCPScheme = "agentd://" // of resources
)

// MCPServers connects MCP servers on behalf of any plugin.
type MCPServers interface {
	// Connect runs a server as an effect of c's fiber. config has the shape
	// of one entry under mcp.servers. It does not wait for the server, which
	// is held if it would run something else than the last one of this name
	// did, until a person consents: see MCPStatus.Consent.
	Connect(c *Context, name string, config json.RawMessage) error
	Servers() []string
	Status(ctx context.Context) []MCPStatus
}

// MCP is the service of the MCPServers.
var MCP = NewService[MCPServers]("mcp")
