package toolpolicy

import (
	"fmt"
	"strings"
	"unicode"
)

// Visible returns text in which every character can be seen for what it is:
// control, bidirectional, zero-width and other characters without a picture
// of their own become marks such as ⟨U+202E⟩, a tab becomes ⇥. Line breaks
// stay. The marks can't be forged: their own brackets are marked too.
func Visible(text string) string {
	clean := true
	for _, r := range text {
		if r != '\n' && hidden(r) {
			clean = false
			break
		}
	}
	if clean && strings.ToValidUTF8(text, "") == text {
		return text
	}
	var b strings.Builder
	for i, r := range text {
		switch {
		case r == '\n':
			b.WriteRune(r)
		case r == '\t':
			b.WriteRune('⇥')
		case r == unicode.ReplacementChar && !strings.HasPrefix(text[i:], "\uFFFD"):
			fmt.Fprintf(&b, "⟨byte %02X⟩", text[i])
		case hidden(r):
			fmt.Fprintf(&b, "⟨U+%04X⟩", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// VisibleLine is Visible for text that has to stay on one line: a line break
// becomes ⏎.
func VisibleLine(text string) string {
	return strings.ReplaceAll(Visible(strings.ReplaceAll(text, "⏎", "⟨U+23CE⟩")), "\n", "⏎")
}

// hidden reports whether a reader could miss r or take it for another.
func hidden(r rune) bool {
	switch r {
	case ' ':
		return false
	case '⟨', '⟩', '⇥':
		return true // our own marks
	case '\u115F', '\u1160', '\u3164', '\uFFA0', '\u2800', '\u034F', '\u17B4', '\u17B5':
		return true // letters and marks drawn as nothing
	}
	switch {
	case r >= 0xFE00 && r <= 0xFE0F, r >= 0xE0100 && r <= 0xE01EF, r >= 0x180B && r <= 0x180F:
		return true // variation selectors
	case unicode.Is(unicode.Zl, r), unicode.Is(unicode.Zp, r), unicode.Is(unicode.Zs, r):
		return true // spaces that are not the space
	}
	return !unicode.IsPrint(r)
}

// cut returns the beginning of text, at most runes characters and lines
// lines, and whether something was left out.
func cut(text string, runes, lines int) (string, bool) {
	n := 0
	for i, r := range text {
		if n == runes {
			return text[:i], true
		}
		n++
		if r == '\n' {
			if lines--; lines == 0 && i+1 < len(text) {
				return text[:i], true
			}
		}
	}
	return text, false
}
