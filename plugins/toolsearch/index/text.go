package index

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// split appends the words of text to dst: NFKC, lower case, cut at everything
// that is no letter or digit and at the humps of camelCase; a run of CJK
// becomes its overlapping pairs of characters. Most words are substrings of
// one lowered copy of the text.
func split(dst []string, text string) []string {
	text = normalize(text)
	return splitLowered(dst, text, lowerASCII(text))
}

// splitLowered is split for a normalized text and its lowered copy.
func splitLowered(dst []string, text, low string) []string {
	for i := 0; i < len(text); {
		c := class(text[i])
		switch {
		case c == other:
			i++
		case c != wide:
			dst, i = wordRun(dst, text, low, i)
		default:
			r, n := utf8.DecodeRuneInString(text[i:])
			switch {
			case isCJK(r):
				dst, i = cjkRun(dst, text, i)
			case wordRune(r):
				dst, i = wordRun(dst, text, low, i)
			default:
				i += n
			}
		}
	}
	return dst
}

const (
	other = iota
	lower
	upper
	digit
	wide // the first or a later byte of a rune beyond ASCII
)

func class(c byte) int {
	switch {
	case 'a' <= c && c <= 'z':
		return lower
	case 'A' <= c && c <= 'Z':
		return upper
	case '0' <= c && c <= '9':
		return digit
	case c >= utf8.RuneSelf:
		return wide
	}
	return other
}

func isCJK(r rune) bool {
	switch {
	case r < 0x3040:
		return false
	case r <= 0x30ff, 0x3400 <= r && r <= 0x4dbf, 0x4e00 <= r && r <= 0x9fff:
		return true
	}
	return 0xac00 <= r && r <= 0xd7af || 0xf900 <= r && r <= 0xfaff || 0x20000 <= r && r <= 0x3134f
}

// isHan tells the characters that a glossary of Chinese can hold.
func isHan(r rune) bool {
	return isCJK(r) && r >= 0x3400 && (r < 0xac00 || r > 0xd7af)
}

func wordRune(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.Mn, r)
}

// wordRun takes letters and digits from i on, up to a CJK character.
func wordRun(dst []string, text, low string, i int) ([]string, int) {
	j, ascii := i, true
	for j < len(text) {
		c := class(text[j])
		if c == other {
			break
		}
		if c != wide {
			j++
			continue
		}
		r, n := utf8.DecodeRuneInString(text[j:])
		if isCJK(r) || !wordRune(r) {
			break
		}
		ascii = false
		j += n
	}
	if !ascii {
		return append(dst, plainWord(text[i:j])), j
	}
	if i > 0 && text[i-1] == '\'' && contraction(low[i:j]) {
		return dst, j
	}
	return humps(dst, text, low, i, j), j
}

// contraction tells the tails that an apostrophe leaves: don't, I'm, we've.
func contraction(w string) bool {
	switch w {
	case "m", "d", "s", "t", "re", "ve", "ll":
		return true
	}
	return false
}

// humps cuts an ASCII run at changes of case and at digits. A run without
// capitals stays whole, so that "utf8" and "s3" are one word.
func humps(dst []string, text, low string, i, j int) []string {
	if text[i:j] == low[i:j] {
		return append(dst, low[i:j])
	}
	for i < j {
		k := hump(text[:j], i)
		dst = append(dst, low[i:k])
		i = k
	}
	return dst
}

// hump finds the end of the hump that begins at i: digits; lower-case
// letters, with or without a capital in front; or capitals up to the one
// that begins the next word, as in HTTPServer.
func hump(text string, i int) int {
	first := class(text[i])
	k := i + 1
	for k < len(text) && class(text[k]) == first {
		k++
	}
	if first != upper || k == len(text) || class(text[k]) != lower {
		return k
	}
	if k-i > 1 {
		return k - 1
	}
	for k < len(text) && class(text[k]) == lower {
		k++
	}
	return k
}

// cjkRun takes CJK characters from i on and appends each pair of
// neighbours, or the one character if it stands alone.
func cjkRun(dst []string, text string, i int) ([]string, int) {
	prev, count := -1, 0
	j := i
	for j < len(text) {
		r, n := utf8.DecodeRuneInString(text[j:])
		if !isCJK(r) {
			break
		}
		if prev >= 0 {
			dst = append(dst, text[prev:j+n])
		}
		prev = j
		count++
		j += n
	}
	if count == 1 {
		dst = append(dst, text[i:j])
	}
	return dst, j
}

// plainWord folds the case of a word beyond ASCII and takes its accents off.
func plainWord(w string) string {
	w = cases.Fold().String(w)
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, norm.NFKD.String(w))
}

// normalize brings text to NFKC. Text that is in it already is not copied.
func normalize(text string) string {
	if n := asciiPrefix(text); n == len(text) {
		return text
	}
	if norm.NFKC.QuickSpanString(text) == len(text) {
		return text
	}
	return norm.NFKC.String(text)
}

func asciiPrefix(s string) int {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return i
		}
	}
	return len(s)
}

// lowerASCII lowers A to Z alone, which keeps every byte in its place.
func lowerASCII(s string) string {
	i := 0
	for i < len(s) && class(s[i]) != upper {
		i++
	}
	if i == len(s) {
		return s
	}
	b := []byte(s)
	for ; i < len(b); i++ {
		if class(b[i]) == upper {
			b[i] += 'a' - 'A'
		}
	}
	return string(b)
}

// foldName is the form in which names are compared.
func foldName(s string) string {
	s = strings.TrimSpace(normalize(s))
	if asciiPrefix(s) == len(s) {
		return lowerASCII(s)
	}
	return cases.Fold().String(s)
}
