package cli

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"
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
// nothing is lost. Random text in place of a fuzz target: this package's
// dependencies take minutes to instrument.
func TestWrap_ArgumentsStayBehindTheGutter(t *testing.T) {
	stay := func(value string, columns int) {
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
	}
	stay("echo hello answer> y", 40)
	stay(strings.Repeat("x y ", 100), 20)
	stay("漢字 e\u0301 \u200b", 12)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	letters := []rune("ab  │>answer漢é\u0301\u200b\t\x00/-")
	for range 5000 {
		value := make([]rune, random.IntN(200))
		for i := range value {
			value[i] = letters[random.IntN(len(letters))]
		}
		stay(string(value), random.IntN(200)-5)
	}
}
