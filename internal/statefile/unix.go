//go:build unix

package statefile

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
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

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
