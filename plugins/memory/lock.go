package memory

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/agentd-host/agentd/core"
)

// errLocked is returned by lockFile when somebody else has the lock.
var errLocked = errors.New("locked")

// locks are the rights to write. Each is a lock of the operating system on a
// file of its own in a folder beside the database; the file "all" is held
// shared by every writer, so that whoever deletes everything can keep them
// out.
type locks struct{ dir string }

func newLocks(database string) (locks, error) {
	l := locks{database + ".locks"}
	return l, os.MkdirAll(l.dir, 0o700)
}

// lock is a right to write, until release.
type lock struct{ own, all *os.File }

// session takes the right to write to one session.
func (l locks) session(n int64, id string) (*lock, error) {
	all, err := lockFile(filepath.Join(l.dir, "all"), true)
	if err != nil {
		return nil, busy(err, id)
	}
	own, err := lockFile(filepath.Join(l.dir, strconv.FormatInt(n, 10)), false)
	if err != nil {
		return nil, errors.Join(busy(err, id), all.Close())
	}
	return &lock{own, all}, nil
}

// everything takes the right to write to all sessions.
func (l locks) everything() (*lock, error) {
	all, err := lockFile(filepath.Join(l.dir, "all"), false)
	if err != nil {
		return nil, busy(err, "one of them is being written to")
	}
	return &lock{nil, all}, nil
}

func busy(err error, what string) error {
	if errors.Is(err, errLocked) {
		return fmt.Errorf("%w: %s", core.ErrSessionBusy, what)
	}
	return err
}

// release gives the right up. The session's own file goes: it is the lock, not
// its existence, that says something, and there may be many sessions.
func (l *lock) release() error {
	var errs []error
	if l.own != nil {
		errs = append(errs, removeLocked(l.own))
	}
	return errors.Join(append(errs, l.all.Close())...)
}

// lockFile opens and locks a file. It looks again after it has the lock: the
// holder before may have removed the file in between, and then somebody else
// may hold a new one of the same name.
func lockFile(name string, shared bool) (*os.File, error) {
	for {
		f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return nil, err
		}
		if err := tryLock(f, shared); err != nil {
			return nil, errors.Join(err, f.Close())
		}
		mine, err := f.Stat()
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		if now, err := os.Stat(name); err == nil && os.SameFile(mine, now) {
			return f, nil
		}
		if err := f.Close(); err != nil {
			return nil, err
		}
	}
}
