package workspace

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func numbered(n int) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	return b.String()
}

func TestReadShowsAPageAndSaysHowToGoOn(t *testing.T) {
	f := testFolderWith(t, limits{lines: 5, output: 100}, map[string]string{
		"ten": numbered(10), "three": numbered(3), "open": "a\nb", "empty": "", "crlf": "a\r\nb\r\n",
		"bom": bom + "x\n", "latin": "caf\xe9\n", "long": strings.Repeat("x", 250) + "\nend\n",
		"wide": strings.Repeat("é", 60) + "\n", "blank": "\n\n",
	})
	for _, tt := range []struct {
		name string
		in   readInput
		want string
	}{
		{"three", readInput{}, numbered(3)},
		{"open", readInput{}, "a\nb\n"},
		{"blank", readInput{}, "\n\n"},
		{"empty", readInput{}, "[empty is empty]"},
		{"ten", readInput{}, "line 1\nline 2\nline 3\nline 4\nline 5\n[lines 1-5 of 10; read on with offset=6]\n"},
		{"ten", readInput{Offset: 6}, "line 6\nline 7\nline 8\nline 9\nline 10\n[lines 6-10 of 10, the end]\n"},
		{"ten", readInput{Offset: 3, Limit: 1}, "line 3\n[lines 3-3 of 10; read on with offset=4]\n"},
		{"ten", readInput{Offset: -2}, "line 9\nline 10\n[lines 9-10 of 10, the end]\n"},
		{"three", readInput{Offset: -20}, numbered(3)},
		{"three", readInput{Numbers: true, Limit: 2}, "     1\tline 1\n     2\tline 2\n[lines 1-2 of 3; read on with offset=3]\n"},
		{"crlf", readInput{}, "a\nb\n"},
		{"bom", readInput{}, "x\n"},
		{"latin", readInput{}, "caf\uFFFD\n[bytes that are not UTF-8 are shown as \uFFFD]\n"},
		{"long", readInput{}, strings.Repeat("x", 100) + "\n[line 1 of 2, bytes 1-100 of 250; read on with offset=1 column=101]\n"},
		{"long", readInput{Column: 201}, strings.Repeat("x", 50) + "\nend\n[from byte 201 of line 1 on]\n"},
		{"wide", readInput{}, strings.Repeat("é", 50) + "\n[line 1 of 1, bytes 1-100 of 120; read on with offset=1 column=101]\n"},
	} {
		got, err := f.read(t.Context(), tt.name, tt.in)
		if err != nil {
			t.Errorf("read(%s, %+v): %v", tt.name, tt.in, err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("read(%s, %+v): -want +got\n%s", tt.name, tt.in, diff)
		}
	}
	_, err := f.read(t.Context(), "three", readInput{Offset: 9})
	wantError(t, err, "offset 9 is past the end", "3 lines")
}

// Reading page after page, as the notes say, shows every byte of a file once.
func TestReadPagesCoverTheFile(t *testing.T) {
	var b strings.Builder
	for i := range 200 {
		b.WriteString(strings.Repeat(string(rune('a'+i%26)), i*7%260) + "\n")
	}
	f := testFolderWith(t, limits{lines: 9, output: 120}, map[string]string{"x": b.String()})
	var got strings.Builder
	for in, calls := (readInput{}), 0; ; calls++ {
		if calls > 2000 {
			t.Fatal("the pages do not end")
		}
		text, err := f.read(t.Context(), "x", in)
		must(t, err)
		at := strings.LastIndex(text, "[")
		body, note := text[:at], text[at:]
		var offset, column int
		if _, err := fmt.Sscanf(after(note, "read on with "), "offset=%d column=%d", &offset, &column); err == nil {
			got.WriteString(strings.TrimSuffix(body, "\n"))
			in = readInput{Offset: offset, Column: column}
			continue
		}
		got.WriteString(body)
		if _, err := fmt.Sscanf(after(note, "read on with "), "offset=%d", &offset); err != nil {
			break
		}
		in = readInput{Offset: offset}
	}
	if diff := cmp.Diff(b.String(), got.String()); diff != "" {
		t.Error(diff)
	}
}

func TestReadDoesNotCountForever(t *testing.T) {
	p := newPage(readInput{Limit: 2}, limits{lines: 10, output: 1000})
	p.counting = 30
	must(t, p.fill(t.Context(), strings.NewReader(numbered(100))))
	got, err := p.answer("x")
	must(t, err)
	if want := "line 1\nline 2\n[lines 1-2 of at least 7; read on with offset=3]\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func after(s, mark string) string {
	_, rest, _ := strings.Cut(s, mark)
	return rest
}

func TestReadRefusesWhatIsNoText(t *testing.T) {
	f := testFolder(t, map[string]string{
		"png": "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "utf16": "\xff\xfea\x00", "dir/": "", "text": "x",
	})
	for name, parts := range map[string][]string{
		"png":    {"image/png", "16 bytes", "text only"},
		"utf16":  {"UTF-16"},
		"dir":    {"is a folder", "list_files"},
		"none":   {"does not exist"},
		"text/x": {"text/x"},
	} {
		_, err := f.read(t.Context(), name, readInput{})
		wantError(t, err, parts...)
	}
	_, err := f.read(t.Context(), "text", readInput{Limit: -1})
	wantError(t, err, "negative")
}

// A sparse file of many gigabytes is not read into memory, and a cancelled
// call stops reading it.
func TestReadOfAHugeFileCanBeCancelled(t *testing.T) {
	f := testFolder(t, map[string]string{"huge": numbered(3000)})
	must(t, os.Truncate(f.abs("huge"), 1<<20))
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(fmt.Errorf("turned away"))
	_, err := f.read(ctx, "huge", readInput{Offset: 2900})
	wantError(t, err, "turned away")
	got, err := f.read(t.Context(), "huge", readInput{Offset: 2999, Limit: 2})
	must(t, err)
	wantText(t, got, "line 2999\nline 3000\n[lines 2999-3000 of 3001; read on with offset=3001]")
}

func FuzzLineReader(f *testing.F) {
	f.Add("a\r\nb\n\nc", 3, 0)
	f.Add(strings.Repeat("x", 70000)+"\r\ny", 10, 69999)
	f.Add("\r\r\n\r", 1, 1)
	f.Add("\x00\n\x00", 1, 0)
	f.Fuzz(func(t *testing.T, text string, keep, skip int) {
		keep, skip = max(0, keep%1000), max(0, skip%100000)
		want := slices.Collect(strings.Lines(text))
		lines := newLineReader(strings.NewReader(text), keep)
		lines.skip = skip
		for i, line := range want {
			if ended, ok := strings.CutSuffix(line, "\n"); ok { // without a line break its CR stays
				line = strings.TrimSuffix(ended, "\r")
			}
			more, err := lines.next()
			if err != nil || !more {
				t.Fatalf("line %d: %v, %v", i+1, more, err)
			}
			from := min(skip, len(line))
			kept := line[from:min(len(line), from+keep)]
			if string(lines.line) != kept || lines.length != len(line) {
				t.Fatalf("line %d = %q of %d, want %q of %d", i+1, lines.line, lines.length, kept, len(line))
			}
		}
		if more, err := lines.next(); more || err != nil {
			t.Fatalf("after the end: %v, %v", more, err)
		}
	})
}
