package agent

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/llm"
)

// note is what a job has to say to its session.
type note struct {
	record jobRecord
	text   string // empty: the model knows already
}

// deliver brings a note to its session: to the turn that runs in it, else
// into the log, for the next one.
func (h *hub) deliver(ctx context.Context, j *job, n note) {
	ended := core.AgentEvent{
		Kind: core.AgentJob, CallID: j.Call.ID, Tool: j.Tool.Name, Text: n.record.Handle + " " + n.record.State,
	}
	if t := h.inSession(j.session); t != nil && t.take(n) {
		t.emit(ended)
		return
	}
	defer j.turn.emit(ended)
	err := h.withStore(ctx, func(ctx context.Context, s core.SessionStore) error {
		session, release, err := h.open(ctx, j.turn.agent.name, s, core.Turn{Session: j.session})
		if err != nil {
			return err
		}
		defer release()
		events, err := n.events()
		if err != nil {
			return err
		}
		return session.Append(ctx, events...)
	})
	level := slog.LevelError
	if h.c.Err() != nil {
		level = slog.LevelDebug // the host goes; the next turn finds the job interrupted
	}
	if err != nil {
		h.c.Logger().Log(ctx, level, "delivering a job's result", "job", j.handle, "session", j.session, "error", err)
	}
}

// events are what a note leaves in the log.
func (n note) events() ([]core.SessionEvent, error) {
	rec, err := event(eventJob, n.record)
	if err != nil || n.text == "" {
		return []core.SessionEvent{rec}, err
	}
	msg, err := event(core.EventMessage, llm.Message{
		Role: llm.User, Parts: []llm.Part{llm.NamedText("job", "[background] "+n.text)},
	})
	return []core.SessionEvent{rec, msg}, err
}

// take accepts a note for the running turn; false once the turn is closing.
func (t *turn) take(n note) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return false
	}
	t.notes = append(t.notes, n)
	return true
}

// takeNotes writes down what jobs answered since the last step.
func (t *turn) takeNotes(ctx context.Context) error {
	t.mu.Lock()
	notes := t.notes
	t.notes = nil
	t.mu.Unlock()
	for _, n := range notes {
		events, err := n.events()
		if err != nil {
			return err
		}
		if err := t.session.Append(context.WithoutCancel(ctx), events...); err != nil {
			return err
		}
		for _, ev := range events {
			if err := t.history.add(ev); err != nil {
				return err
			}
		}
	}
	return nil
}

// closeNotes takes the last notes; later ones go to the log by themselves.
func (t *turn) closeNotes(ctx context.Context) error {
	t.mu.Lock()
	t.over = true
	t.mu.Unlock()
	return t.takeNotes(ctx)
}

// settleJobs says of jobs that the log has as running, but that no process
// runs any more, that they were interrupted.
func (t *turn) settleJobs(ctx context.Context) error {
	var lost []jobRecord
	for _, r := range t.history.jobs {
		if r.State == jobRunning && !t.hub.jobs.live(r.Handle) {
			lost = append(lost, r)
		}
	}
	slices.SortFunc(lost, func(a, b jobRecord) int { return cmp.Compare(a.Handle, b.Handle) })
	for _, r := range lost {
		r.State = jobInterrupted
		t.take(note{r, fmt.Sprintf("job %s (%s) was interrupted: the process that ran it ended", r.Handle, r.Tool)})
	}
	return t.takeNotes(ctx)
}
