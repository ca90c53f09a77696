package memory

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/agentd-host/agentd/core"
)

// session is one that is open for writing.
type session struct {
	s    *store
	n    int64
	id   string
	lock *lock

	mu     sync.Mutex // guards closed, and keeps Close behind an Append
	closed bool
}

// ID is the session's name.
func (o *session) ID() string { return o.id }

// Append writes events, all or none. When it returns nil they survive the end
// of the process, however that comes.
func (o *session) Append(ctx context.Context, events ...core.SessionEvent) error {
	if len(events) == 0 {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return fmt.Errorf("session %s is closed", o.id)
	}
	return o.s.db.inTx(ctx, func(tx *sql.Tx) error { return appendEvents(ctx, tx, o.n, slices.Clone(events)) })
}

func appendEvents(ctx context.Context, tx *sql.Tx, n int64, events []core.SessionEvent) error {
	now, title := time.Now(), ""
	for _, ev := range events {
		if title = core.SessionTitle(ev); title != "" {
			break
		}
	}
	var seq int64
	err := tx.QueryRowContext(ctx, `UPDATE sessions SET seq = seq + ?1, events = events + ?1, updated = ?2,
		title = CASE title WHEN '' THEN ?3 ELSE title END WHERE n = ?4 RETURNING seq`,
		len(events), now.UnixNano(), title, n).Scan(&seq)
	if err != nil {
		return err
	}
	for i := range events {
		events[i].Seq = seq - int64(len(events)-1-i)
		if events[i].Time.IsZero() {
			events[i].Time = now
		}
	}
	return insertEvents(ctx, tx, n, events)
}

// insertEvents writes events under the numbers that they have.
func insertEvents(ctx context.Context, tx *sql.Tx, n int64, events []core.SessionEvent) error {
	insert, err := tx.PrepareContext(ctx, "INSERT INTO events (session, seq, time, kind, data) VALUES (?, ?, ?, ?, ?)")
	if err != nil {
		return err
	}
	defer insert.Close()
	for _, ev := range events {
		data := []byte(ev.Data)
		if data == nil {
			data = []byte("null")
		}
		if _, err := insert.ExecContext(ctx, n, ev.Seq, ev.Time.UnixNano(), ev.Kind, data); err != nil {
			return err
		}
	}
	return nil
}

// Events returns all events.
func (o *session) Events(ctx context.Context) ([]core.SessionEvent, error) {
	return o.s.events(ctx, o.n)
}

// Close gives up the right to write.
func (o *session) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return nil
	}
	o.closed = true
	o.s.mu.Lock()
	delete(o.s.open, o)
	o.s.mu.Unlock()
	return o.lock.release()
}

var _ core.Session = (*session)(nil)
