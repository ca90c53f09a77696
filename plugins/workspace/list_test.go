package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestListIsSortedBoundedAndSaysWhatItLeftOut(t *testing.T) {
	f := testFolder(t, map[string]string{
		"b.go": "", "a/x.go": "", "a/deep/y.go": "", "a/z.txt": "", "c.txt": "", ".hidden": "",
		".gitignore": "*.log\n/build/\n", "x.log": "", "build/out.go": "", ".git/HEAD": "", "empty/": "",
	})
	for _, tt := range []struct {
		start string
		in    listInput
		want  string
	}{
		{".", listInput{}, ".gitignore\n.hidden\na/\nb.go\nc.txt\nempty/\n[3 ignored; all=true shows them]\n"},
		{".", listInput{All: true}, ".git/\n.gitignore\n.hidden\na/\nb.go\nbuild/\nc.txt\nempty/\nx.log\n"},
		{"a", listInput{}, "a/deep/\na/x.go\na/z.txt\n"},
		{"a", listInput{Depth: 2}, "a/deep/\na/deep/y.go\na/x.go\na/z.txt\n"},
		{".", listInput{Pattern: "*.go"}, "a/deep/y.go\na/x.go\nb.go\n[3 ignored; all=true shows them]\n"},
		{".", listInput{Pattern: "a/*.{go,txt}"}, "a/x.go\na/z.txt\n[3 ignored; all=true shows them]\n"},
		{"a", listInput{Pattern: "**/y.go"}, "a/deep/y.go\n"},
		{"a", listInput{Pattern: "*.py"}, "[no file matches]\n"},
		{"empty", listInput{}, "[empty is empty]\n"},
		{"build", listInput{}, "build/out.go\n"}, // named, so it is meant
		{"a", listInput{Depth: 2, Limit: 2}, "a/deep/\na/deep/y.go\n[entries 1-2 of 4; go on with offset=3]\n"},
		{"a", listInput{Depth: 2, Offset: 3}, "a/x.go\na/z.txt\n[entries 3-4 of 4, the end]\n"},
	} {
		got, err := f.list(t.Context(), tt.start, tt.in)
		must(t, err)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("list(%s, %+v): -want +got\n%s", tt.start, tt.in, diff)
		}
	}
	_, err := f.list(t.Context(), "a", listInput{Offset: 9})
	wantError(t, err, "offset 9 is past the end")
	_, err = f.list(t.Context(), "b.go", listInput{})
	wantError(t, err, "b.go is a file")
	_, err = f.list(t.Context(), "nowhere", listInput{})
	wantError(t, err, "does not exist")
	_, err = f.list(t.Context(), ".", listInput{Pattern: "{a"})
	wantError(t, err, `glob "{a"`)
}

func TestListShowsLinksWithoutFollowingThem(t *testing.T) {
	f := linked(t)
	got, err := f.list(t.Context(), ".", listInput{Depth: 5})
	must(t, err)
	wantText(t, got, "in -> docs\n", "out -> ../secret\n", "loop -> loop2\n")
	if strings.Contains(got, "in/") || strings.Contains(got, "secret/key\n") && strings.Contains(got, "out/") {
		t.Errorf("a link was followed:\n%s", got)
	}
}

func TestListStopsAtItsBounds(t *testing.T) {
	files := map[string]string{}
	for i := range 30 {
		files[fmt.Sprintf("d%02d/f", i)] = ""
	}
	f := testFolderWith(t, limits{walked: 10, output: 20}, files)
	got, err := f.list(t.Context(), ".", listInput{Depth: 2})
	must(t, err)
	wantText(t, got, "d00/\nd00/f\n", "stopped after 10 files and folders")
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("turned away")
	cancel(cause)
	if _, err := f.list(ctx, ".", listInput{}); !errors.Is(err, cause) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestListNamesThatHideAreEscaped(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("such names do not exist on Windows")
	}
	f := testFolder(t, map[string]string{"a\nb": "", "a\u202eb": "", "\x1b[31m": ""})
	got, err := f.list(t.Context(), ".", listInput{})
	must(t, err)
	want := `"\x1b[31m"` + "\n" + `"a\nb"` + "\n" + `"a\u202eb"` + "\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestListSaysWhatItMayNotRead(t *testing.T) {
	if os.Getuid() <= 0 {
		t.Skip("everything may be read by root")
	}
	f := testFolder(t, map[string]string{"a/x": "", "b": ""})
	must(t, os.Chmod(f.abs("a"), 0))
	t.Cleanup(func() { os.Chmod(f.abs("a"), 0o755) })
	got, err := f.list(t.Context(), ".", listInput{Depth: 2})
	must(t, err)
	wantText(t, got, "a/\nb\n[1 folder could not be read]")
}
