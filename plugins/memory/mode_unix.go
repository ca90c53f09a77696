//go:build unix

package memory

import (
	"fmt"
	"os"
	"syscall"
)

// checkMode refuses a file that belongs to somebody else or that others may
// read or write.
func checkMode(file string, info os.FileInfo) error {
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is no regular file", file)
	}
	if perm := info.Mode().Perm(); perm&0o077 != 0 {
		return fmt.Errorf("%s has mode %#o, others than its owner may use it: chmod 600 it", file, perm)
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Getuid() {
		return fmt.Errorf("%s belongs to user %d, not to you", file, st.Uid)
	}
	return nil
}
