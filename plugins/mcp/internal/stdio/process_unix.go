//go:build unix

package stdio

import (
	"os"
	"os/exec"
	"syscall"
)

func command(c Command) *exec.Cmd { return exec.Command(c.Name, c.Args...) }

// detach puts a command into a session of its own.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

func terminateGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGTERM) }
func killGroup(p *os.Process)      { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }
