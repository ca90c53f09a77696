package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
)

// plainLines reads answers from a terminal in its ordinary mode, for a single
// turn or a single question. It takes no more than the lines that it was
// asked for: what follows belongs to whoever reads next.
type plainLines struct {
	in  *os.File
	out io.Writer

	floor   sync.Mutex // held by whoever asks; guards the fields below
	reading bool
	lines   chan typedLine // of the read that is under way
}

// typedLine is what one read gave.
type typedLine struct {
	text string
	err  error
}

// hold drops what was typed before there was a question: nothing is allowed
// by accident.
func (p *plainLines) hold() (release func()) {
	p.floor.Lock()
	dropTyped(p.in)
	if p.reading {
		select {
		case <-p.lines:
			p.reading = false
		default:
		}
	}
	return p.floor.Unlock
}

// readLine reads one line. The caller holds the floor. A read that ctx ended
// goes on until a line comes, for a blocked read of a terminal cannot be taken
// back; the next readLine takes it over.
func (p *plainLines) readLine(ctx context.Context, prompt string) (string, error) {
	fmt.Fprint(p.out, prompt)
	if !p.reading {
		p.reading, p.lines = true, make(chan typedLine, 1)
		go func(lines chan<- typedLine) {
			text, err := readOneLine(p.in)
			lines <- typedLine{text, err}
		}(p.lines)
	}
	select {
	case line := <-p.lines:
		p.reading = false
		return line.text, line.err
	case <-ctx.Done():
		fmt.Fprintln(p.out)
		return "", errLineEnded
	}
}

// readOneLine reads a line byte by byte, and nothing behind it.
func readOneLine(in io.Reader) (string, error) {
	var line strings.Builder
	var b [1]byte
	for {
		n, err := in.Read(b[:])
		switch {
		case n == 1 && b[0] == '\n':
			return strings.TrimSuffix(line.String(), "\r"), nil
		case n == 1:
			line.WriteByte(b[0])
		case err == io.EOF && line.Len() > 0:
			return line.String(), nil
		case err != nil:
			return "", err
		}
	}
}

func (p *plainLines) width() int { return windowWidth(p.out) }

var _ lineReader = (*plainLines)(nil)
