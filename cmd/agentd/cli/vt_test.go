package cli_test

import (
	"strings"
	"unicode/utf8"
)

// vt is as much of a terminal as our output needs: it keeps what a person
// would see, and complains about sequences that it does not know.
type vt struct {
	columns int
	rows    [][]rune
	x, y    int
	unknown []string
}

// screenOf plays output on a window of so many columns.
func screenOf(output string, columns int) *vt {
	v := &vt{columns: columns, rows: [][]rune{nil}}
	for output != "" {
		if n := v.escape(output); n > 0 {
			output = output[n:]
			continue
		}
		r, n := utf8.DecodeRuneInString(output)
		output = output[n:]
		v.put(r)
	}
	return v
}

// String is the screen, rows cut at their last character.
func (v *vt) String() string {
	lines := make([]string, len(v.rows))
	for i, row := range v.rows {
		lines[i] = strings.TrimRight(string(row), " \x00")
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

func (v *vt) put(r rune) {
	switch r {
	case '\r':
		v.x = 0
	case '\n':
		v.down(1)
	case '\b':
		v.x = max(0, v.x-1)
	case '\a':
	default:
		if v.x >= v.columns {
			v.x = 0
			v.down(1)
		}
		row := v.rows[v.y]
		for len(row) <= v.x {
			row = append(row, ' ')
		}
		row[v.x] = r
		v.rows[v.y] = row
		v.x++
	}
}

func (v *vt) down(n int) {
	v.y += n
	for len(v.rows) <= v.y {
		v.rows = append(v.rows, nil)
	}
}

// escape plays the sequence that s begins with and returns its length.
func (v *vt) escape(s string) int {
	if !strings.HasPrefix(s, "\x1b[") {
		return 0
	}
	end := strings.IndexFunc(s[2:], func(r rune) bool { return r >= '@' && r <= '~' })
	if end < 0 {
		return 0
	}
	args, final := s[2:2+end], s[2+end]
	n := max(1, number(args))
	switch {
	case strings.HasPrefix(args, "?"), final == 'm': // modes, colours
	case final == 'A':
		v.y = max(0, v.y-n)
	case final == 'B':
		v.down(n)
	case final == 'C':
		v.x = min(v.columns-1, v.x+n)
	case final == 'D':
		v.x = max(0, min(v.x, v.columns)-n)
	case final == 'K':
		v.rows[v.y] = v.rows[v.y][:min(v.x, len(v.rows[v.y]))]
	default:
		v.unknown = append(v.unknown, s[:3+end])
	}
	return 3 + end
}

func number(s string) int {
	n := 0
	for _, r := range s {
		if r < '0' || r > '9' {
			return 0
		}
		n = n*10 + int(r-'0')
	}
	return n
}
