package workspace

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEditReplacesExactText(t *testing.T) {
	for _, tt := range []struct {
		name, before string
		in           editInput
		after, says  string
	}{
		{"one word", "a b c\n", editInput{OldText: "b", NewText: "x"}, "a x c\n", "line 1, 1 line replaced by 1 line"},
		{"lines", "1\n2\n3\n4\n", editInput{OldText: "2\n3\n", NewText: "two\n"}, "1\ntwo\n4\n", "line 2, 2 lines replaced by 1 line"},
		{"removal", "1\n2\n", editInput{OldText: "2\n", NewText: ""}, "1\n", "1 line replaced by 0 lines"},
		{"all", "x y x\nx\n", editInput{OldText: "x", NewText: "z", All: true}, "z y z\nz\n", "3 occurrences replaced (lines 1, 1, 2)"},
		{"new holds old", "x", editInput{OldText: "x", NewText: "xx", All: true}, "xx", "line 1"},
		{"CRLF", "a\r\nb\r\nc\r\n", editInput{OldText: "a\nb\n", NewText: "x\ny\nz\n"}, "x\r\ny\r\nz\r\nc\r\n", "2 lines replaced by 3"},
		{"mixed breaks stay", "a\r\nb\nc\n", editInput{OldText: "b\n", NewText: "x\n"}, "a\r\nx\nc\n", "line 2"},
		{"byte order mark stays", bom + "a\n", editInput{OldText: "a", NewText: "b"}, bom + "b\n", "line 1"},
		{"other bytes stay", "caf\xe9 a\n", editInput{OldText: "a\n", NewText: "b\n"}, "caf\xe9 b\n", "line 1"},
		{"no regular expression", "a.b aXb", editInput{OldText: "a.b", NewText: "$1"}, "$1 aXb", "line 1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := testFolder(t, map[string]string{"x": tt.before})
			says, err := f.edit(t.Context(), "x", tt.in)
			must(t, err)
			wantText(t, says, "edited x: ", tt.says)
			if diff := cmp.Diff(tt.after, f.content(t, "x")); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func TestEditSaysWhyItCannot(t *testing.T) {
	source := "package a\n\nfunc Alpha(x int) error {\n\treturn nil\n}\n\nfunc Beta() {}\n"
	for _, tt := range []struct {
		name, before string
		in           editInput
		says         []string
	}{
		{"nothing", source, editInput{}, []string{"old_text is empty"}},
		{"no change", source, editInput{OldText: "a", NewText: "a"}, []string{"are the same"}},
		{"several", source, editInput{OldText: "func", NewText: "x"}, []string{"occurs 2 times (lines 3, 7)", "replace_all"}},
		{"white space", source, editInput{OldText: "    return nil\n", NewText: ""}, []string{"line 4 differs in white space only", `"\treturn nil"`}},
		{"white space over lines", source, editInput{OldText: "func Alpha(x  int) error {\n  return nil\n}", NewText: ""}, []string{"line 3 differs in white space only"}},
		{"nearest", source, editInput{OldText: "func Alpha(y int) error {", NewText: ""}, []string{"nearest is line 3", "func Alpha(x int) error {"}},
		{"goes on otherwise", source, editInput{OldText: "func Alpha(x int) error {\n\treturn err\n}", NewText: ""}, []string{"begins like line 3", `"\treturn nil"`}},
		{"nothing near", source, editInput{OldText: "zzzzqqqq", NewText: ""}, []string{"read the file again"}},
		{"many", strings.Repeat("x\n", 20), editInput{OldText: "x", NewText: "y"}, []string{"20 times (lines 1, 2, 3, 4, 5, 6, 7, 8, ...)"}},
		{"binary", "a\x00b", editInput{OldText: "a", NewText: "c"}, []string{"not plain text"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := testFolder(t, map[string]string{"x": tt.before})
			_, err := f.edit(t.Context(), "x", tt.in)
			wantError(t, err, append(tt.says, "x")...)
			if got := f.content(t, "x"); got != tt.before {
				t.Errorf("the file was changed to %q", got)
			}
		})
	}
	f := testFolder(t, nil)
	_, err := f.edit(t.Context(), "none", editInput{OldText: "a", NewText: "b"})
	wantError(t, err, "does not exist")
}

// Edits at once all take effect: none overwrites what another one did.
func TestEditsTakeTurns(t *testing.T) {
	const n = 100
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "<%d>\n", i)
	}
	f := testFolder(t, map[string]string{"x": text.String()})
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			<-start
			in := editInput{OldText: fmt.Sprintf("<%d>", i), NewText: fmt.Sprintf("(%d)", i)}
			if _, err := f.edit(t.Context(), "x", in); err != nil {
				t.Error(err)
			}
		})
	}
	close(start)
	wg.Wait()
	if got := f.content(t, "x"); strings.ContainsAny(got, "<>") {
		t.Errorf("an edit was lost: %q", got)
	}
}

func FuzzEdit(f *testing.F) {
	f.Add("a\r\nb\r\n", "a\nb", "c\nd", false)
	f.Add("xxx", "xx", "x", true)
	f.Add("  a\n\tb", "a\nb", "", false)
	f.Fuzz(func(t *testing.T, text, old, new string, all bool) {
		e, err := newEdit(text, editInput{OldText: old, NewText: new, All: all})
		if err != nil {
			return
		}
		if n := strings.Count(text, e.old); n != len(e.lines) || n > 1 && !all {
			t.Fatalf("%d occurrences, %d replaced", n, len(e.lines))
		}
		if usesCRLF([]byte(text)) && !strings.Contains(old, "\r") && strings.Count(toLF(text), old) < 1 {
			t.Fatal("a match that the reader of the file could not see")
		}
	})
}
