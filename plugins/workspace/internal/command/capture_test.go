package command

import (
	"strings"
	"testing"
)

func TestCaptureKeepsBothEnds(t *testing.T) {
	c := newCapture(10)
	for _, s := range []string{"abc", "def", "ghi", "jkl", "mno"} {
		c.Write([]byte(s))
	}
	if got := c.text(); !strings.HasPrefix(got, "abcde\n[... 5 bytes left out;") || !strings.HasSuffix(got, "...]\nklmno") {
		t.Errorf("got %q", got)
	}
	c = newCapture(10)
	c.Write([]byte("0123456789"))
	if got := c.text(); got != "0123456789" {
		t.Errorf("a whole output became %q", got)
	}
}

// However it is written, a capture keeps the first and the last bytes.
func FuzzCapture(f *testing.F) {
	f.Add(7, 3, "the quick brown fox")
	f.Fuzz(func(t *testing.T, size, piece int, text string) {
		size, piece = 2+max(0, size%50), 1+max(0, piece%9)
		c := newCapture(size)
		for rest := text; rest != ""; {
			n := min(piece, len(rest))
			c.Write([]byte(rest[:n]))
			rest = rest[n:]
		}
		head, tail := string(c.head), string(c.tail[c.at:])+string(c.tail[:c.at])
		if !strings.HasPrefix(text, head) || !strings.HasSuffix(text, tail) || len(head)+len(tail) != min(size, len(text)) {
			t.Fatalf("kept %q and %q of %q", head, tail, text)
		}
	})
}
