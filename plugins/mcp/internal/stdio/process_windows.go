package stdio

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// command finds the program by PATHEXT. Scripts (npx.cmd) go through cmd.exe
// with a line that it reads back as the same arguments.
func command(c Command) *exec.Cmd {
	path, err := exec.LookPath(c.Name)
	if err != nil || !isBatch(path) {
		return exec.Command(c.Name, c.Args...)
	}
	shell := os.Getenv("COMSPEC")
	if shell == "" {
		shell = "cmd.exe"
	}
	cmd := exec.Command(shell)
	cmd.SysProcAttr = &syscall.SysProcAttr{CmdLine: batchLine(shell, path, c.Args)}
	return cmd
}

func isolate(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.CreationFlags |= syscall.CREATE_NEW_PROCESS_GROUP
}

func reap(cmd *exec.Cmd) { _ = cmd.Wait() }

// terminateGroup has no gentle form here; killGroup follows.
func terminateGroup(*os.Process) {}

func killGroup(p *os.Process) {
	_ = exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(p.Pid)).Run()
	_ = p.Kill()
}
