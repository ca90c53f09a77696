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

// forget drops, once a session was cleared of jobs, what those answered that
// ended. Jobs that run go on, and answer to the session as it is then.
func (h *hub) forget(
	ctx context.Context, r core.ClearRequest,
	next func(context.Context, core.ClearRequest) (core.ClearReport, error),
) (core.ClearReport, error) {
	report, err := next(ctx, r)
	if err == nil && r.Wants(core.MemoryJobs) {
		of := func(session string) bool { return r.All || r.Session == session }
		h.jobs.forget(of)
		h.mail.forget(of)
	}
	return report, err
}
