package memory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// migrations bring the file from one version to the next; the number of those
// that were run is the file's user_version. They are never changed, only
// added to.
var migrations = []string{
	// 1: sessions and their events. A session's number, not its name, is what
	// events refer to. seq counts all events ever written, events those left.
	`CREATE TABLE sessions (
		n       INTEGER PRIMARY KEY AUTOINCREMENT,
		id      TEXT NOT NULL UNIQUE,
		agent   TEXT NOT NULL,
		title   TEXT NOT NULL,
		parent  TEXT NOT NULL,
		created INTEGER NOT NULL,
		updated INTEGER NOT NULL,
		seq     INTEGER NOT NULL,
		events  INTEGER NOT NULL
	) STRICT;
	CREATE INDEX sessions_updated ON sessions (updated);
	CREATE TABLE events (
		session INTEGER NOT NULL REFERENCES sessions (n) ON DELETE CASCADE,
		seq     INTEGER NOT NULL,
		time    INTEGER NOT NULL,
		kind    TEXT NOT NULL,
		data    BLOB NOT NULL,
		PRIMARY KEY (session, seq)
	) STRICT;`,
}

// pragmas hold for each connection.
var pragmas = []string{
	"busy_timeout(10000)", "journal_mode(WAL)", "synchronous(NORMAL)",
	"foreign_keys(1)", "secure_delete(1)", "trusted_schema(0)",
}

// database is an open file: one connection writes, several read.
type database struct {
	file  string
	write *sql.DB
	read  *sql.DB
}

// openDatabase opens the file, making it if need be, and brings it up to date.
func openDatabase(ctx context.Context, file string) (*database, error) {
	if err := prepareFile(file); err != nil {
		return nil, err
	}
	write, err := connect(file, 1)
	if err != nil {
		return nil, err
	}
	if err := migrate(ctx, write); err != nil {
		return nil, errors.Join(explain(file, err), write.Close())
	}
	read, err := connect(file, 4)
	if err != nil {
		return nil, errors.Join(err, write.Close())
	}
	return &database{file, write, read}, nil
}

func (d *database) close() error { return errors.Join(d.read.Close(), d.write.Close()) }

// prepareFile makes the file for its owner alone, and refuses one that others
// may write to.
func prepareFile(file string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err == nil {
		return f.Close()
	}
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	return checkMode(file, info)
}

func connect(file string, conns int) (*sql.DB, error) {
	q := url.Values{"_txlock": {"immediate"}, "_pragma": pragmas}
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: file}).EscapedPath(), RawQuery: q.Encode()}
	db, err := sql.Open("sqlite", u.String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns)
	return db, nil
}

// migrate runs what the file lacks, each step in a transaction of its own.
func migrate(ctx context.Context, db *sql.DB) error {
	for {
		done, err := migrateStep(ctx, db)
		if done || err != nil {
			return err
		}
	}
}

func migrateStep(ctx context.Context, db *sql.DB) (done bool, err error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return false, err
	}
	defer func() {
		if rollback := tx.Rollback(); err != nil && !errors.Is(rollback, sql.ErrTxDone) {
			err = errors.Join(err, rollback)
		}
	}()
	var version int
	if err := tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return false, err
	}
	switch {
	case version == len(migrations):
		return true, nil
	case version > len(migrations):
		return false, fmt.Errorf("it has version %d, this agentd knows versions up to %d: use a newer agentd",
			version, len(migrations))
	}
	if _, err := tx.ExecContext(ctx, migrations[version]); err != nil {
		return false, fmt.Errorf("migration to version %d: %w", version+1, err)
	}
	if _, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", version+1)); err != nil {
		return false, err
	}
	return false, tx.Commit()
}

// explain says which file it is about.
func explain(file string, err error) error {
	return fmt.Errorf("%s: %w; move the file away to begin a new one, or put a backup in its place", file, err)
}

// inTx runs f in one write transaction.
func (d *database) inTx(ctx context.Context, f func(*sql.Tx) error) error {
	tx, err := d.write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := f(tx); err != nil {
		if rollback := tx.Rollback(); rollback != nil && !errors.Is(rollback, sql.ErrTxDone) {
			err = errors.Join(err, rollback)
		}
		return err
	}
	return tx.Commit()
}
