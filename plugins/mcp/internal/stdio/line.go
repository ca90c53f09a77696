package stdio

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// A line is one line of output. Of one that is over the limit only the
// message's id is kept.
type line struct {
	text    []byte // without the line break; nil if tooLong
	tooLong bool
	size    int
	id      []byte // raw JSON of the top-level id, if tooLong and there was one
}

// A lineReader splits a stream into lines of bounded size.
type lineReader struct {
	r   *bufio.Reader
	max int
}

func newLineReader(r io.Reader, max int) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, 64<<10), max: max}
}

// next returns the next line. The last line need not end in a line break.
func (l *lineReader) next() (line, error) {
	var buf []byte
	for {
		part, err := l.r.ReadSlice('\n')
		if len(buf)+len(part) > l.max {
			return l.skip(buf, part, err)
		}
		buf = append(buf, part...)
		switch {
		case err == nil, errors.Is(err, io.EOF) && len(buf) > 0:
			return line{text: bytes.TrimRight(buf, "\r\n"), size: len(buf)}, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return line{}, err
		}
	}
}

// skip reads to the end of a line that is too long, looking for its id.
func (l *lineReader) skip(head, part []byte, err error) (line, error) {
	var s idScanner
	s.write(head)
	size := len(head)
	for {
		s.write(part)
		size += len(part)
		if err == nil || errors.Is(err, io.EOF) {
			return line{tooLong: true, size: size, id: s.id}, nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line{}, err
		}
		part, err = l.r.ReadSlice('\n')
	}
}

// An idScanner finds the value of the top-level key "id" of a JSON object
// that passes by in pieces. It holds neither the text nor a stack.
type idScanner struct {
	id []byte // the raw value, once it was seen

	depth    int
	inString bool
	escaped  bool
	token    []byte // a string or a value at depth 1, cut at idMax
	key      []byte // the key whose value is being read; nil before the colon
}

const idMax = 128

func (s *idScanner) write(p []byte) {
	for _, c := range p {
		s.step(c)
	}
}

func (s *idScanner) step(c byte) {
	if s.inString {
		s.keep(c)
		switch {
		case s.escaped:
			s.escaped = false
		case c == '\\':
			s.escaped = true
		case c == '"':
			s.inString = false
		}
		return
	}
	switch c {
	case '"':
		s.inString = true
		if s.depth == 1 {
			s.token = s.token[:0]
		}
		s.keep(c)
	case '{', '[':
		s.depth++
		s.token = s.token[:0]
	case '}', ']':
		if s.depth == 1 {
			s.endValue()
		}
		s.depth--
	case ':':
		if s.depth == 1 {
			s.key = append([]byte{}, s.token...)
			s.token = s.token[:0]
		}
	case ',':
		if s.depth == 1 {
			s.endValue()
		}
	case ' ', '\t', '\r', '\n':
	default:
		s.keep(c)
	}
}

func (s *idScanner) keep(c byte) {
	if s.depth == 1 && len(s.token) < idMax {
		s.token = append(s.token, c)
	}
}

func (s *idScanner) endValue() {
	if string(s.key) == `"id"` && len(s.token) > 0 && len(s.token) < idMax {
		s.id = append([]byte{}, s.token...)
	}
	s.key, s.token = nil, s.token[:0]
}
