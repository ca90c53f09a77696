//go:build unix

package stdio

import (
	"os"
	"os/exec"
	"syscall"
)

func command(c Command) *exec.Cmd { return exec.Command(c.Name, c.Args...) }

func terminateGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGTERM) }
func killGroup(p *os.Process)      { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }
