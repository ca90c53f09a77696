//go:build unix

package cli

import (
	"fmt"
	"os"
	"syscall"
)

// ownFolder refuses a folder of somebody else: a socket in it could be
// another user's.
func ownFolder(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(st.Uid) == os.Getuid() {
		return nil
	}
	return fmt.Errorf("folder %s belongs to another user: remove it or set AGENTD_HOME", dir)
}
