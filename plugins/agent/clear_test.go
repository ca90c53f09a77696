package agent

import (
	"context"
	"testing"

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
