package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/llm"
)

// note is what a job has to say to its session.
type note struct {
	record jobRecord
	text   string
	known  []string // the model knows it from a tool's result that has one of these
}

// deliver brings a note from the mailbox to its session: to the turn that runs
// in it, else into the log. What can't be written stays in the mailbox, for a
// turn or for redeliver; then late is true.
func (h *hub) deliver(ctx context.Context, j *job, n note) (late bool) {
	ended := core.AgentEvent{
		Kind: core.AgentJob, CallID: j.Call.ID, Tool: j.Tool.Name, Text: n.record.Handle + " " + n.record.State,
	}
	if t := h.inSession(j.session); t != nil && t.takesNotes() {
		t.emit(ended)
		return false
	}
	defer j.turn.emit(ended)
	err := h.writeNotes(ctx, j)
	if err == nil {
		return false
	}
	level := slog.LevelWarn
	if h.c.Err() != nil {
		level = slog.LevelDebug // the host goes; the next turn finds the job interrupted
	}
	h.c.Logger().Log(ctx, level, "a job's result waits until its session can be written to",
		"job", j.handle, "session", j.session, "error", err)
	return true
}

// redeliverEvery is how often a session is tried that could not be written to.
const redeliverEvery = 10 * time.Second

// redeliver tries until nothing waits for the session of a job any more, the
// session is gone, or ctx ends.
func (h *hub) redeliver(ctx context.Context, j *job) {
	tick := time.NewTicker(redeliverEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if _, waits := h.mail.first(j.session); !waits {
			return
		}
		if err := h.writeNotes(ctx, j); err == nil || errors.Is(err, core.ErrSessionUnknown) {
			return
		}
	}
}

// writeNotes puts what waits for the session of a job into its log.
func (h *hub) writeNotes(ctx context.Context, j *job) error {
	return h.withStore(ctx, func(ctx context.Context, s core.SessionStore) error {
		session, release, err := h.open(ctx, j.turn.agent.name, s, core.Turn{Session: j.session})
		if err != nil {
			return err
		}
		defer release()
		return h.mail.empty(j.session, func(n note) error {
			log, err := session.Events(ctx)
			if err != nil {
				return err
			}
			past, err := fold(log)
			if err != nil {
				return err
			}
			events, err := n.events(past)
			if err != nil {
				return err
			}
			return session.Append(ctx, events...)
		})
	})
}

// events are what a note leaves in a log. What counts is what the log holds
// already, not what a tool was about to answer: that may have been cut off, or
// have gone to somebody else than the model.
func (n note) events(past *history) ([]core.SessionEvent, error) {
	rec, err := event(eventJob, n.record)
	if err != nil || slices.ContainsFunc(n.known, past.answered) {
		return []core.SessionEvent{rec}, err
	}
	msg, err := event(core.EventMessage, llm.Message{
		Role: llm.User, Parts: []llm.Part{llm.NamedText("job", "[background] "+n.text)},
	})
	return []core.SessionEvent{rec, msg}, err
}

// takesNotes tells whether the turn will still look for notes.
func (t *turn) takesNotes() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.over
}

// takeNotes writes down what jobs answered since the last step.
func (t *turn) takeNotes(ctx context.Context) error {
	return t.hub.mail.empty(t.session.ID(), func(n note) error { return t.note(ctx, n) })
}

// note writes one down.
func (t *turn) note(ctx context.Context, n note) error {
	events, err := n.events(t.history)
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
	return nil
}

// closeNotes takes the last notes; later ones go to the log by themselves.
func (t *turn) closeNotes(ctx context.Context) error {
	t.mu.Lock()
	t.over = true
	t.mu.Unlock()
	return t.takeNotes(ctx)
}

// settleJobs takes what waited for this turn, and says of jobs that the log
// has as running, but that no process runs any more, that they were
// interrupted.
func (t *turn) settleJobs(ctx context.Context) error {
	if err := t.takeNotes(ctx); err != nil {
		return err
	}
	var lost []jobRecord
	for _, r := range t.history.jobs {
		if r.State == jobRunning && !t.hub.jobs.live(r.Handle) {
			lost = append(lost, r)
		}
	}
	slices.SortFunc(lost, func(a, b jobRecord) int { return cmp.Compare(a.Handle, b.Handle) })
	for _, r := range lost {
		r.State = jobInterrupted
		text := fmt.Sprintf("job %s (%s) was interrupted: the process that ran it ended", r.Handle, r.Tool)
		if err := t.note(ctx, note{record: r, text: text}); err != nil {
			return err
		}
	}
	return nil
}
