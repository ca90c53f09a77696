package mcp

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The client's outbox is emptied when the call is over: what the server said
// before its answer must be in it by then, and once.
func TestRule15_WhatAServerSaysInACallComesBeforeTheResult(t *testing.T) {
	u := newUpstream(t, false)
	mcp.AddTool(u.server, &mcp.Tool{Name: "level"}, func(ctx context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		return nil, nil, r.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Data: "asked for the level"})
	})
	r := start(t, map[string]ServerConfig{"stdio": fakeServer(), "http": {URL: u.URL, Era: eraLegacy}})
	for _, name := range []string{"stdio", "http"} {
		t.Run(name, func(t *testing.T) {
			r.ready(name)
			s := r.projection(name).server
			if _, err := s.do(t.Context(), exchange{params: &mcp.SetLoggingLevelParams{Level: "info"}}); err != nil {
				t.Fatal(err)
			}
			for i := range 100 {
				if n := heardInCall(t, s); n != 1 {
					t.Fatalf("call %d heard %d messages, want 1", i+1, n)
				}
			}
		})
	}
}

// heardInCall counts the log messages that a call got until it was over.
func heardInCall(t *testing.T, s *server) int64 {
	t.Helper()
	var heard atomic.Int64
	_, err := s.callTool(t.Context(), exchange{
		params: &mcp.CallToolParams{Name: "level"},
		caller: &host{hub: s.hub, server: s.name, ctx: t.Context()},
		notify: func(method string, _ json.RawMessage) {
			if method == "notifications/message" {
				heard.Add(1)
			}
		},
	}, false)
	if err != nil {
		t.Fatal(err)
	}
	return heard.Load()
}
