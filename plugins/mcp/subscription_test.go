package mcp

import (
	"context"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// subscriber is a client of a mount that counts what it is told of a resource.
func subscriber(t *testing.T, url, era, uri string) (cs *mcp.ClientSession, told chan string) {
	t.Helper()
	told = make(chan string, 100)
	cs = dial(t, url, era, &mcp.ClientOptions{
		ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { told <- r.Params.URI },
	})
	if err := cs.Subscribe(t.Context(), &mcp.SubscribeParams{URI: uri}); err != nil {
		t.Fatal(err)
	}
	return cs, told
}

// next is the next thing that was told.
func next(t *testing.T, told chan string) string {
	t.Helper()
	var got string
	eventually(t, "something is told", func() bool {
		select {
		case got = <-told:
			return true
		default:
			return false
		}
	})
	return got
}

// crashed kills a server and waits for the next one.
func (r *rig) crashed(server string) {
	r.t.Helper()
	pid := r.ready(server).PID
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		r.t.Fatal(err)
	}
	eventually(r.t, "another process", func() bool {
		r.Call("mcp__"+server+"__pid", nil) // which does not wait for the delay
		s := r.status(server)
		return s.PID != 0 && s.PID != pid
	})
}

func TestRule4_SubscriptionsOutliveTheServer(t *testing.T) {
	r := start(t, map[string]ServerConfig{"a": fakeServer()})
	r.ready("a")
	base := r.serve(ServeOptions{})
	for name, tt := range map[string]struct{ url, era, uri string }{
		"transparent, legacy": {base + "/servers/a", eraLegacy, "fake://x"},
		"transparent, modern": {base + "/servers/a", eraModern, "fake://x"},
		"merged, legacy":      {base, eraLegacy, "agentd://a/fake://x"},
	} {
		t.Run(name, func(t *testing.T) {
			_, told := subscriber(t, tt.url, tt.era, tt.uri)
			r.text("mcp__a__touch", map[string]any{"text": "fake://x"})
			if got := next(t, told); got != tt.uri {
				t.Fatalf("told of %q", got)
			}
			r.crashed("a")
			// What was missed meanwhile nobody knows: it is told as a change.
			if got := next(t, told); got != tt.uri {
				t.Fatalf("after the crash told of %q", got)
			}
			r.text("mcp__a__touch", map[string]any{"text": "fake://x"})
			if got := next(t, told); got != tt.uri {
				t.Fatalf("by the next process told of %q", got)
			}
		})
	}
}

func TestRule4_SubscriptionsEndWithTheirClients(t *testing.T) {
	r := start(t, map[string]ServerConfig{"a": with(fakeServer(), func(c *ServerConfig) { c.IdleStop = time.Minute })})
	r.ready("a")
	url := r.serve(ServeOptions{}) + "/servers/a"
	first, told := subscriber(t, url, eraLegacy, "fake://x")
	second, _ := subscriber(t, url, eraLegacy, "fake://x")
	s := r.projection("a").server
	unused := func() bool {
		s.mu.Lock()
		s.used = time.Now().Add(-time.Hour)
		s.mu.Unlock()
		return s.idleLeft() <= 0
	}
	if unused() {
		t.Error("a server that somebody listens to would be stopped")
	}
	if err := second.Unsubscribe(t.Context(), &mcp.UnsubscribeParams{URI: "fake://x"}); err != nil {
		t.Fatal(err)
	}
	r.text("mcp__a__touch", map[string]any{"text": "fake://x"})
	next(t, told) // the other's is untouched
	_ = first.Close()
	eventually(t, "nobody listens", func() bool { s.mu.Lock(); defer s.mu.Unlock(); return len(s.subs) == 0 })
	if !unused() {
		t.Error("a server that nobody listens to would not be stopped")
	}
}

// A client that goes on subscribing and unsubscribing leaves nothing behind.
func TestRule16_E8_ASubscriptionThatEndedHoldsNothing(t *testing.T) {
	r := start(t, map[string]ServerConfig{"a": fakeServer()})
	r.ready("a")
	url := r.serve(ServeOptions{}) + "/servers/a"
	cs, told := subscriber(t, url, eraLegacy, "fake://x")
	before := runtime.NumGoroutine()
	const rounds = 100
	for range rounds {
		if err := cs.Unsubscribe(t.Context(), &mcp.UnsubscribeParams{URI: "fake://x"}); err != nil {
			t.Fatal(err)
		}
		if err := cs.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "fake://x"}); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "what the rounds needed is gone", func() bool { return runtime.NumGoroutine() < before+rounds/2 })
	r.text("mcp__a__touch", map[string]any{"text": "fake://x"})
	next(t, told)
	s := r.projection("a").server
	_ = cs.Close()
	eventually(t, "nobody listens", func() bool { s.mu.Lock(); defer s.mu.Unlock(); return len(s.subs) == 0 })
}

func TestRule4_TheLevelOfLoggingOutlivesTheServer(t *testing.T) {
	r := start(t, map[string]ServerConfig{"a": fakeServer()})
	r.ready("a")
	cs := dial(t, r.serve(ServeOptions{})+"/servers/a", eraLegacy, nil)
	if err := cs.SetLoggingLevel(t.Context(), &mcp.SetLoggingLevelParams{Level: "debug"}); err != nil {
		t.Fatal(err)
	}
	r.crashed("a")
	if got := r.text("mcp__a__level", nil); !strings.Contains(got, "debug") {
		t.Errorf("the next process logs at %q", got)
	}
}
