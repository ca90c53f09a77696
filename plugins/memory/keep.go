package memory

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/agentd-host/agentd/core"
)

// maxLine bounds one line of an import.
const maxLine = 64 << 20

// header is the first line of an export.
type header struct {
	Format  string           `json:"format"`
	Version int              `json:"version"`
	Session core.SessionInfo `json:"session"`
}

const exportFormat = "agentd session"

// Export writes a session as JSON lines: a header, then its events.
func (s *store) Export(ctx context.Context, id string, w io.Writer) error {
	_, name, err := s.find(ctx, id)
	if err != nil {
		return err
	}
	info, err := s.info(ctx, name)
	if err != nil {
		return err
	}
	events, err := s.Read(ctx, name)
	if err != nil {
		return err
	}
	info.Events = int64(len(events)) // somebody may have written meanwhile
	out := bufio.NewWriter(w)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(header{exportFormat, 1, info}); err != nil {
		return err
	}
	for _, ev := range events {
		if err := enc.Encode(ev); err != nil {
			return err
		}
	}
	return out.Flush()
}

// Import reads what Export wrote into a new session, all or nothing. It keeps
// the id if that is free.
func (s *store) Import(ctx context.Context, r io.Reader) (core.SessionInfo, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	head, err := readHeader(lines)
	if err != nil {
		return core.SessionInfo{}, err
	}
	if _, _, err := s.find(ctx, head.Session.ID); err == nil || checkID(head.Session.ID) != nil {
		head.Session.ID = core.NewSessionID()
	}
	err = s.db.inTx(ctx, func(tx *sql.Tx) error { return importSession(ctx, tx, head.Session, lines) })
	if err != nil {
		return core.SessionInfo{}, err
	}
	return s.info(ctx, head.Session.ID)
}

func readHeader(lines *bufio.Scanner) (h header, err error) {
	if !lines.Scan() {
		return h, errors.Join(errors.New("line 1: want the header of an exported session, got nothing"), lines.Err())
	}
	if err := json.Unmarshal(lines.Bytes(), &h); err != nil {
		return h, fmt.Errorf("line 1: want the header of an exported session: %w", err)
	}
	if h.Format != exportFormat {
		return h, fmt.Errorf("line 1: want the format %q, got %q", exportFormat, h.Format)
	}
	if h.Version != 1 {
		return h, fmt.Errorf("line 1: version %d is not known here, only 1", h.Version)
	}
	return h, nil
}

func importSession(ctx context.Context, tx *sql.Tx, info core.SessionInfo, lines *bufio.Scanner) error {
	n, err := insertSession(ctx, tx, info, time.Now())
	if err != nil {
		return err
	}
	var last, count int64
	for line := 2; lines.Scan(); line++ {
		var ev core.SessionEvent
		if err := json.Unmarshal(lines.Bytes(), &ev); err != nil {
			return fmt.Errorf("line %d: %w", line, err)
		}
		if ev.Seq <= last || ev.Kind == "" {
			return fmt.Errorf("line %d: want an event with a kind and a number above %d, got %q and %d", line, last, ev.Kind, ev.Seq)
		}
		if err := ev.Check(); err != nil {
			return fmt.Errorf("line %d: %w", line, err)
		}
		if err := insertEvents(ctx, tx, n, []core.SessionEvent{ev}); err != nil {
			return err
		}
		last, count = ev.Seq, count+1
	}
	if err := lines.Err(); err != nil {
		return err
	}
	if count != info.Events {
		return fmt.Errorf("the export was cut off or was changed: want %d events, got %d", info.Events, count)
	}
	_, err = tx.ExecContext(ctx, "UPDATE sessions SET seq = ?, events = ? WHERE n = ?", last, count, n)
	return err
}

// Prune deletes the sessions that were last used before a time, and lists
// them; with dry it only lists them. Sessions that are open stay.
func (s *store) Prune(ctx context.Context, before time.Time, dry bool) ([]core.SessionInfo, error) {
	old, err := s.list(ctx, "WHERE updated < ?", []any{before.UnixNano()})
	if err != nil || dry {
		return old, err
	}
	gone := make([]core.SessionInfo, 0, len(old))
	for _, info := range old {
		err := s.remove(ctx, info.ID, before)
		switch {
		case err == nil:
			gone = append(gone, info)
		case !errors.Is(err, core.ErrSessionBusy) && !errors.Is(err, core.ErrSessionUnknown):
			return gone, err
		}
	}
	if len(gone) == 0 {
		return gone, nil
	}
	return gone, s.checkpoint(ctx)
}

// remove deletes a whole session, unless it was used meanwhile.
func (s *store) remove(ctx context.Context, id string, before time.Time) (err error) {
	n, name, err := s.find(ctx, id)
	if err != nil {
		return err
	}
	l, err := s.locks.session(n, name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.release()) }()
	res, err := s.db.write.ExecContext(ctx, "DELETE FROM sessions WHERE n = ? AND updated < ?", n, before.UnixNano())
	if err != nil {
		return err
	}
	if count, err := res.RowsAffected(); err != nil || count == 0 {
		return errors.Join(err, fmt.Errorf("%w: %s", core.ErrSessionBusy, id))
	}
	return nil
}

// Backup writes a consistent copy of the whole file, readable by its owner
// alone, while others go on writing. The file must not exist.
func (s *store) Backup(ctx context.Context, file string) error {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if _, err := s.db.read.ExecContext(ctx, "VACUUM INTO ?", file); err != nil {
		return errors.Join(fmt.Errorf("backup to %s: %w", file, err), os.Remove(file))
	}
	return nil
}

// Compact gives back the space of what was deleted.
func (s *store) Compact(ctx context.Context) error {
	if _, err := s.db.write.ExecContext(ctx, "VACUUM"); err != nil {
		return err
	}
	return s.checkpoint(ctx)
}
