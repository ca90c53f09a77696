//go:build unix

package procguard

import (
	"os/exec"
	"syscall"
)

// detach puts a command into a session of its own.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
