package agent

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxRepair bounds the text that a repair is tried on.
const maxRepair = 1 << 20

// repair makes JSON of what a model wrote as arguments, if the damage is of a
// common and harmless kind, and says what it did. Text that is valid or blank
// comes back as it is. Nothing is invented: a text that was cut off inside a
// string, or whose values would have to be guessed, stays broken and fails the
// schema check, since running half of a command is worse than asking again.
func repair(args string) (json.RawMessage, []string) {
	raw := json.RawMessage(args)
	if len(args) > maxRepair || len(bytes.TrimSpace(raw)) == 0 || json.Valid(raw) {
		return raw, nil
	}
	r := repairer{src: stripWrapping(args)}
	if r.src != args {
		r.note("text around the object")
	}
	out, ok := r.run()
	if !ok || !json.Valid(out) {
		return raw, nil
	}
	return out, r.notes
}

// stripWrapping takes a code fence, a byte order mark and prose around the
// outermost object away.
func stripWrapping(s string) string {
	s = strings.TrimSpace(strings.TrimPrefix(s, "\uFEFF"))
	if !strings.HasPrefix(s, "```") {
		return s
	}
	s = strings.TrimPrefix(s, "```")
	s = strings.TrimPrefix(strings.TrimSpace(s), "json")
	return strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(s), "```"))
}

// repairer copies JSON token by token and mends what it meets.
type repairer struct {
	src   string
	pos   int
	out   []byte
	open  []byte // brackets that wait for their end
	notes []string
}

func (r *repairer) note(what string) {
	if !slices.Contains(r.notes, what) {
		r.notes = append(r.notes, what)
	}
}

// run copies one value. ok is false for damage that cannot be mended.
func (r *repairer) run() (out []byte, ok bool) {
	for r.pos < len(r.src) {
		if !r.token() {
			return nil, false
		}
		if len(r.open) == 0 && len(bytes.TrimSpace(r.out)) > 0 {
			break
		}
	}
	return r.finish()
}

// finish closes what is open and looks at what is left over.
func (r *repairer) finish() ([]byte, bool) {
	if len(r.open) > 0 {
		r.note("missing closing brackets")
		r.dropComma()
	}
	for _, open := range slices.Backward(r.open) {
		r.out = append(r.out, closing(open))
	}
	rest := strings.TrimSpace(r.src[r.pos:])
	if strings.Trim(rest, "}] \t\r\n") != "" {
		return nil, false
	}
	if rest != "" {
		r.note("extra closing brackets")
	}
	return r.out, true
}

// token copies the next token.
func (r *repairer) token() bool {
	switch c := r.src[r.pos]; {
	case c == '{' || c == '[':
		r.open = append(r.open, c)
		r.copy(1)
	case c == '}' || c == ']':
		return r.end(c)
	case c == '"' || c == '\'':
		return r.text(c)
	case c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == ',' || c == ':':
		r.copy(1)
	default:
		return r.word()
	}
	return true
}

func (r *repairer) copy(n int) {
	r.out = append(r.out, r.src[r.pos:r.pos+n]...)
	r.pos += n
}

func (r *repairer) end(c byte) bool {
	n := len(r.open)
	if n == 0 || closing(r.open[n-1]) != c {
		return false
	}
	r.dropComma()
	r.open = r.open[:n-1]
	r.copy(1)
	return true
}

func closing(open byte) byte {
	if open == '{' {
		return '}'
	}
	return ']'
}

// dropComma takes a comma before a closing bracket back.
func (r *repairer) dropComma() {
	trimmed := bytes.TrimRight(r.out, " \t\r\n")
	if bytes.HasSuffix(trimmed, []byte(",")) {
		r.out = trimmed[:len(trimmed)-1]
		r.note("a trailing comma")
	}
}

// text copies a string: single quotes become double ones, raw control
// characters and unknown escapes are escaped.
func (r *repairer) text(quote byte) bool {
	if quote == '\'' {
		r.note("single quotes")
	}
	r.out = append(r.out, '"')
	for r.pos++; r.pos < len(r.src); {
		c := r.src[r.pos]
		switch {
		case c == quote:
			r.pos++
			r.out = append(r.out, '"')
			return true
		case c == '\\':
			if !r.escape(quote) {
				return false
			}
		case c == '"': // within single quotes
			r.out = append(r.out, '\\', '"')
			r.pos++
		case c < 0x20:
			r.note("raw control characters in a string")
			lit, _ := json.Marshal(string(rune(c)))
			r.out = append(r.out, lit[1:len(lit)-1]...)
			r.pos++
		default:
			_, size := utf8.DecodeRuneInString(r.src[r.pos:])
			r.copy(size)
		}
	}
	return false // cut off within a string
}

func (r *repairer) escape(quote byte) bool {
	if r.pos+1 >= len(r.src) {
		return false
	}
	next := r.src[r.pos+1]
	switch {
	case next == '\'':
		r.out = append(r.out, '\'')
		r.pos += 2
		if quote != '\'' {
			r.note("an unknown escape")
		}
	case strings.IndexByte(`"\/bfnrtu`, next) >= 0:
		r.copy(2)
	default:
		r.note("an unknown escape")
		r.out = append(r.out, `\\`...)
		r.pos++
	}
	return true
}

// word copies a number or a literal and translates those of Python.
func (r *repairer) word() bool {
	end := r.pos
	for end < len(r.src) && strings.IndexByte(" \t\r\n,:{}[]\"'", r.src[end]) < 0 {
		end++
	}
	word := r.src[r.pos:end]
	python := map[string]string{"True": "true", "False": "false", "None": "null", "undefined": "null"}
	switch {
	case python[word] != "":
		r.note("literals of another language")
		r.out = append(r.out, python[word]...)
	case json.Valid([]byte(word)):
		r.out = append(r.out, word...)
	case r.isKey(word, end):
		r.note("unquoted keys")
		r.out = append(append(append(r.out, '"'), word...), '"')
	default:
		return false
	}
	r.pos = end
	return true
}

// isKey tells whether an unquoted word stands where a key does.
func (r *repairer) isKey(word string, end int) bool {
	if len(r.open) == 0 || r.open[len(r.open)-1] != '{' {
		return false
	}
	for i, c := range word {
		letter := c == '_' || c == '$' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	before := bytes.TrimRight(r.out, " \t\r\n")
	last := before[len(before)-1]
	return (last == '{' || last == ',') && strings.HasPrefix(strings.TrimSpace(r.src[end:]), ":")
}
