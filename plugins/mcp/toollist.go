package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// fetchTools fetches the list and, if it is another one, passes it on. If
// that fails the last list stays in force.
func (s *server) fetchTools(ctx context.Context, x *session) error {
	if x == nil || s.second {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, s.cfg.StartTimeout, &callEnd{"the list of tools did not come"})
	defer cancel()
	s.fetches.Add(1)
	entries, warning, err := x.list(ctx)
	if err != nil {
		err = s.clean(err)
		s.warn("list of tools: " + err.Error())
		s.log.Warn("MCP server's tools can't be listed", "server", s.name, "err", err)
		return err
	}
	s.mu.Lock()
	same := !s.tools.cached && sameEntries(s.tools.defs, entries)
	s.warnings = nil
	s.mu.Unlock()
	if warning != "" {
		s.warn(warning)
		s.log.Warn("MCP server's list of tools", "server", s.name, "warning", warning)
	}
	if same {
		return nil
	}
	defs, problems := readDefinitions(entries)
	for _, p := range problems {
		s.log.Warn("MCP server's list of tools", "server", s.name, "problem", p)
	}
	s.setTools(ctx, toolList{defs: defs, problems: problems})
	s.remember(func(r *remembered) {
		r.Tools, r.Era = entries, eraOf(x.version())
		if x.unsure {
			r.Era = ""
		}
	})
	return nil
}

// list fetches all pages. A server that has no tools has an empty list.
func (x *session) list(ctx context.Context) ([]json.RawMessage, string, error) {
	if r := x.cs.InitializeResult(); r == nil || r.Capabilities == nil || r.Capabilities.Tools == nil {
		return nil, "", nil
	}
	valid := map[string]bool{}
	note := func(tools []*mcp.Tool) {
		for _, t := range tools {
			valid[t.Name] = true
		}
	}
	entries, warning, err := fetchPages(ctx, "tools", func(ctx context.Context, cursor string) (json.RawMessage, error) {
		return x.request(ctx, exchange{params: &mcp.ListToolsParams{Cursor: cursor}, valid: note})
	})
	entries = slices.DeleteFunc(entries, func(raw json.RawMessage) bool { return x.proc == nil && badHeaders(raw, valid) })
	var rpc *jsonrpc.Error
	if errors.As(err, &rpc) && rpc.Code == jsonrpc.CodeMethodNotFound {
		return nil, "", nil
	}
	return entries, warning, err
}

// badHeaders tells whether a tool asks for HTTP headers in a way that clients
// must refuse, which the SDK has judged.
func badHeaders(raw json.RawMessage, valid map[string]bool) bool {
	if !bytes.Contains(raw, []byte("x-mcp-header")) {
		return false
	}
	var t struct {
		Name string `json:"name"`
	}
	return json.Unmarshal(raw, &t) == nil && !valid[t.Name]
}

// sameEntries tells whether a list is byte by byte the one that was read.
func sameEntries(defs []*definition, entries []json.RawMessage) bool {
	if len(defs) != len(entries) {
		return false
	}
	return !slices.ContainsFunc(entries, func(raw json.RawMessage) bool {
		return !slices.ContainsFunc(defs, func(d *definition) bool { return string(d.Raw) == string(raw) })
	})
}

func (s *server) warn(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.warnings = append(s.warnings, text)
}

// A refresher decides when a list that is said to have changed is fetched: at
// once, and once more when a burst is over. A server that never stops saying
// so, without a change, is asked less and less often.
type refresher struct {
	last time.Time
	gap  time.Duration
}

const (
	minRefresh = time.Second
	maxRefresh = time.Minute
)

// due is how long to wait before fetching.
func (r *refresher) due(now time.Time) time.Duration {
	return max(0, r.last.Add(max(r.gap, minRefresh)).Sub(now))
}

// fetched takes note of a fetch.
func (r *refresher) fetched(now time.Time, changed bool) {
	quiet := now.Sub(r.last) > 4*max(r.gap, minRefresh)
	r.last = now
	switch {
	case changed || quiet:
		r.gap = minRefresh
	default:
		r.gap = min(2*max(r.gap, minRefresh), maxRefresh)
	}
}
