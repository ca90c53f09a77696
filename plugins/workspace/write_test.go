package workspace

import (
	"context"
	"errors"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWriteCreatesAndReplaces(t *testing.T) {
	f := testFolder(t, map[string]string{"old": "a\nb\n", "crlf": "a\r\nb\r\n", "mixed": "a\r\nb\n", "bom": bom + "x\r\n", "dir/": ""})
	for _, tt := range []struct{ name, content, want, says string }{
		{"new/deep/file", "x\n", "x\n", "created new/deep/file: 1 line"},
		{"old", "c", "c", "wrote old: 1 line, was 2 lines"},
		{"crlf", "x\ny\n", "x\r\ny\r\n", "CRLF line breaks kept"},
		{"mixed", "x\ny\n", "x\ny\n", "wrote mixed"},
		{"bom", "y\n", bom + "y\r\n", "byte order mark kept"},
		{"empty", "", "", "created empty: 0 lines"},
	} {
		says, err := f.write(t.Context(), tt.name, writeInput{Content: tt.content})
		must(t, err)
		wantText(t, says, tt.says)
		if diff := cmp.Diff(tt.want, f.content(t, tt.name)); diff != "" {
			t.Errorf("%s: -want +got\n%s", tt.name, diff)
		}
	}
	for name, part := range map[string]string{"dir": "is a folder", "old/x": "old", "a\u200bb": "invisible character"} {
		_, err := f.write(t.Context(), name, writeInput{Content: "x"})
		wantError(t, err, part)
	}
	_, err := f.write(t.Context(), "old", writeInput{Content: "x", Create: true})
	wantError(t, err, "exists already")
	assertNoTemp(t, f)
}

func assertNoTemp(t *testing.T, f *folder) {
	t.Helper()
	text, err := f.list(t.Context(), ".", listInput{Pattern: ".agentd-*", All: true})
	must(t, err)
	wantText(t, text, "no file matches")
}

func TestWriteKeepsTheModeAndRefusesReadOnlyFiles(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows knows no such modes")
	}
	f := testFolder(t, map[string]string{"script": "#!/bin/sh\n", "locked": "x"})
	must(t, os.Chmod(f.abs("script"), 0o777)) // beyond the umask
	must(t, os.Chmod(f.abs("locked"), 0o444))
	_, err := f.write(t.Context(), "script", writeInput{Content: "#!/bin/sh\necho\n"})
	must(t, err)
	info, err := os.Stat(f.abs("script"))
	must(t, err)
	if info.Mode().Perm() != 0o777 {
		t.Errorf("mode = %v", info.Mode())
	}
	_, err = f.write(t.Context(), "locked", writeInput{Content: "y"})
	wantError(t, err, "read-only")
	_, err = f.edit(t.Context(), "locked", editInput{OldText: "x", NewText: "y"})
	wantError(t, err, "read-only")
	assertNoTemp(t, f)
}

func TestWriteNoticesAnotherWriter(t *testing.T) {
	f := testFolder(t, map[string]string{"a": "1"})
	was, err := os.Lstat(f.abs("a"))
	must(t, err)
	must(t, os.WriteFile(f.abs("a"), []byte("longer"), 0o644))
	wantError(t, f.replace("a", []byte("2"), was), "changed by somebody else")
	wantError(t, f.replace("a", []byte("2"), nil), "created by somebody else")
	if got := f.content(t, "a"); got != "longer" {
		t.Errorf("a = %q", got)
	}
	assertNoTemp(t, f)
}

func TestWriteBoundsAndCancel(t *testing.T) {
	f := testFolderWith(t, limits{fileSize: 4}, map[string]string{"big": "12345"})
	_, err := f.write(t.Context(), "x", writeInput{Content: "12345"})
	wantError(t, err, "maxFileSize")
	_, err = f.edit(t.Context(), "big", editInput{OldText: "1", NewText: "2"})
	wantError(t, err, "maxFileSize")
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("turned away")
	cancel(cause)
	if _, err := f.write(ctx, "x", writeInput{Content: "1"}); !errors.Is(err, cause) {
		t.Errorf("cancelled: %v", err)
	}
}

// Readers beside a writer see one content or the other, never a part.
func TestWriteIsAtomicForReaders(t *testing.T) {
	a, b := strings.Repeat("a", 50_000), strings.Repeat("b", 70_000)
	f := testFolder(t, map[string]string{"x": a})
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			if got := f.content(t, "x"); got != a && got != b {
				t.Errorf("a part of a file: %d bytes", len(got))
				return
			}
		}
	})
	for i := range 40 {
		_, err := f.write(t.Context(), "x", writeInput{Content: []string{b, a}[i%2]})
		must(t, err)
	}
	close(done)
	wg.Wait()
}
