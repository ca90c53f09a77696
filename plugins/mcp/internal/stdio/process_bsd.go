//go:build unix && !linux

package stdio

import (
	"os/exec"
	"syscall"
)

func isolate(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// reap waits for the child and kills what is left of its group. Here Go can't
// wait without collecting; while a member lives the id is not reused.
func reap(cmd *exec.Cmd) {
	_ = cmd.Wait()
	killGroup(cmd.Process)
}
