package statefile_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/agentd-host/agentd/internal/statefile"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestE27_FilesAreWrittenPrivatelyAndWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "file.json")
	if data, err := statefile.Read(path); data != nil || err != nil {
		t.Fatalf("missing file: got %q, %v", data, err)
	}
	for _, text := range []string{"one", "two"} {
		if err := statefile.Write(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if data, err := statefile.Read(path); string(data) != text || err != nil {
			t.Fatalf("got %q, %v, want %q", data, err, text)
		}
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("got mode %v, want 0600", info.Mode())
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("got %v, %v beside the file, want nothing", entries, err)
	}
}

func TestE27_AFileThatOthersMayWriteIsRefused(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no mode bits")
	}
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for mode, safe := range map[fs.FileMode]bool{0o600: true, 0o644: true, 0o660: false, 0o602: false} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		_, err := statefile.Read(path)
		if safe != (err == nil) || !safe && !errors.Is(err, statefile.ErrUnsafe) {
			t.Errorf("mode %04o: got %v", mode, err)
		}
	}
	if _, err := statefile.Read(t.TempDir()); err == nil {
		t.Error("a folder was read")
	}
}

func TestUpdateLosesNoChange(t *testing.T) {
	path := filepath.Join(t.TempDir(), "n")
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			err := statefile.Update(path, func(old []byte) ([]byte, error) {
				n, _ := strconv.Atoi(string(old))
				return []byte(strconv.Itoa(n + 1)), nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if data, err := statefile.Read(path); !bytes.Equal(data, []byte("20")) {
		t.Errorf("got %q, %v, want 20", data, err)
	}
}

func TestAFailedUpdateChangesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "n")
	if err := statefile.Write(path, []byte("old")); err != nil {
		t.Fatal(err)
	}
	wrong := errors.New("wrong")
	err := statefile.Update(path, func([]byte) ([]byte, error) { return []byte("new"), wrong })
	if !errors.Is(err, wrong) {
		t.Errorf("got %v", err)
	}
	if data, _ := statefile.Read(path); string(data) != "old" {
		t.Errorf("got %q", data)
	}
}

func TestDecodeTakesOnlyWhatItKnows(t *testing.T) {
	for text, want := range map[string]string{
		``: "", "\n": "", `{}`: "", `{"version":1,"name":"x"}`: "",
		`{"version":2,"name":"x"}`: "version 2 is newer than this program",
		`{"other":1}`:              `json: unknown field "other"`,
		`{"name":`:                 "unexpected EOF",
	} {
		v := struct {
			Version int    `json:"version"`
			Name    string `json:"name"`
		}{Version: 1}
		got := ""
		if err := statefile.Decode([]byte(text), &v); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// Who rewrites a file in place and sets its time back does not go unnoticed.
func TestStampSeesWhatWasDoneInPlace(t *testing.T) {
	if runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
		t.Skip("the system does not tell")
	}
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte("one"), 0o600); err != nil {
		t.Fatal(err)
	}
	before := statefile.StampOf(path)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	for range 5000 { // the system's clock may be coarse
		if err := errors.Join(os.WriteFile(path, []byte("two"), 0o600), os.Chtimes(path, time.Time{}, info.ModTime())); err != nil {
			t.Fatal(err)
		}
		if !statefile.StampOf(path).Same(before) {
			return
		}
	}
	t.Error("the file counts as the same")
}
