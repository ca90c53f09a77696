package workspace

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
)

// readInput is what read_file takes.
type readInput struct {
	Path    string `json:"path" jsonschema_description:"File to read, relative to the workspace."`
	Offset  int    `json:"offset,omitempty" jsonschema_description:"First line to show, counted from 1. A negative number counts from the end: -20 shows the last 20 lines."`
	Limit   int    `json:"limit,omitempty" jsonschema_description:"Most lines to show."`
	Column  int    `json:"column,omitempty" jsonschema_description:"First byte to show of the first line, counted from 1; for lines that are too long to show at once."`
	Numbers bool   `json:"numbers,omitempty" jsonschema_description:"Put the line number before each line."`
}

// read answers a page of the text file at the real name. The page ends with a note in brackets
// unless it is the whole file: which lines it holds and how to get the rest.
func (f *folder) read(ctx context.Context, name string, in readInput) (string, error) {
	if in.Limit < 0 || in.Column < 0 {
		return "", fmt.Errorf("limit and column must not be negative")
	}
	file, info, err := f.open(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	if err := refuseBinary(file, name, info.Size()); err != nil {
		return "", err
	}
	p := newPage(in, f.limits)
	if in.Offset < 0 {
		total, err := countLines(ctx, file)
		if err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
		p.first = max(1, total+in.Offset+1)
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	if err := p.fill(ctx, file); err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	return p.answer(name)
}

func refuseBinary(file *os.File, name string, size int64) error {
	head := make([]byte, sniffed)
	n, err := io.ReadFull(file, head)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return plainError(name, err)
	}
	if kind := binaryKind(head[:n]); kind != "" {
		return fmt.Errorf("%s is not plain text (%s, %d bytes): read_file shows text only", name, kind, size)
	}
	return nil
}

func countLines(ctx context.Context, file *os.File) (int, error) {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return 0, err
	}
	lines := newLineReader(file, 0)
	for n := 0; ; n++ {
		more, err := lines.next()
		if err != nil || !more {
			return n, err
		}
		if n%1024 == 0 && ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
	}
}

// page collects the lines of one answer.
type page struct {
	first, limit  int
	column, bytes int
	numbers       bool
	counting      int // bytes that are read after the page

	text   strings.Builder
	shown  int  // lines in text
	total  int  // lines of the file
	more   bool // it has more lines than total; nobody counted
	cutAt  int  // column after what is shown of a line that did not fit, or 0
	length int  // of that line
	broken bool // the text held bytes that are not UTF-8
}

func newPage(in readInput, l limits) *page {
	p := &page{
		first: max(1, in.Offset), limit: l.lines, bytes: l.output,
		column: max(1, in.Column), numbers: in.Numbers, counting: maxCounted,
	}
	if in.Limit > 0 {
		p.limit = min(p.limit, in.Limit)
	}
	return p
}

// maxCounted is how many bytes after a page are read to count their lines.
const maxCounted = 256 << 20

// fill reads r: what follows the page is only counted.
func (p *page) fill(ctx context.Context, r io.Reader) error {
	lines := newLineReader(r, 0)
	full, counted := false, 0
	for p.total = 0; ; {
		next := p.total + 1
		lines.keep, lines.skip = 0, 0
		if next >= p.first && !full {
			lines.keep = p.bytes + 1
		}
		if next == p.first {
			lines.skip = p.column - 1
		}
		more, err := lines.next()
		if err != nil || !more {
			return err
		}
		p.total = next
		if full {
			counted += lines.length + 1
		}
		if p.more = counted > p.counting; p.more {
			return nil
		}
		if next >= p.first && !full {
			full = !p.add(lines)
		}
		if next%1024 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

// add appends the line; it is false when the page is full.
func (p *page) add(l *lineReader) bool {
	line := string(l.line)
	if room := p.bytes - p.text.Len(); len(line) > room {
		if p.shown > 0 {
			return false
		}
		line = cut(line, room)
		p.cutAt, p.length = l.skip+len(line)+1, l.length
	}
	if p.first+p.shown == 1 {
		line = strings.TrimPrefix(line, bom)
	}
	if valid := strings.ToValidUTF8(line, "\uFFFD"); valid != line {
		line, p.broken = valid, true
	}
	if p.numbers {
		fmt.Fprintf(&p.text, "%6d\t", p.first+p.shown)
	}
	p.text.WriteString(line)
	p.text.WriteByte('\n')
	p.shown++
	return p.shown < p.limit && p.cutAt == 0
}

func (p *page) answer(name string) (string, error) {
	switch {
	case p.total == 0:
		return "[" + name + " is empty]", nil
	case p.shown == 0:
		return "", fmt.Errorf("offset %d is past the end: %s has %s", p.first, name, plural(p.total, "line"))
	}
	return p.text.String() + p.notes().String(), nil
}

func (p *page) notes() notes {
	var n notes
	last, total := p.first+p.shown-1, fmt.Sprint(p.total)
	if p.more {
		total = "at least " + total
	}
	switch {
	case p.cutAt > 0:
		n.add("line %d of %s, bytes %d-%d of %d; read on with offset=%d column=%d",
			p.first, total, p.column, p.cutAt-1, p.length, p.first, p.cutAt)
	case last < p.total:
		n.add("lines %d-%d of %s; read on with offset=%d", p.first, last, total, last+1)
	case p.column > 1:
		n.add("from byte %d of line %d on", p.column, p.first)
	case p.first > 1:
		n.add("lines %d-%d of %d, the end", p.first, last, p.total)
	}
	if p.broken {
		n.add("bytes that are not UTF-8 are shown as \uFFFD")
	}
	return n
}
