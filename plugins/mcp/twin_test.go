package mcp

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/coretest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A server that knows the modern era alone is asked for the other one once,
// and for a call that may run.
func TestRule14_AServerWithoutALegacyEraIsTriedOnce(t *testing.T) {
	cfg, starts := counted(t, "-modern", "-init-error")
	cfg.Era = eraAuto
	r := start(t, map[string]ServerConfig{"a": cfg})
	r.ready("a")
	first := starts()
	mount := dial(t, r.serve(ServeOptions{})+"/servers/a", eraLegacy, nil)
	r.policy.Set("mcp__a__echo", core.Ask)
	if res := invoke(t, mount, "echo", map[string]any{"text": "x"}); !res.IsError {
		t.Errorf("echo that was not allowed = %q", textOf(res))
	}
	if n := starts() - first; n != 0 {
		t.Errorf("%d starts for a call that was refused", n)
	}
	r.policy.Set("mcp__a__echo", core.Auto)
	for range 5 {
		if got := textOf(invoke(t, mount, "echo", map[string]any{"text": "x"})); got != "echo: x" {
			t.Errorf("echo = %q", got)
		}
		if p, err := mount.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "greet"}); err != nil || len(p.Messages) != 1 {
			t.Errorf("prompt = %+v, %v", p, err)
		}
	}
	if n := starts() - first; n != 1 {
		t.Errorf("%d starts in search of the legacy era", n)
	}
	if s := r.status("a"); s.State != core.SourceReady || s.Error != "" {
		t.Errorf("status = %+v", s)
	}
	// Another connection may be to another version of the server.
	r.projection("a").server.live().end(errNeverRan)
	for range 3 {
		invoke(t, mount, "echo", map[string]any{"text": "x"})
	}
	if n := starts() - first; n != 3 {
		t.Errorf("%d starts with the next connection", n)
	}
}

func TestRule14_ASecondConnectionThatFailedIsNotTriedByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hub{c: coretest.Host(t).Root(), ctx: t.Context(), starts: make(chan struct{}, 1), probe: time.Second}
		s := newServer(h, "u", ServerConfig{URL: "http://[", Lazy: true}, slog.New(slog.DiscardHandler))
		s.second = true
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- s.run(ctx) }()
		for range 3 {
			if _, err := s.session(t.Context()); err == nil {
				t.Error("it is there")
			}
		}
		time.Sleep(time.Hour)
		s.mu.Lock()
		n := s.failures
		s.mu.Unlock()
		if n != 3 {
			t.Errorf("%d attempts for 3 that were asked for", n)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
