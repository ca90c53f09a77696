//go:build unix

package statefile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/agentd-host/agentd/internal/statefile"
	"golang.org/x/sys/unix"
)

// locked reports whether somebody holds the lock of the file at path.
func locked(t *testing.T, path string) bool {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	return errors.Is(unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB), unix.EWOULDBLOCK)
}

func TestALockIsOfTheFileThatBearsTheName(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	lock := statefile.NewLock(path)
	for _, change := range []func() error{
		func() error { return nil },
		func() error { return os.Remove(path) },
		func() error { return statefile.Write(path, nil) },
		lock.Close,
	} {
		for range 2 {
			if err := lock.Lock(); err != nil {
				t.Fatal(err)
			}
			if !locked(t, path) {
				t.Error("the file is not locked")
			}
			lock.Unlock()
			if locked(t, path) {
				t.Error("the file stays locked")
			}
		}
		if err := change(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestALockWithoutAFolderIsAnError(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "dir")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	lock := statefile.NewLock(filepath.Join(dir, "lock"))
	if err := lock.Lock(); err != nil {
		t.Fatal(err)
	}
	lock.Unlock()
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := lock.Lock(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	lock.Unlock() // of what is not held: nothing
}
