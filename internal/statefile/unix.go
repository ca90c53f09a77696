//go:build unix

package statefile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

func checkOwner(info fs.FileInfo) error {
	if mode := info.Mode().Perm(); mode&0o022 != 0 {
		return fmt.Errorf("mode %04o: %w", mode, ErrUnsafe)
	}
	sys, ok := info.Sys().(*syscall.Stat_t)
	if ok && int(sys.Uid) != os.Getuid() && sys.Uid != 0 {
		return fmt.Errorf("owned by user %d: %w", sys.Uid, ErrUnsafe)
	}
	return nil
}

// Lock takes the advisory lock of a file that stays where it is, and waits
// for whoever holds it. The file is made if it is missing, its folder is not.
func Lock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return func() { f.Close() }, nil
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
