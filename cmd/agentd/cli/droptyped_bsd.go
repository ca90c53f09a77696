//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// fread selects the queue of what was typed, as in <sys/fcntl.h>.
const fread = 1

// dropTyped forgets what was typed at a terminal and not read yet.
func dropTyped(f *os.File) {
	unix.IoctlSetPointerInt(int(f.Fd()), unix.TIOCFLUSH, fread) //nolint:errcheck // no terminal: nothing was typed
}
