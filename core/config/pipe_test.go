//go:build unix

package config_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/agentd-host/agentd/core/config"
)

func TestE27_APipeIsRefusedAndNotWaitedFor(t *testing.T) {
	path := filepath.Join(t.TempDir(), config.FileName)
	must(t, syscall.Mkfifo(path, 0o600))
	_, err := config.ReadFile(path)
	if err == nil || !strings.Contains(err.Error(), "this is a pipe, want a regular file") {
		t.Errorf("got %v", err)
	}
}

func TestE27_AFileThatItsGroupMayWriteIsRefused(t *testing.T) {
	path := write(t, "plugins: {}")
	must(t, syscall.Chmod(path, 0o660))
	// A group of the user's own number is nobody else's.
	if err := syscall.Chown(path, -1, syscall.Geteuid()+1); err != nil {
		t.Skipf("this user can't give a file to another group: %v", err)
	}
	_, err := newSchema(t).Load(config.Sources{File: path, Named: true})
	if err == nil || !strings.Contains(err.Error(), "chmod g-w") {
		t.Errorf("got %v", err)
	}
	must(t, syscall.Chown(path, -1, syscall.Geteuid()))
	if _, err := newSchema(t).Load(config.Sources{File: path, Named: true}); err != nil {
		t.Errorf("the user's own group: %v", err)
	}
	if syscall.Geteuid() != 0 {
		return
	}
	must(t, syscall.Chown(path, 4711, 4711))
	_, err = newSchema(t).Load(config.Sources{File: path, Named: true})
	if err == nil || !strings.Contains(err.Error(), "belongs to another user") {
		t.Errorf("another user's file: %v", err)
	}
}
