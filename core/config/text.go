package config

import (
	"bytes"
	"unicode/utf8"
)

var byteOrderMark = []byte("\xef\xbb\xbf")

// checkText refuses what an editor would not show or what a YAML parser might
// read as a line break that a person does not see. It returns the text without
// its byte order mark.
func checkText(file string, b []byte) ([]byte, error) {
	if bytes.HasPrefix(b, []byte("\xff\xfe")) || bytes.HasPrefix(b, []byte("\xfe\xff")) {
		return nil, fileIssue(file, "this is UTF-16, save it as UTF-8")
	}
	b = bytes.TrimPrefix(b, byteOrderMark)
	line, col := 1, 1
	for i := 0; i < len(b); {
		r, size := utf8.DecodeRune(b[i:])
		if what := badRune(r, size, b[i+size:]); what != "" {
			return nil, Errors{{Pos: Position{file, line, col}, Message: what}}
		}
		i += size
		col++
		if r == '\n' {
			line, col = line+1, 1
		}
	}
	return b, nil
}

func badRune(r rune, size int, rest []byte) string {
	switch {
	case r == utf8.RuneError && size == 1:
		return "not valid UTF-8"
	case r == '\r' && (len(rest) == 0 || rest[0] != '\n'):
		return "a lone carriage return; end lines with LF or CRLF"
	case r == 0:
		return "a NUL byte"
	case r < 0x20 && r != '\n' && r != '\t' && r != '\r', r == 0x7f, r > 0x7f && r < 0xa0:
		return "a control character"
	case r == 0x2028, r == 0x2029:
		return "an invisible line break (U+2028 or U+2029)"
	case r == 0xfeff:
		return "a byte order mark inside the file"
	}
	return ""
}
