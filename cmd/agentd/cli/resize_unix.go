//go:build unix

package cli

import (
	"os"
	"syscall"
)

// resizeSignals tell that the window has another size.
var resizeSignals = []os.Signal{syscall.SIGWINCH}
