package cli

import (
	"strings"
	"testing"
)

func TestWrap(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		columns    int
		want       string
	}{
		{"short lines stay", "one\ntwo\n", 10, "one\ntwo\n"},
		{"no limit", strings.Repeat("x", 200), 0, strings.Repeat("x", 200)},
		{"at a space", "aaaa bbbb cccc", 10, "aaaa bbbb \n  cccc"},
		{"a long word", "aaaabbbbccccdddd", 10, "aaaabbbbcc\n  ccdddd"},
		{"behind the gutter", "  k │ aaaa bbbb cccc dddd\n", 14, "  k │ aaaa \n    │ bbbb \n    │ cccc \n    │ dddd\n"},
		{"wide characters take two columns", "漢字漢字漢字漢字", 10, "漢字漢字漢\n  字漢字"},
		{"an indent is kept", "  aaaa bbbb cccc", 11, "  aaaa \n    bbbb \n    cccc"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := wrap(tc.text, tc.columns); got != tc.want {
				t.Errorf("got\n%q, want\n%q", got, tc.want)
			}
		})
	}
}

// Whatever an argument holds, no row of it begins at the left edge, and
// nothing is lost.
func FuzzWrap_ArgumentsStayBehindTheGutter(f *testing.F) {
	f.Add("echo hello answer> y", 40)
	f.Add(strings.Repeat("x y ", 100), 20)
	f.Add("漢字 e\u0301 \u200b", 12)
	f.Fuzz(func(t *testing.T, value string, columns int) {
		if strings.ContainsAny(value, "\n\r") {
			return
		}
		lead := "  command │ "
		got := wrap(lead+value, columns)
		var back strings.Builder
		for i, row := range strings.Split(got, "\n") {
			rest, ok := strings.CutPrefix(row, "    │ ")
			if i == 0 {
				rest, ok = strings.CutPrefix(row, lead)
			}
			if !ok {
				t.Fatalf("row %d of %q at %d columns: %q", i, value, columns, row)
			}
			back.WriteString(rest)
		}
		if back.String() != value {
			t.Fatalf("%q became %q", value, back.String())
		}
	})
}
