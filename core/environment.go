package core

import (
	"context"
	"encoding/json"
)

// Paths are the folders and files of this process. All are absolute.
type Paths struct {
	// Config is the file that was loaded, empty if there is none; Dir its
	// folder, else the working folder.
	Config, Dir string
	// Home is the user's agentd folder (~/.agentd): settings that a person
	// wrote.
	Home string
	// State is the folder (0700) for what agentd itself keeps.
	State string
}

// Environment is the service of the Paths, provided by the program.
var Environment = NewService[Paths]("environment")

// Root is the folder that an agent works in.
type Root interface {
	// Path of the folder, absolute, links resolved.
	Path() string
}

// Workspace is the service of the Root, provided by plugin workspace. Without
// it the folder of agent.yml (Paths.Dir) stands in.
var Workspace = NewService[Root]("workspace")

// Truster answers whether a person accepted a file's exact content.
type Truster interface {
	// Trusted tells whether content of the file at path was accepted.
	Trusted(path string, content []byte) bool
}

// Trust is the service of the Truster, provided by the program. Without it
// nothing found in a folder is trusted.
var Trust = NewService[Truster]("trust")

// Skill is a text that tells a model how to do something.
type Skill struct {
	Name        string
	Description string
	Text        string
}

// SkillSet collects skills that plugins bring along.
type SkillSet interface {
	// Add offers a skill, as an effect of c's fiber. A name that is taken is
	// an error.
	Add(c *Context, s Skill) error
}

// Skills is the service of the SkillSet.
var Skills = NewService[SkillSet]("skills")

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
