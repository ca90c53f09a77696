package mcp

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The merged view shows prompts and resources of servers that do not run as
// they were when they did, and starts a server for what is asked of it.
func TestRule14_ListsOfServersThatDoNotRun(t *testing.T) {
	state := t.TempDir()
	cfg := map[string]ServerConfig{"a": with(fakeServer(), func(c *ServerConfig) { c.Lazy = true })}
	startIn(t, state, cfg).ready("a")
	eventually(t, "it is remembered", func() bool { return len(recall(memoryFile(state, "a"), cfg["a"].withDefaults()).Lists) == 2 })
	for _, era := range []string{eraLegacy, eraModern} {
		t.Run(era, func(t *testing.T) {
			r := startIn(t, state, cfg)
			r.ready("a")
			url := r.serve(ServeOptions{})
			cs := dial(t, url, era, nil)
			if caps := cs.InitializeResult().Capabilities; caps.Prompts == nil || caps.Resources == nil {
				t.Errorf("capabilities = %+v", caps)
			}
			prompts, err := cs.ListPrompts(t.Context(), &mcp.ListPromptsParams{})
			if err != nil || len(prompts.Prompts) != 1 || prompts.Prompts[0].Name != "mcp__a__greet" {
				t.Errorf("prompts = %+v, %v", prompts, err)
			}
			resources, err := cs.ListResources(t.Context(), &mcp.ListResourcesParams{})
			if err != nil || len(resources.Resources) != 1 || resources.Resources[0].URI != "agentd://a/fake://readme" {
				t.Errorf("resources = %+v, %v", resources, err)
			}
			if s := r.status("a"); s.PID != 0 {
				t.Errorf("a list started the server: %+v", s)
			}
			if p, err := cs.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "mcp__a__greet"}); err != nil || len(p.Messages) != 1 {
				t.Errorf("prompt = %+v, %v", p, err)
			}
			if s := r.status("a"); s.PID == 0 {
				t.Error("the prompt came from a server that does not run")
			}
		})
	}
}

// A transparent mount is its server: it starts for a list.
func TestRule14_ATransparentMountStartsItsServer(t *testing.T) {
	count := filepath.Join(t.TempDir(), "starts")
	starts := func() int {
		data, _ := os.ReadFile(count)
		return len(data)
	}
	r := start(t, map[string]ServerConfig{"a": with(fakeServer("-state", count), func(c *ServerConfig) { c.IdleStop = 50 * time.Millisecond })})
	r.ready("a")
	cs := dial(t, r.serve(ServeOptions{})+"/servers/a", eraModern, nil)
	eventually(t, "it rests", func() bool { return r.status("a").PID == 0 })
	before := starts()
	prompts, err := cs.ListPrompts(t.Context(), &mcp.ListPromptsParams{})
	if err != nil || len(prompts.Prompts) != 1 || prompts.Prompts[0].Name != "greet" || starts() != before+1 {
		t.Errorf("prompts = %+v, %v; started %d times, then %d", prompts, err, before, starts())
	}
}

// Clients that were there before a server are told of its prompts.
func TestRule17_ListsOfAServerThatCameLater(t *testing.T) {
	r := start(t, map[string]ServerConfig{"a": fakeServer("-slow-start", "300ms")})
	url := r.serve(ServeOptions{})
	for _, era := range []string{eraLegacy, eraModern} {
		told := make(chan struct{}, 10)
		dial(t, url, era, &mcp.ClientOptions{PromptListChangedHandler: func(context.Context, *mcp.PromptListChangedRequest) { told <- struct{}{} }})
		p, _ := r.service.hub.find("a")
		if era == eraModern { // it is there by now
			p.server.remember(func(r *remembered) { r.Lists = nil })
			p.server.live().end(errNeverRan)
		}
		eventually(t, "prompts changed", func() bool { return len(told) > 0 })
	}
}
