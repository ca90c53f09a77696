//go:build unix

package statefile

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// LockFile is an advisory lock between processes, and between the LockFiles
// of one process, that may be taken many times: the file stays open in
// between. One goroutine at a time may use it.
type LockFile struct {
	path string
	file *os.File // nil until it is first locked
	info fs.FileInfo
}

// NewLock returns the lock of a file, without looking at it.
func NewLock(path string) *LockFile { return &LockFile{path: path} }

// Lock waits for whoever holds the lock and takes it. The file is made if it
// is missing, its folder is not. What is locked is the file that bears the
// name once it is locked: one that was removed or replaced is left for its
// successor. Whoever removes it while it is held parts the holder from those
// who come after.
func (l *LockFile) Lock() error {
	for {
		if err := l.open(); err != nil {
			return err
		}
		if err := flock(l.file, unix.LOCK_EX); err != nil {
			return errors.Join(err, l.Close())
		}
		there, err := os.Stat(l.path)
		if err == nil && os.SameFile(l.info, there) {
			return nil
		}
		l.Close()
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
}

func (l *LockFile) open() (err error) {
	if l.file != nil {
		return nil
	}
	if l.file, err = os.OpenFile(l.path, os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return err
	}
	if l.info, err = l.file.Stat(); err != nil {
		l.Close()
	}
	return err
}

// Unlock lets go of the lock.
func (l *LockFile) Unlock() {
	if l.file != nil && flock(l.file, unix.LOCK_UN) != nil {
		l.Close() // which lets go of it too
	}
}

// Close lets go of the lock and closes the file. Lock opens it again.
func (l *LockFile) Close() error {
	if l.file == nil {
		return nil
	}
	err := l.file.Close()
	l.file = nil
	return err
}

func flock(f *os.File, how int) error {
	for {
		if err := unix.Flock(int(f.Fd()), how); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
