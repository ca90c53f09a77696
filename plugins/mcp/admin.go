package mcp

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/agentd-host/agentd/core"
)

// Admins is the service through which a program's commands answer the
// questions about servers. It is for the owner of the host, never for a model.
var Admins = core.NewService[*Admin]("mcp:admin")

// Admin takes a person's answers about servers. Safe for concurrent use.
type Admin struct{ hub *hub }

// Allow records that somebody consented to what a held server would start,
// and starts it. digest is that of the [core.MCPConsent] that he saw: if it is
// another one by now the error matches [ErrConsentChanged], and without a
// question [ErrNotHeld]. Any other error says why the server does not start;
// the consent is kept.
func (a *Admin) Allow(ctx context.Context, server, digest, by string) error {
	p, err := a.find(server)
	if err != nil {
		return err
	}
	return p.server.allow(ctx, digest, by)
}

// AskAgain puts the questions of held servers anew, except those that a person
// said no to: somebody who can be asked has come. It does not wait.
func (a *Admin) AskAgain() {
	for _, p := range a.hub.all() {
		p.server.askAgain()
	}
}

// A ToolChange is a tool that a server lists and nobody accepted as it is.
type ToolChange struct {
	Tool string `json:"tool"` // the server's name for it
	Hash string `json:"hash"` // of the definition, for the answer
	New  bool   `json:"new,omitempty"`
	// Held: it can't be called before it is accepted. Of others, new ones are
	// asked about at each call and changed ones were only warned about.
	Held bool   `json:"held,omitempty"`
	Diff string `json:"diff"` // a line a path, - before and + now
}

// Review lists what of a server's tools waits to be accepted, as the server
// lists them.
func (a *Admin) Review(server string) ([]ToolChange, error) {
	p, err := a.find(server)
	if err != nil {
		return nil, err
	}
	return p.review()
}

// Accept takes the definitions of tools as the right ones and returns their
// names. tools are what a person saw: one that is defined otherwise by now is
// left as it is.
func (a *Admin) Accept(server string, tools []ToolChange) ([]string, error) {
	p, err := a.find(server)
	if err != nil {
		return nil, err
	}
	return p.accept(func(d *definition) bool {
		return slices.ContainsFunc(tools, func(t ToolChange) bool { return t.Tool == d.Name && t.Hash == d.Hash })
	})
}

func (a *Admin) find(server string) (*projection, error) {
	if p, ok := a.hub.find(server); ok {
		return p, nil
	}
	names := (&service{a.hub}).Servers()
	if len(names) == 0 {
		return nil, fmt.Errorf("no MCP server %q; there are none", server)
	}
	return nil, fmt.Errorf("no MCP server %q; there are: %s", server, strings.Join(names, ", "))
}
