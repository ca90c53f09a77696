package memory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"sync"
	"time"

	"github.com/agentd-host/agentd/core"
)

// sessionID is what an id looks like that somebody chose.
var sessionID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)

// store is the core.SessionStore. It may be used from many goroutines and, on
// one file, from many processes.
type store struct {
	db    *database
	locks locks

	mu   sync.Mutex // guards open
	open map[*session]bool
}

// open opens the store on a file.
func open(ctx context.Context, file string) (*store, error) {
	l, err := newLocks(file)
	if err != nil {
		return nil, err
	}
	db, err := openDatabase(ctx, file)
	if err != nil {
		return nil, err
	}
	return &store{db: db, locks: l, open: map[*session]bool{}}, nil
}

// close closes the sessions that are still open, and the file.
func (s *store) close() error {
	s.mu.Lock()
	left := make([]*session, 0, len(s.open))
	for o := range s.open {
		left = append(left, o)
	}
	s.mu.Unlock()
	var errs []error
	for _, o := range left {
		errs = append(errs, o.Close())
	}
	return errors.Join(append(errs, s.db.close())...)
}

// Durable is true: sessions outlive the process.
func (s *store) Durable() bool { return true }

// Create begins a session.
func (s *store) Create(ctx context.Context, info core.SessionInfo) (core.Session, error) {
	if info.ID == "" {
		info.ID = core.NewSessionID()
	}
	n, err := s.insert(ctx, info)
	if err != nil {
		return nil, err
	}
	return s.session(n, info.ID)
}

// insert makes the row of a new session.
func (s *store) insert(ctx context.Context, info core.SessionInfo) (n int64, err error) {
	if err := checkID(info.ID); err != nil {
		return 0, err
	}
	err = s.db.inTx(ctx, func(tx *sql.Tx) error {
		n, err = insertSession(ctx, tx, info, time.Now())
		return err
	})
	return n, err
}

func checkID(id string) error {
	if !sessionID.MatchString(id) || id == "last" {
		return fmt.Errorf("%q is no id for a session: want letters, digits, dot, dash, underscore, not last", id)
	}
	return nil
}

func insertSession(ctx context.Context, tx *sql.Tx, info core.SessionInfo, now time.Time) (int64, error) {
	var there int
	if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM sessions WHERE id = ?", info.ID).Scan(&there); err != nil {
		return 0, err
	}
	if there > 0 {
		return 0, fmt.Errorf("session %q exists already", info.ID)
	}
	if info.Created.IsZero() {
		info.Created, info.Updated = now, now
	}
	res, err := tx.ExecContext(ctx, `INSERT INTO sessions (id, agent, title, parent, created, updated, seq, events)
		VALUES (?, ?, ?, ?, ?, ?, 0, 0)`,
		info.ID, info.Agent, info.Title, info.Parent, info.Created.UnixNano(), info.Updated.UnixNano())
	if err != nil {
		return 0, err
	}
	return res.LastInsertId()
}

// find gives a session's number. "last" is the one updated last.
func (s *store) find(ctx context.Context, id string) (n int64, name string, err error) {
	query, args := "SELECT n, id FROM sessions WHERE id = ?", []any{id}
	if id == "last" {
		query, args = "SELECT n, id FROM sessions ORDER BY updated DESC, n DESC LIMIT 1", nil
	}
	err = s.db.read.QueryRowContext(ctx, query, args...).Scan(&n, &name)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, "", fmt.Errorf("%w: %q", core.ErrSessionUnknown, id)
	}
	return n, name, err
}

// Open opens a session for writing.
func (s *store) Open(ctx context.Context, id string) (core.Session, error) {
	n, name, err := s.find(ctx, id)
	if err != nil {
		return nil, err
	}
	o, err := s.session(n, name)
	if err != nil {
		return nil, err
	}
	if _, _, err := s.find(ctx, name); err != nil { // deleted before the lock was ours
		return nil, errors.Join(err, o.Close())
	}
	return o, nil
}

func (s *store) session(n int64, id string) (*session, error) {
	l, err := s.locks.session(n, id)
	if err != nil {
		return nil, err
	}
	o := &session{s: s, n: n, id: id, lock: l}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[o] = true
	return o, nil
}

// Read returns a session's events.
func (s *store) Read(ctx context.Context, id string) ([]core.SessionEvent, error) {
	n, _, err := s.find(ctx, id)
	if err != nil {
		return nil, err
	}
	return s.events(ctx, n)
}

func (s *store) events(ctx context.Context, n int64) ([]core.SessionEvent, error) {
	rows, err := s.db.read.QueryContext(ctx, "SELECT seq, time, kind, data FROM events WHERE session = ? ORDER BY seq", n)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var events []core.SessionEvent
	for rows.Next() {
		ev, err := scanEvent(rows)
		if err != nil {
			return nil, err
		}
		events = append(events, ev)
	}
	return events, rows.Err()
}

func scanEvent(rows *sql.Rows) (ev core.SessionEvent, err error) {
	var at int64
	err = rows.Scan(&ev.Seq, &at, &ev.Kind, (*[]byte)(&ev.Data))
	ev.Time = time.Unix(0, at)
	return ev, err
}

// List gives the sessions, the one updated last first.
func (s *store) List(ctx context.Context) ([]core.SessionInfo, error) {
	return s.list(ctx, "", nil)
}

// list selects sessions by a condition.
func (s *store) list(ctx context.Context, where string, args []any) ([]core.SessionInfo, error) {
	rows, err := s.db.read.QueryContext(ctx, `SELECT id, agent, title, parent, created, updated, events
		FROM sessions `+where+` ORDER BY updated DESC, n DESC`, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	infos := []core.SessionInfo{}
	for rows.Next() {
		var i core.SessionInfo
		var created, updated int64
		if err := rows.Scan(&i.ID, &i.Agent, &i.Title, &i.Parent, &created, &updated, &i.Events); err != nil {
			return nil, err
		}
		i.Created, i.Updated = time.Unix(0, created), time.Unix(0, updated)
		infos = append(infos, i)
	}
	return infos, rows.Err()
}

// info describes one session.
func (s *store) info(ctx context.Context, id string) (core.SessionInfo, error) {
	infos, err := s.list(ctx, "WHERE id = ?", []any{id})
	if err != nil {
		return core.SessionInfo{}, err
	}
	if len(infos) == 0 {
		return core.SessionInfo{}, fmt.Errorf("%w: %q", core.ErrSessionUnknown, id)
	}
	return infos[0], nil
}

// Fork copies a session up to and with seq. The copy has the same numbers.
func (s *store) Fork(ctx context.Context, id string, seq int64) (core.SessionInfo, error) {
	n, name, err := s.find(ctx, id)
	if err != nil {
		return core.SessionInfo{}, err
	}
	fork := core.NewSessionID()
	err = s.db.inTx(ctx, func(tx *sql.Tx) error { return forkSession(ctx, tx, n, name, fork, seq) })
	if err != nil {
		return core.SessionInfo{}, err
	}
	return s.info(ctx, fork)
}

func forkSession(ctx context.Context, tx *sql.Tx, n int64, name, fork string, seq int64) error {
	info := core.SessionInfo{ID: fork, Parent: name}
	var last int64
	err := tx.QueryRowContext(ctx, "SELECT agent, title, seq FROM sessions WHERE n = ?", n).Scan(&info.Agent, &info.Title, &last)
	if err != nil {
		return err
	}
	if seq < 0 || seq > last {
		return fmt.Errorf("session %s has events 1 to %d, not %d", name, last, seq)
	}
	if seq == 0 {
		seq = last
	}
	m, err := insertSession(ctx, tx, info, time.Now())
	if err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO events (session, seq, time, kind, data)
		SELECT ?, seq, time, kind, data FROM events WHERE session = ? AND seq <= ?`, m, n, seq); err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `UPDATE sessions SET seq = ?, events = (SELECT count(*) FROM events WHERE session = ?)
		WHERE n = ?`, seq, m, m)
	return err
}

var (
	_ core.SessionStore  = (*store)(nil)
	_ core.SessionPorter = (*store)(nil)
	_ core.SessionKeeper = (*store)(nil)
)
