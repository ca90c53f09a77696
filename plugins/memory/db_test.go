package memory

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestE27_TheFileIsItsOwnersAlone(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "agentd.db")
	s, err := open(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	fill(t, s, "a", "one")
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && path != dir && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return err
	})
	if err := errors.Join(err, s.close()); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(file, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := open(t.Context(), file); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("got %v", err)
	}
}

func TestFilesOfOtherVersionsAndBrokenOnesAreLeftAlone(t *testing.T) {
	file := filepath.Join(t.TempDir(), "agentd.db")
	s, err := open(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.db.write.Exec("PRAGMA user_version = 99"); err != nil {
		t.Fatal(err)
	}
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
	if _, err := open(t.Context(), file); err == nil || !strings.Contains(err.Error(), "use a newer agentd") {
		t.Errorf("got %v", err)
	}
	broken := filepath.Join(t.TempDir(), "agentd.db")
	if err := os.WriteFile(broken, bytes.Repeat([]byte("no database "), 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := open(t.Context(), broken); err == nil || !strings.Contains(err.Error(), "agentd.db") {
		t.Errorf("got %v", err)
	}
}

func TestMigrationsRunInOrderFromAnyVersion(t *testing.T) {
	saved := migrations
	defer func() { migrations = saved }()
	file := filepath.Join(t.TempDir(), "agentd.db")
	s, err := open(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	fill(t, s, "a", "one")
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
	migrations = append(slices.Clone(saved), "ALTER TABLE sessions ADD COLUMN colour TEXT", "UPDATE sessions SET colour = 'red'")
	s = openStore(t, file)
	var colour string
	if err := s.db.read.QueryRow("SELECT colour FROM sessions").Scan(&colour); err != nil || colour != "red" {
		t.Errorf("%q %v", colour, err)
	}
	migrations = append(migrations, "ALTER TABLE nonsense")
	if _, err := open(t.Context(), file); err == nil || !strings.Contains(err.Error(), "migration to version 4") {
		t.Errorf("got %v", err)
	}
	var version int
	if err := s.db.read.QueryRow("PRAGMA user_version").Scan(&version); err != nil || version != 3 {
		t.Errorf("version %d, %v", version, err)
	}
}
