//go:build unix

package memory

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// tryLock takes the lock of an open file without waiting. Closing the file,
// or the end of the process, gives it up.
func tryLock(f *os.File, shared bool) error {
	how := unix.LOCK_EX
	if shared {
		how = unix.LOCK_SH
	}
	for {
		err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EWOULDBLOCK):
			return errLocked
		}
		return err
	}
}

// removeLocked removes a file while its lock is held, and closes it.
func removeLocked(f *os.File) error { return errors.Join(os.Remove(f.Name()), f.Close()) }
