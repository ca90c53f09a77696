package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// show prints a value as JSON or as a person would read it.
func show[T any](w io.Writer, asJSON bool, v T, human func(io.Writer, T)) error {
	if asJSON {
		return printJSON(w, v)
	}
	out := &sink{w: w}
	human(out, v)
	return out.err
}

// sink remembers the first error of writing, so that output that got lost
// is not taken for output that was printed. Not for concurrent use.
type sink struct {
	w   io.Writer
	err error
}

// Write writes until the first error.
func (c *sink) Write(b []byte) (int, error) {
	if c.err != nil {
		return 0, c.err
	}
	n, err := c.w.Write(b)
	c.err = err
	return n, err
}

func (c *sink) width() int { return windowWidth(c.w) }

func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

func indentJSON(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return visibleText(string(raw))
	}
	return visibleText(b.String())
}

// table prints rows in columns. On a terminal the last column is cut at the
// window's edge.
func table(w io.Writer, head []string, rows [][]string) {
	widths := make([]int, len(head))
	for _, row := range append([][]string{head}, rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], textWidth(visible(cell)))
		}
	}
	limit := windowWidth(w)
	for _, row := range append([][]string{head}, rows...) {
		var b strings.Builder
		for i, cell := range row {
			cell = visible(cell)
			b.WriteString(cell)
			if i < len(row)-1 {
				b.WriteString(strings.Repeat(" ", widths[i]-textWidth(cell)+2))
			}
		}
		fmt.Fprintln(w, cut(strings.TrimRight(b.String(), " "), limit))
	}
}

// windowWidth is the width of the terminal that w is; 0 = no limit.
func windowWidth(w io.Writer) int {
	if s, ok := w.(interface{ width() int }); ok {
		return s.width()
	}
	f, ok := w.(*os.File)
	if !ok {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// cut shortens a line to limit columns; 0 = not at all.
func cut(line string, limit int) string {
	if limit <= 0 || textWidth(line) <= limit {
		return line
	}
	used := 0
	for i, r := range line {
		if used += runeWidth(r); used >= limit {
			return line[:i] + "…"
		}
	}
	return line
}

// firstSentence is the part of a description that a list has room for.
func firstSentence(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	if i := strings.Index(s, ". "); i > 0 {
		s = s[:i+1]
	}
	return cut(s, 100)
}
