//go:build unix

package cli

import (
	"os"
	"syscall"
)

// hangupSignals ask the daemon to read its config again.
var hangupSignals = []os.Signal{syscall.SIGHUP}
