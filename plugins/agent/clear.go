package agent

import (
	"context"

	"github.com/agentd-host/agentd/core"
)

// Clear runs memory:clear with the session store in use as its innermost
// part, so that every plugin forgets its share after the deletion succeeded.
func (h *hub) Clear(ctx context.Context, r core.ClearRequest) (core.ClearReport, error) {
	var report core.ClearReport
	err := hubs.Use(h.c, ctx, func(ctx context.Context, _ *hub) error {
		return h.withStore(ctx, func(ctx context.Context, s core.SessionStore) (err error) {
			report, err = core.ClearMemory(ctx, s, r)
			return err
		})
	})
	return report, err
}
