package memory

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"github.com/agentd-host/agentd/core"
)

// Delete carries out the innermost part of memory:clear, in one transaction.
// A session that is being written to refuses the whole request.
func (s *store) Delete(ctx context.Context, r core.ClearRequest) (report core.ClearReport, err error) {
	lock, numbers, err := s.claim(ctx, r)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, lock.release()) }()
	report = core.ClearReport{}
	err = s.db.inTx(ctx, func(tx *sql.Tx) error {
		if r.All && len(r.Types) == 0 {
			return deleteAll(ctx, tx, report)
		}
		for _, n := range numbers {
			if err := clearSession(ctx, tx, n, r, report); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return report, s.checkpoint(ctx)
}

// claim keeps writers out of the sessions that the request is about.
func (s *store) claim(ctx context.Context, r core.ClearRequest) (*lock, []int64, error) {
	if !r.All {
		n, name, err := s.find(ctx, r.Session)
		if err != nil {
			return nil, nil, err
		}
		l, err := s.locks.session(n, name)
		return l, []int64{n}, err
	}
	l, err := s.locks.everything()
	if err != nil {
		return nil, nil, err
	}
	numbers, err := s.numbers(ctx)
	if err != nil {
		return nil, nil, errors.Join(err, l.release())
	}
	return l, numbers, nil
}

func (s *store) numbers(ctx context.Context) (list []int64, err error) {
	rows, err := s.db.read.QueryContext(ctx, "SELECT n FROM sessions ORDER BY n")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var n int64
		if err := rows.Scan(&n); err != nil {
			return nil, err
		}
		list = append(list, n)
	}
	return list, rows.Err()
}

// deleteAll takes every session with everything in it.
func deleteAll(ctx context.Context, tx *sql.Tx, report core.ClearReport) error {
	kinds, err := countKinds(ctx, tx, "", nil)
	if err != nil {
		return err
	}
	for kind, count := range kinds {
		if name, ok := (core.ClearRequest{}).Covers(kind); ok {
			report[name] += count
		}
	}
	res, err := tx.ExecContext(ctx, "DELETE FROM sessions")
	if err != nil {
		return err
	}
	n, err := res.RowsAffected()
	if n > 0 {
		report["sessions"] = int(n)
	}
	return err
}

func countKinds(ctx context.Context, tx *sql.Tx, where string, args []any) (map[string]int, error) {
	rows, err := tx.QueryContext(ctx, "SELECT kind, count(*) FROM events "+where+" GROUP BY kind", args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	kinds := map[string]int{}
	for rows.Next() {
		var kind string
		var count int
		if err := rows.Scan(&kind, &count); err != nil {
			return nil, err
		}
		kinds[kind] = count
	}
	return kinds, rows.Err()
}

// clearSession deletes what the request names from one session and notes that
// it was done.
func clearSession(ctx context.Context, tx *sql.Tx, n int64, r core.ClearRequest, report core.ClearReport) error {
	kinds, err := countKinds(ctx, tx, "WHERE session = ?", []any{n})
	if err != nil {
		return err
	}
	for kind, count := range kinds {
		name, ok := r.Covers(kind)
		if !ok {
			continue
		}
		if _, err := tx.ExecContext(ctx, "DELETE FROM events WHERE session = ? AND kind = ?", n, kind); err != nil {
			return err
		}
		report[name] += count
	}
	if r.Wants(core.MemoryImages) {
		if err := clearImages(ctx, tx, n, report); err != nil {
			return err
		}
	}
	if r.Wants(core.MemoryMessages) {
		if _, err := tx.ExecContext(ctx, "UPDATE sessions SET title = '' WHERE n = ?", n); err != nil {
			return err
		}
	}
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := appendEvents(ctx, tx, n, []core.SessionEvent{{Time: time.Now(), Kind: core.EventCleared, Data: data}}); err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, "UPDATE sessions SET events = (SELECT count(*) FROM events WHERE session = ?1) WHERE n = ?1", n)
	return err
}

// clearImages takes the images out of messages that stay.
func clearImages(ctx context.Context, tx *sql.Tx, n int64, report core.ClearReport) error {
	changed, err := withoutImages(ctx, tx, n, report)
	if err != nil {
		return err
	}
	for seq, data := range changed {
		if _, err := tx.ExecContext(ctx, "UPDATE events SET data = ? WHERE session = ? AND seq = ?", []byte(data), n, seq); err != nil {
			return err
		}
	}
	return nil
}

func withoutImages(ctx context.Context, tx *sql.Tx, n int64, report core.ClearReport) (map[int64]json.RawMessage, error) {
	rows, err := tx.QueryContext(ctx, "SELECT seq, data FROM events WHERE session = ? AND kind = ?", n, core.EventMessage)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	changed := map[int64]json.RawMessage{}
	for rows.Next() {
		var seq int64
		var data []byte
		if err := rows.Scan(&seq, &data); err != nil {
			return nil, err
		}
		if out, count := core.WithoutImages(data); count > 0 {
			changed[seq] = out
			report[core.MemoryImages] += count
		}
	}
	return changed, rows.Err()
}

// checkpoint moves the log into the file, so that what was deleted is in
// neither. Readers of other processes may keep it from ending; the next
// checkpoint does it then.
func (s *store) checkpoint(ctx context.Context) error {
	var busy, log, moved int
	return s.db.write.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &log, &moved)
}
