//go:build unix

package cli_test

import (
	"strconv"
	"strings"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"
)

func signalProgram(ts *testscript.TestScript, neg bool, args []string) {
	signals := map[string]syscall.Signal{
		"int": syscall.SIGINT, "term": syscall.SIGTERM, "hup": syscall.SIGHUP, "kill": syscall.SIGKILL,
	}
	ts.Check(named(ts, args[0]).cmd.Process.Signal(signals[args[1]]))
}

// isRunning checks a process by the pid in a file.
func isRunning(ts *testscript.TestScript, neg bool, args []string) {
	pid, err := strconv.Atoi(strings.TrimSpace(ts.ReadFile(args[0])))
	ts.Check(err)
	alive := syscall.Kill(pid, 0) == nil
	if alive == neg {
		ts.Fatalf("process %d: running is %v", pid, alive)
	}
}
