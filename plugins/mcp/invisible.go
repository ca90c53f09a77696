package mcp

import (
	"fmt"
	"strings"
	"unicode"
)

// hidden reports whether a rune can't be seen in a text but may be read by a
// model: controls, zero-width and bidirectional marks, tag characters,
// variation selectors beyond the usual ones.
func hidden(r rune) bool {
	switch {
	case r == '\n', r == '\t', r == '\r', r == '\uFE0E', r == '\uFE0F':
		return false
	case r >= 0xE0000 && r <= 0xE0FFF, r == '\u115F', r == '\u1160', r == '\u3164', r == '\uFFA0', r == '\u2800':
		return true
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co)
}

// countHidden counts the hidden characters of a text. Those that join emoji
// are counted too: a description has no need of them.
func countHidden(s string) int {
	n := 0
	for _, r := range s {
		if hidden(r) {
			n++
		}
	}
	return n
}

// visible writes hidden characters as their code, so that a model and a person
// read the same text.
func visible(s string) string {
	if countHidden(s) == 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if hidden(r) {
			fmt.Fprintf(&b, "<U+%04X>", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}
