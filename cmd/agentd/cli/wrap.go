package cli

import (
	"strings"

	"golang.org/x/text/width"
)

// gutter is what stands left of text that comes from a call.
const gutter = "│"

// wrap breaks lines that are wider than the window. A line with a gutter goes
// on behind a gutter: nothing that a call brings may stand at the left edge,
// where it could pass for a word of agentd's. columns 0 = no limit.
func wrap(text string, columns int) string {
	if columns <= 0 {
		return text
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		body, end := strings.CutSuffix(line, "\n")
		wrapLine(&b, body, columns)
		if end {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// leastColumns is what a line keeps for itself in a very narrow window.
const leastColumns = 8

func wrapLine(b *strings.Builder, line string, columns int) {
	if textWidth(line) <= columns {
		b.WriteString(line)
		return
	}
	lead, rest := splitLead(line, columns)
	b.WriteString(lead)
	room := max(columns-textWidth(lead), leastColumns)
	next := "\n" + continuation(lead)
	for {
		head, tail := takeColumns(rest, room)
		b.WriteString(head)
		if tail == "" {
			return
		}
		b.WriteString(next)
		room, rest = max(columns-textWidth(next), leastColumns), tail
	}
}

// splitLead cuts off what a line begins with up to its gutter, or its indent.
func splitLead(line string, columns int) (lead, rest string) {
	if i := strings.Index(line, gutter+" "); i >= 0 {
		return line[:i+len(gutter)+1], line[i+len(gutter)+1:]
	}
	rest = strings.TrimLeft(line, " ")
	return line[:len(line)-len(rest)], rest
}

// continuation is what the next row begins with: the gutter if there is one.
func continuation(lead string) string {
	if strings.Contains(lead, gutter) {
		return "    " + gutter + " "
	}
	return lead + "  "
}

// takeColumns cuts text at a space within the last part of the room, else
// where the room ends. A cut at a space keeps the space at the row's end.
func takeColumns(text string, room int) (head, tail string) {
	used, space := 0, 0
	for i, r := range text {
		w := runeWidth(r)
		if used+w > room && i > 0 {
			if space > i/2 {
				i = space
			}
			return text[:i], text[i:]
		}
		used += w
		if r == ' ' {
			space = i + 1
		}
	}
	return text, ""
}

// textWidth is how many columns plain text takes on a terminal.
func textWidth(s string) int {
	n := 0
	for _, r := range s {
		n += runeWidth(r)
	}
	return n
}

func runeWidth(r rune) int {
	switch {
	case r < 0x20 || r >= 0x300 && r < 0x370: // control characters and combining marks
		return 0
	case r < 0x1100:
		return 1
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}
