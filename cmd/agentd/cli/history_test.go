package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

func TestHistory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history")
	h := openHistory(path)
	for _, line := range []string{"one", "", "two", "two", "with \"quotes\" and ü"} {
		h.Add(line)
	}
	h.pause()
	h.Add("y")
	h.resume()
	again := openHistory(path)
	if again.Len() != 3 || again.At(0) != "with \"quotes\" and ü" || again.At(2) != "one" {
		t.Errorf("kept %q", again.lines)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}

func TestHistory_IsBoundedAndSurvivesDamage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history")
	h := openHistory(path)
	for i := range 2*maxHistory + 10 {
		h.Add(fmt.Sprint("line ", i))
	}
	if h = openHistory(path); h.Len() != maxHistory || h.At(0) != fmt.Sprint("line ", 2*maxHistory+9) {
		t.Errorf("%d lines, the last %q", h.Len(), h.At(0))
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(f, "no JSON at all")
	fmt.Fprintln(f, `"the next"`)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if h = openHistory(path); h.At(0) != "the next" {
		t.Errorf("the last is %q", h.At(0))
	}
	// A folder that cannot be written keeps nothing and breaks nothing.
	h = openHistory(filepath.Join(t.TempDir(), "no", "such", "folder"))
	h.Add("one")
	if h.Len() != 1 {
		t.Errorf("%d lines", h.Len())
	}
}
