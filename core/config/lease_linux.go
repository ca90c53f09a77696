package config

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// writerHas reports whether a process holds the file open for writing. The
// kernel grants a read lease only where there is none. Where leases are not to
// be had (another owner, some file systems) the answer is no.
func writerHas(path string) bool {
	f, err := os.OpenFile(path, openFlags, 0)
	if err != nil {
		return false
	}
	defer f.Close() // which gives the lease back
	_, err = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_RDLCK)
	return errors.Is(err, unix.EAGAIN)
}
