package workspace

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSearchShowsPathLineAndText(t *testing.T) {
	f := testFolder(t, map[string]string{
		"a.go": "package a\n\nfunc A() {}\n", "b/b.go": "package b\n// A is not here\nfunc B() {}\nfunc BB() {}\n",
		"c.txt": "func C\r\n", "bin": "func\x00", ".gitignore": "skipped\n", "skipped": "func S\n",
	})
	for _, tt := range []struct {
		in   searchInput
		want string
	}{
		{searchInput{Pattern: `^func \w+`},
			"a.go:3: func A() {}\nb/b.go:3: func B() {}\nb/b.go:4: func BB() {}\nc.txt:1: func C\n" +
				"[4 matching lines in 3 files; 1 binary file skipped; 1 ignored; all=true shows them]\n"},
		{searchInput{Pattern: "FUNC B", IgnoreCase: true, Name: "*.go"},
			"b/b.go:3: func B() {}\nb/b.go:4: func BB() {}\n[2 matching lines in 1 file; 1 ignored; all=true shows them]\n"},
		{searchInput{Pattern: "A()", Literal: true, Name: "*.go"},
			"a.go:3: func A() {}\n[1 matching line in 1 file; 1 ignored; all=true shows them]\n"},
		{searchInput{Name: "*.go"}, "a.go\nb/b.go\n[2 files; 1 ignored; all=true shows them]\n"},
		{searchInput{Name: "*.go", Limit: 1}, "a.go\n[the first 1 match; there are more: narrow the pattern, name or path]\n"},
		{searchInput{Name: "*.go", Limit: 2}, "a.go\nb/b.go\n[2 files; 1 ignored; all=true shows them]\n"},
		{searchInput{Pattern: "func", Limit: 1},
			"a.go:3: func A() {}\n[the first 1 match; there are more: narrow the pattern, name or path]\n"},
		{searchInput{Pattern: "nowhere", Name: "*.go", All: true}, "[no match]\n"},
		{searchInput{Pattern: "func S", All: true}, "skipped:1: func S\n[1 matching line in 1 file; 1 binary file skipped]\n"},
	} {
		got, err := f.search(t.Context(), ".", tt.in)
		must(t, err)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("search(%+v): -want +got\n%s", tt.in, diff)
		}
	}
	got, err := f.search(t.Context(), "b/b.go", searchInput{Pattern: "package"})
	must(t, err)
	wantText(t, got, "b/b.go:1: package b\n")
	for _, tt := range []struct {
		in   searchInput
		part string
	}{
		{searchInput{}, "give a pattern"},
		{searchInput{Pattern: "("}, "literal=true"},
		{searchInput{Name: "["}, "glob"},
		{searchInput{Pattern: "a", Limit: -1}, "negative"},
	} {
		_, err := f.search(t.Context(), ".", tt.in)
		wantError(t, err, tt.part)
	}
	_, err = f.search(t.Context(), "nowhere", searchInput{Pattern: "a"})
	wantError(t, err, "does not exist")
}

func TestSearchContextShowsEachLineOnce(t *testing.T) {
	f := testFolder(t, map[string]string{"a": "1\n2\nhit\n4\nhit\n6\n7\n8\n9\nhit\n", "b": "hit\n"})
	got, err := f.search(t.Context(), ".", searchInput{Pattern: "hit", Context: 1})
	must(t, err)
	want := "a-2- 2\na:3: hit\na-4- 4\na:5: hit\na-6- 6\n--\na-9- 9\na:10: hit\n--\nb:1: hit\n[4 matching lines in 2 files]\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestSearchBoundsLinesFilesAndAnswer(t *testing.T) {
	long := strings.Repeat("x", 5000) + "needle" + strings.Repeat("y", 5000)
	f := testFolderWith(t, limits{output: 600, fileSize: 200_000}, map[string]string{
		"long": long, "deep": strings.Repeat("z", 70_000) + "needle\n", "large": strings.Repeat("needle\n", 30_000),
	})
	got, err := f.search(t.Context(), ".", searchInput{Pattern: "needle"})
	must(t, err)
	wantText(t, got, "long:1: ...xxx", "needle", "yyy...\n", "1 file larger than 200000 bytes skipped", "1 long line searched up to byte 65536 only")
	if len(got) > 800 {
		t.Errorf("%d bytes", len(got))
	}
	f.limits.fileSize = 1 << 20
	got, err = f.search(t.Context(), "large", searchInput{Pattern: "needle"})
	must(t, err)
	wantText(t, got, "there are more")
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("turned away")
	cancel(cause)
	if _, err := f.search(ctx, "large", searchInput{Pattern: "nowhere"}); !errors.Is(err, cause) {
		t.Errorf("cancelled: %v", err)
	}
}
