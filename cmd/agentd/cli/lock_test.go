package cli

import (
	"path/filepath"
	"testing"
)

func TestLockFile_OneHolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first, err := lockFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if second, err := lockFile(path); err == nil {
		second.Close()
		t.Fatal("two hold one lock")
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	third, err := lockFile(path)
	if err != nil {
		t.Fatalf("given up, and still held: %v", err)
	}
	third.Close()
}
