package agent

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/coretest"
)

// "last" is the store's word: whoever forgets along with it knows sessions by
// their ids.
func TestClearTellsTheHandlersTheSessionsID(t *testing.T) {
	r := newRig(t, Config{}, coretest.Says("ok"))
	var told []string
	load(t, r.host.Root(), core.Plugin[struct{}]{Name: "listener", Apply: func(c *core.Context, _ struct{}) error {
		return core.MemoryClear.Around(c, func(
			ctx context.Context, r core.ClearRequest, next func(context.Context, core.ClearRequest) (core.ClearReport, error),
		) (core.ClearReport, error) {
			told = append(told, r.Session)
			return next(ctx, r)
		})
	}}, struct{}{})
	session := r.say("", "hello").Session
	if _, err := r.runner().Clear(t.Context(), core.ClearRequest{Session: "last"}); err != nil {
		t.Fatal(err)
	}
	if len(told) != 1 || told[0] != session {
		t.Errorf("told %q, want %s", told, session)
	}
	if _, err := r.runner().Clear(t.Context(), core.ClearRequest{}); err == nil || len(told) != 1 {
		t.Errorf("a request for nothing: %v, told %q", err, told)
	}
}

func TestE32_ClearingForgetsWhatJobsAnswered(t *testing.T) {
	for _, tt := range []struct {
		name string
		in   core.ClearRequest
		left int
	}{
		{"everything", core.ClearRequest{}, 0},
		{"jobs", core.ClearRequest{Types: []string{core.MemoryJobs}}, 0},
		{"summaries", core.ClearRequest{Types: []string{core.MemorySummaries}}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) *rig {
				end := make(chan string, 1)
				r := newRig(t, Config{}, coretest.Calls("slow", `{}`), coretest.Says("it runs"), coretest.Says("a"))
				r.slow(time.Second, end)
				tt.in.Session = r.say("", "go").Session
				h, _ := hubOf(r)
				other, err := h.local.Open(t.Context(), tt.in.Session)
				if err != nil {
					t.Fatal(err)
				}
				end <- "SECRET"
				synctest.Wait()
				if err := other.Close(); err != nil {
					t.Fatal(err)
				}
				if _, err := r.runner().Clear(t.Context(), tt.in); err != nil {
					t.Fatal(err)
				}
				r.say(tt.in.Session, "and?")
				if n := strings.Count(lastText(r), "SECRET"); n != tt.left {
					t.Errorf("told %d times, want %d", n, tt.left)
				}
				if h.jobs.has(tt.in.Session) != (tt.left > 0) {
					t.Errorf("the session has jobs: %v", tt.left == 0)
				}
				return r
			})
		})
	}
}
