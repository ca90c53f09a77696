package mcp

import (
	"context"
	"encoding/json"
	"maps"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// aList is one kind of list that servers have beside tools.
type aList struct {
	key     string // in the result
	id      string // what identifies an entry
	entry   shape
	changed string // the notification of its change
	params  func(cursor string) mcp.Params
	has     func(*mcp.ServerCapabilities) bool
}

var lists = map[string]aList{
	"prompts/list": {"prompts", "name", aPrompt, "notifications/prompts/list_changed",
		func(c string) mcp.Params { return &mcp.ListPromptsParams{Cursor: c} },
		func(c *mcp.ServerCapabilities) bool { return c.Prompts != nil }},
	"resources/list": {"resources", "uri", aResource, "notifications/resources/list_changed",
		func(c string) mcp.Params { return &mcp.ListResourcesParams{Cursor: c} },
		func(c *mcp.ServerCapabilities) bool { return c.Resources != nil }},
	"resources/templates/list": {"resourceTemplates", "uriTemplate", aTemplate, "notifications/resources/list_changed",
		func(c string) mcp.Params { return &mcp.ListResourceTemplatesParams{Cursor: c} },
		func(c *mcp.ServerCapabilities) bool { return c.Resources != nil }},
}

// listOf gives one of the server's lists: as it is now if the server runs,
// else as it was the last time. With an error comes what is known, too.
func (s *server) listOf(ctx context.Context, l aList) ([]json.RawMessage, error) {
	x := s.live()
	if x == nil || !x.alive() {
		return s.recalled().Lists[l.key], nil
	}
	entries, err := x.listOf(ctx, l)
	if err != nil {
		return s.recalled().Lists[l.key], err
	}
	if !s.recalled().Lists[l.key].equal(entries) {
		s.remember(func(r *remembered) {
			r.Lists = maps.Clone(r.Lists) // others may read the old one
			if r.Lists == nil {
				r.Lists = map[string]rawList{}
			}
			r.Lists[l.key] = entries
		})
	}
	return entries, nil
}

// learnLists fetches the lists when the server started, so that they are known
// when it does not run, and tells those who watch it of what changed.
func (s *server) learnLists(ctx context.Context) {
	if s.second {
		return
	}
	for _, l := range lists {
		before := s.recalled().Lists[l.key]
		now, err := s.listOf(ctx, l)
		if err != nil && ctx.Err() == nil {
			s.log.Warn("MCP server's list", "server", s.name, "list", l.key, "err", err)
		}
		if !before.equal(now) {
			s.onChange(l.changed, nil)
		}
	}
}

// listOf fetches one of a server's lists, empty if it has none of that kind.
func (x *session) listOf(ctx context.Context, l aList) ([]json.RawMessage, error) {
	if init := x.cs.InitializeResult(); init == nil || init.Capabilities == nil || !l.has(init.Capabilities) {
		return nil, nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, x.server.cfg.StartTimeout, &callEnd{"the list did not come"})
	defer cancel()
	entries, _, err := fetchPages(ctx, l.key, func(ctx context.Context, cursor string) (json.RawMessage, error) {
		return x.request(ctx, exchange{params: l.params(cursor)})
	})
	return entries, err
}
