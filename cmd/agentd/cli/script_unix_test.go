//go:build unix

package cli_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

var signals = map[string]syscall.Signal{
	"int": syscall.SIGINT, "term": syscall.SIGTERM, "hup": syscall.SIGHUP, "kill": syscall.SIGKILL,
}

func signalProgram(ts *testscript.TestScript, neg bool, args []string) {
	ts.Check(named(ts, args[0]).cmd.Process.Signal(signals[args[1]]))
}

// isRunning checks a process by the pid in a file.
func isRunning(ts *testscript.TestScript, neg bool, args []string) {
	pid := pidIn(ts, args[0])
	alive := syscall.Kill(pid, 0) == nil
	if alive == neg {
		ts.Fatalf("process %d: running is %v", pid, alive)
	}
}

func pidIn(ts *testscript.TestScript, file string) int {
	pid, err := strconv.Atoi(strings.TrimSpace(ts.ReadFile(file)))
	ts.Check(err)
	return pid
}

// signalPID sends a signal to the process whose pid is in a file.
func signalPID(ts *testscript.TestScript, neg bool, args []string) {
	ts.Check(syscall.Kill(pidIn(ts, args[0]), signals[args[1]]))
}

// waitDead waits until the process whose pid is in a file is gone.
func waitDead(ts *testscript.TestScript, neg bool, args []string) {
	pid := pidIn(ts, args[0])
	for deadline := time.Now().Add(patience); !gone(pid); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			ts.Fatalf("process %d is still there", pid)
		}
	}
}

// gone tells whether a process is no more. One that only waits to be
// collected, by whoever inherited it, is.
func gone(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return true
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(stat), ") ")
	return err == nil && strings.HasPrefix(rest, "Z")
}
