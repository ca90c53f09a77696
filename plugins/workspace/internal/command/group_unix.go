//go:build unix

package command

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// group is the processes of one command. It is a session too, so that no
// program asks for a password at agentd's own terminal.
type group struct {
	cmd    *exec.Cmd
	strays []process // descendants outside the group, seen when it was ended
}

func newGroup(cmd *exec.Cmd) *group {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return &group{cmd: cmd}
}

// end asks all processes of the group to end.
func (g *group) end() error {
	g.strays = descendants(g.cmd.Process.Pid)
	err := syscall.Kill(-g.cmd.Process.Pid, syscall.SIGTERM)
	if errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}

// kill ends what is left of the group, and reports whether anything was. The
// leader was waited for.
func (g *group) kill() bool {
	left := syscall.Kill(-g.cmd.Process.Pid, syscall.SIGKILL) == nil
	for _, p := range g.strays {
		left = p.kill() || left
	}
	return left
}

func envFold(name string) string { return name }

// Shell gives what runs a command line with the shell that every system has.
func Shell(line string) []string { return []string{"/bin/sh", "-c", line} }
