package mcp

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/agentd-host/agentd/core/schema"
)

// Config is the configuration of the plugin.
type Config struct {
	Servers map[string]ServerConfig `json:"servers,omitempty" jsonschema_description:"The servers to connect, by name."`
	// MCPServers is the same, under the name that other clients use.
	MCPServers map[string]ServerConfig `json:"mcpServers,omitempty" jsonschema_description:"The same as servers, as pasted from another client. Only one of the two may be given."`
	Starts     int                     `json:"starts,omitempty" jsonschema:"default=4,minimum=1,maximum=64" jsonschema_description:"How many servers may start at the same time."`
}

// ServerConfig says how one server is reached and treated.
type ServerConfig struct {
	Command string            `json:"command,omitempty" jsonschema_description:"Program to run; it speaks MCP on stdin and stdout. No shell is involved."`
	Args    []string          `json:"args,omitempty" jsonschema_description:"Its arguments."`
	Env     map[string]string `json:"env,omitempty" jsonschema_description:"Variables for it, beside PATH, HOME, the locale and the like. Nothing else of agentd's environment is passed on." jsonschema_extras:"writeOnly=true"`
	Cwd     string            `json:"cwd,omitempty" jsonschema_description:"Its working folder. Default is agentd's."`

	URL     string            `json:"url,omitempty" jsonschema_description:"Address of a server that is reached over HTTP."`
	Headers map[string]string `json:"headers,omitempty" jsonschema_description:"Headers to send with each request." jsonschema_extras:"writeOnly=true"`
	Type    string            `json:"type,omitempty" jsonschema:"enum=stdio,enum=http,enum=streamable-http,enum=streamableHttp,enum=sse" jsonschema_description:"sse for a server of the old HTTP transport. Otherwise it follows from command or url."`
	Allow   []string          `json:"allow,omitempty" jsonschema_description:"Hosts, addresses or networks (10.0.0.0/8) in private ranges that this server may be reached at, and hosts that may be asked without TLS."`
	OAuth   *OAuthConfig      `json:"oauth,omitempty" jsonschema_description:"How to log in, where the server can't say it itself."`

	Era      string        `json:"era,omitempty" jsonschema:"enum=auto,enum=legacy,enum=modern,default=auto" jsonschema_description:"Revisions of the protocol to try: modern is 2026-07-28 and later."`
	Lazy     bool          `json:"lazy,omitempty" jsonschema_description:"Start it with the first call."`
	IdleStop time.Duration `json:"idleStop,omitempty" jsonschema_description:"Stop it when it was not used for so long. Default is never."`

	StartTimeout time.Duration `json:"startTimeout,omitempty" jsonschema:"default=60s"`
	CallTimeout  time.Duration `json:"callTimeout,omitempty" jsonschema:"default=120s" jsonschema_description:"Longest silence within a call; progress begins it anew, and what the server asks itself does not count until it is answered."`
	CallCap      time.Duration `json:"callCap,omitempty" jsonschema:"default=30m" jsonschema_description:"Longest call, whatever its progress."`
	Rate         float64       `json:"rate,omitempty" jsonschema:"minimum=0" jsonschema_description:"Calls a second at most. 0 is no limit."`
	Concurrency  int           `json:"concurrency,omitempty" jsonschema:"minimum=0" jsonschema_description:"Calls at the same time at most. 0 is no limit."`

	Trusted        bool       `json:"trusted,omitempty" jsonschema_description:"Believe what the server says about its tools' effects."`
	Tools          ToolChoice `json:"tools,omitzero" jsonschema_description:"Which of its tools to take."`
	Pin            string     `json:"pin,omitempty" jsonschema:"enum=off,enum=warn,enum=block,default=block" jsonschema_description:"What to do with a tool whose definition changed since it was first seen, and with a program that changed behind the same command line: block holds the tool back, and the server until a person consents."`
	SchemaMismatch string     `json:"schemaMismatch,omitempty" jsonschema:"enum=off,enum=warn,enum=strict,default=warn" jsonschema_description:"What to do with a result that does not fit the tool's own output schema."`
	Disabled       bool       `json:"disabled,omitempty" jsonschema_description:"Keep the entry, do not connect."`

	AutoApprove []string `json:"autoApprove,omitempty" jsonschema_description:"Of other clients. Not taken over: a note says what to write into tools.policy."`
	AlwaysAllow []string `json:"alwaysAllow,omitempty" jsonschema_description:"As autoApprove."`
}

// ToolChoice selects and renames a server's tools by their own names.
type ToolChoice struct {
	Include []string          `json:"include,omitempty" jsonschema_description:"Names or patterns (* and ?). Default is all."`
	Exclude []string          `json:"exclude,omitempty" jsonschema_description:"Names or patterns to leave out."`
	Rename  map[string]string `json:"rename,omitempty" jsonschema_description:"New names by the server's own."`
}

// OAuthConfig registers agentd with an authorization server by hand.
type OAuthConfig struct {
	ClientID     string   `json:"clientId,omitempty" jsonschema_description:"Id of a client that was registered with the authorization server."`
	ClientSecret string   `json:"clientSecret,omitempty" jsonschema_description:"Its secret, if it has one." jsonschema_extras:"writeOnly=true"`
	MetadataURL  string   `json:"metadataUrl,omitempty" jsonschema_description:"Address of a client metadata document, for servers that take one for an id."`
	Scopes       []string `json:"scopes,omitempty" jsonschema_description:"Scopes to ask for instead of those that the server names."`
	RedirectPort int      `json:"redirectPort,omitempty" jsonschema:"minimum=0,maximum=65535" jsonschema_description:"Port on 127.0.0.1 for the answer of the login. Default is any free one."`
}

// servers are the configured servers under their present name.
func (c Config) servers() map[string]ServerConfig {
	if len(c.Servers) > 0 {
		return c.Servers
	}
	return c.MCPServers
}

func (c Config) validate() error {
	var errs []error
	if len(c.Servers) > 0 && len(c.MCPServers) > 0 {
		errs = append(errs, errors.New("servers and mcpServers are the same thing: keep one"))
	}
	key := "servers"
	if len(c.Servers) == 0 {
		key = "mcpServers"
	}
	for _, name := range slices.Sorted(maps.Keys(c.servers())) {
		errs = append(errs, schema.At(c.servers()[name].validate(), key, name))
	}
	return errors.Join(errs...)
}

func (c ServerConfig) validate() error {
	switch {
	case c.Command == "" && c.URL == "":
		return errors.New("want command (a program to run) or url (a server to reach)")
	case c.Command != "" && c.URL != "":
		return errors.New("command and url exclude each other")
	case c.URL != "" && c.Type == "stdio":
		return errors.New("type stdio wants command, not url")
	case c.Command != "" && c.Type != "" && c.Type != "stdio":
		return fmt.Errorf("type %s wants url, not command", c.Type)
	case c.Command != "" && (len(c.Headers) > 0 || c.OAuth != nil || len(c.Allow) > 0):
		return errors.New("headers, oauth and allow belong to url")
	case c.URL != "" && (len(c.Args) > 0 || len(c.Env) > 0 || c.Cwd != ""):
		return errors.New("args, env and cwd belong to command")
	}
	if c.URL != "" {
		u, err := url.Parse(c.URL)
		if err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") {
			return schema.At(errors.New("want an http or https address"), "url")
		}
	}
	for _, pattern := range slices.Concat(c.Tools.Include, c.Tools.Exclude) {
		if _, err := path.Match(pattern, ""); err != nil {
			return schema.At(fmt.Errorf("%q is no pattern", pattern), "tools")
		}
	}
	_, err := newAllowList(c.Allow)
	return err
}

// withDefaults fills in what was left out, for configs that did not come
// through a schema.
func (c ServerConfig) withDefaults() ServerConfig {
	orDuration := func(d *time.Duration, or time.Duration) {
		if *d <= 0 {
			*d = or
		}
	}
	orText := func(s *string, or string) {
		if *s == "" {
			*s = or
		}
	}
	orDuration(&c.StartTimeout, time.Minute)
	orDuration(&c.CallTimeout, 2*time.Minute)
	orDuration(&c.CallCap, 30*time.Minute)
	orText(&c.Era, "auto")
	orText(&c.Pin, "block")
	orText(&c.SchemaMismatch, "warn")
	return c
}

func (c ServerConfig) equal(d ServerConfig) bool { return reflect.DeepEqual(c, d) }

// takes tells whether a tool is chosen, by its name at the server.
func (t ToolChoice) takes(name string) bool {
	matches := func(pattern string) bool {
		ok, err := path.Match(pattern, strings.ReplaceAll(name, "/", "\x00"))
		return pattern == name || (err == nil && ok)
	}
	if len(t.Include) > 0 && !slices.ContainsFunc(t.Include, matches) {
		return false
	}
	return !slices.ContainsFunc(t.Exclude, matches)
}

// renamed is the tool's name for us.
func (t ToolChoice) renamed(name string) string {
	if to, ok := t.Rename[name]; ok && to != "" {
		return to
	}
	return name
}
