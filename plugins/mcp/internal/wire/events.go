package wire

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// An eventFilter passes a stream of server-sent events on, with the data of
// each replaced by what message makes of it. An event whose data becomes nil
// keeps its other fields (an id is needed to resume). One that is too long is
// the last.
type eventFilter struct {
	body    io.ReadCloser
	r       *bufio.Reader
	max     int
	message func([]byte) []byte
	// tooLong is the data in place of an event that is, nil if there is none.
	tooLong func() []byte

	out bytes.Buffer // ready to be read
	err error        // after out is empty
}

func newEventFilter(body io.ReadCloser, max int, message func([]byte) []byte, tooLong func() []byte) *eventFilter {
	return &eventFilter{body: body, r: bufio.NewReader(body), max: max, message: message, tooLong: tooLong}
}

func (f *eventFilter) Close() error { return f.body.Close() }

func (f *eventFilter) Read(p []byte) (int, error) {
	for f.out.Len() == 0 {
		if f.err != nil {
			return 0, f.err
		}
		f.err = f.event()
		if errors.Is(f.err, errTooLong) {
			f.err = f.cut()
		}
	}
	return f.out.Read(p)
}

// cut ends the stream at an event that is too long.
func (f *eventFilter) cut() error {
	data := f.tooLong()
	if data == nil {
		return errors.New(overLimit(f.max))
	}
	f.out.WriteString("event: message\n")
	f.write(data)
	return io.EOF
}

// write writes data, and with that an event's end.
func (f *eventFilter) write(data []byte) {
	if len(data) > 0 {
		for part := range bytes.SplitSeq(data, []byte("\n")) {
			f.out.WriteString("data: ")
			f.out.Write(part)
			f.out.WriteByte('\n')
		}
	}
	f.out.WriteByte('\n')
}

// event reads one event and appends it, filtered, to out.
func (f *eventFilter) event() error {
	var data []byte
	var name string
	hasData, size := false, 0
	for {
		text, err := f.line(f.max - size)
		if err != nil {
			return err
		}
		size += len(text)
		text = bytes.TrimRight(text, "\r\n")
		if len(text) == 0 {
			break
		}
		field, value, _ := bytes.Cut(text, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "data":
			if hasData {
				data = append(data, '\n')
			}
			hasData = true
			data = append(data, value...)
			continue
		case "event":
			name = string(bytes.TrimSpace(value))
		}
		f.out.Write(text)
		if !bytes.ContainsRune(text, ':') {
			f.out.WriteByte(':') // which may be missing, but not for the SDK
		}
		f.out.WriteByte('\n')
	}
	if hasData && len(data) > 0 && (name == "" || name == "message") {
		data = f.message(data)
	}
	f.write(data)
	return nil
}

// line reads a line of at most max bytes.
func (f *eventFilter) line(max int) ([]byte, error) {
	var buf []byte
	for {
		part, err := f.r.ReadSlice('\n')
		buf = append(buf, part...)
		if len(buf) > max {
			return nil, errTooLong
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			if err != nil && len(buf) > 0 && errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return buf, err
		}
	}
}

// errTooLong is internal: what is said of it has the limit, too.
var errTooLong = errors.New("an event is too long")

func overLimit(max int) string {
	return fmt.Sprintf("the server's answer is over the limit of %d bytes", max)
}
