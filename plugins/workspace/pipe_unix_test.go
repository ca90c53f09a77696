//go:build unix

package workspace

import (
	"strings"
	"syscall"
	"testing"
)

func TestReadDoesNotWaitAtAPipe(t *testing.T) {
	f := testFolder(t, nil)
	must(t, syscall.Mkfifo(f.abs("pipe"), 0o600))
	_, err := f.read(t.Context(), "pipe", readInput{})
	wantError(t, err, "named pipe")
	_, err = f.write(t.Context(), "pipe", writeInput{Content: "x"})
	wantError(t, err, "named pipe")
	got, err := f.search(t.Context(), ".", searchInput{Pattern: "x"})
	must(t, err)
	if !strings.Contains(got, "no match") {
		t.Errorf("search = %q", got)
	}
	_, err = f.list(t.Context(), "pipe", listInput{})
	wantError(t, err, "is a file")
}
