//go:build !unix

package command

import (
	"os/exec"
	"strings"
)

// group is the one process of a command: this system is built for, not
// supported, and processes that it starts in turn are not followed.
type group struct{ cmd *exec.Cmd }

func newGroup(cmd *exec.Cmd) *group { return &group{cmd: cmd} }

func (g *group) end() error { return g.cmd.Process.Kill() }

func (g *group) kill() bool { return false }

// envFold makes names equal that the system takes for equal.
func envFold(name string) string { return strings.ToUpper(name) }

// Shell gives what runs a command line.
func Shell(line string) []string { return []string{"cmd.exe", "/c", line} }
