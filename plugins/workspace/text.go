package workspace

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"unicode/utf8"
)

const (
	sniffed = 8000 // bytes looked at to tell text from binary, as git does
	bom     = "\xef\xbb\xbf"
)

// binaryKind says what a file that begins with head is, or "" for text.
func binaryKind(head []byte) string {
	if len(head) > sniffed {
		head = head[:sniffed]
	}
	if bytes.HasPrefix(head, []byte("\xff\xfe")) || bytes.HasPrefix(head, []byte("\xfe\xff")) {
		return "UTF-16 text"
	}
	if bytes.IndexByte(head, 0) < 0 {
		return ""
	}
	return http.DetectContentType(head)
}

// readAtMost reads all of r, or says that it is larger than max.
func readAtMost(r io.Reader, max int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, max+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > max {
		return nil, fmt.Errorf("larger than the %d bytes that are handled whole (`maxFileSize`)", max)
	}
	return data, nil
}

// usesCRLF reports whether every line break of text is a CRLF, and there is one.
func usesCRLF(text []byte) bool {
	crlf := bytes.Count(text, []byte("\r\n"))
	return crlf > 0 && crlf == bytes.Count(text, []byte("\n"))
}

func toLF(s string) string   { return strings.ReplaceAll(s, "\r\n", "\n") }
func toCRLF(s string) string { return strings.ReplaceAll(toLF(s), "\n", "\r\n") }

// cut shortens s to at most max bytes without splitting a character.
func cut(s string, max int) string {
	if len(s) <= max {
		return s
	}
	for end := max; end > 0 && end > max-utf8.UTFMax; end-- {
		if utf8.RuneStart(s[end]) {
			return s[:end]
		}
	}
	return s[:max] // no text
}

// lineCount counts lines as an editor does: a last line needs no line break.
func lineCount(text string) int {
	if text == "" {
		return 0
	}
	n := strings.Count(text, "\n")
	if !strings.HasSuffix(text, "\n") {
		n++
	}
	return n
}

// plural is "1 line", "2 lines".
func plural(n int, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "ch"):
		return fmt.Sprintf("%d %ses", n, noun)
	case strings.HasSuffix(noun, "y"):
		return fmt.Sprintf("%d %sies", n, strings.TrimSuffix(noun, "y"))
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// lineReader reads a text line by line and holds no more than a part of each.
type lineReader struct {
	r    *bufio.Reader
	keep int // bytes of a line that are kept
	skip int // bytes of the next line that are dropped before

	line   []byte // the kept part, without its line break; valid until next
	length int    // bytes of the whole line, without its line break
}

func newLineReader(r io.Reader, keep int) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, 64<<10), keep: keep}
}

// next advances to the next line; it is false at the end of the text.
func (l *lineReader) next() (bool, error) {
	l.line, l.length = l.line[:0], 0
	var last byte // of the line so far: the CR may be in another piece than its LF
	for read := false; ; read = true {
		piece, err := l.r.ReadSlice('\n')
		ended := err == nil
		if ended {
			piece = piece[:len(piece)-1]
		}
		l.take(piece)
		if len(piece) > 0 {
			last = piece[len(piece)-1]
		}
		switch {
		case ended:
			if last == '\r' {
				l.dropLast()
			}
			return true, nil
		case errors.Is(err, io.EOF):
			return read || len(piece) > 0, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return false, err
		}
	}
}

// take adds piece to the length, and to the kept part what fits.
func (l *lineReader) take(piece []byte) {
	from := min(max(0, l.skip-l.length), len(piece))
	to := min(from+l.keep-len(l.line), len(piece))
	l.line = append(l.line, piece[from:to]...)
	l.length += len(piece)
}

func (l *lineReader) dropLast() {
	if len(l.line) > 0 && l.skip+len(l.line) == l.length {
		l.line = l.line[:len(l.line)-1]
	}
	l.length--
}
