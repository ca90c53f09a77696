//go:build unix

package procguard

import (
	"os/exec"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// group starts a process that leads a group of its own.
func group(t *testing.T) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", "trap '' TERM; sleep 1000; :")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) //nolint:errcheck // it may be gone
		cmd.Wait()                                      //nolint:errcheck // so may this
	})
	return cmd
}

func TestGuard_EndsTheGroupsThatAreLeft(t *testing.T) {
	var g Guard
	left, ended := group(t), group(t)
	g.Watch(ended.Process.Pid)
	g.Watch(left.Process.Pid)
	g.Forget(ended.Process.Pid)
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	left.Wait() //nolint:errcheck // killed
	if got := left.ProcessState.String(); got != "signal: killed" {
		t.Errorf("what was left ended with %q", got)
	}
	if err := syscall.Kill(ended.Process.Pid, 0); err != nil {
		t.Errorf("what was forgotten is gone too: %v", err)
	}
}

func TestGuard_StartsNoHelperForNothing(t *testing.T) {
	g := new(Guard)
	for _, g := range []*Guard{g, nil} {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
		g.Watch(1 << 30)
		g.Forget(1 << 30)
	}
	if g.in != nil {
		t.Error("a closed guard has started its helper")
	}
}
