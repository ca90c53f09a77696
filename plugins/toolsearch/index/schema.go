package index

import (
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

const (
	schemaDepth = 8  // deeper properties say little about a tool
	schemaEnum  = 12 // longer enumerations are data, not words
)

// schemaText collects the names and the descriptions of the parameters in a
// JSON schema, in document order. It walks the raw bytes, since decoding into
// maps was most of the price of an index. Malformed JSON ends the walk and
// what was found so far stays.
type schemaText struct {
	names, texts []string
}

func (t *schemaText) walk(raw json.RawMessage) {
	t.names, t.texts = t.names[:0], t.texts[:0]
	s := scanner{data: raw}
	t.schema(&s, 0)
}

// schema reads one value that should be a schema.
func (t *schemaText) schema(s *scanner, depth int) {
	if depth > schemaDepth || s.peek() != '{' {
		s.skip()
		return
	}
	s.object(func(key string) {
		switch key {
		case "properties":
			t.properties(s, depth)
		case "items", "additionalProperties":
			t.schema(s, depth+1)
		case "anyOf", "oneOf", "allOf":
			s.array(func() { t.schema(s, depth+1) })
		default:
			s.skip()
		}
	})
}

func (t *schemaText) properties(s *scanner, depth int) {
	s.object(func(name string) {
		t.names = append(t.names, name)
		t.property(s, depth)
	})
}

// property reads a parameter's own schema: its description and short
// enumerations, and whatever is nested in it.
func (t *schemaText) property(s *scanner, depth int) {
	start, nested := s.pos, false
	s.object(func(key string) {
		switch key {
		case "description":
			if text, ok := s.text(); ok {
				t.texts = append(t.texts, text)
			}
		case "enum":
			t.enum(s)
		case "properties", "items", "additionalProperties", "anyOf", "oneOf", "allOf":
			nested = true
			s.skip()
		default:
			s.skip()
		}
	})
	if nested {
		inner := scanner{data: s.data[:s.pos], pos: start}
		t.schema(&inner, depth+1)
	}
}

func (t *schemaText) enum(s *scanner) {
	mark, n := len(t.texts), 0
	s.array(func() {
		n++
		if text, ok := s.text(); ok {
			t.texts = append(t.texts, text)
		}
	})
	if n > schemaEnum {
		t.texts = t.texts[:mark]
	}
}

// scanner is a forgiving reader of JSON: enough to find strings and to skip
// values. Every method moves forward or ends at the end of the data.
type scanner struct {
	data []byte
	pos  int
}

func (s *scanner) peek() byte {
	for s.pos < len(s.data) {
		switch c := s.data[s.pos]; c {
		case ' ', '\t', '\r', '\n', ',', ':':
			s.pos++
		default:
			return c
		}
	}
	return 0
}

// object calls each with the key of every member; each must consume the
// value. Another value than an object is skipped.
func (s *scanner) object(each func(key string)) {
	if s.peek() != '{' {
		s.skip()
		return
	}
	s.pos++
	for s.peek() == '"' {
		key, _ := s.text()
		if s.peek() == 0 {
			return
		}
		each(key)
	}
	s.close('}')
}

// array calls each before every element; each must consume it.
func (s *scanner) array(each func()) {
	if s.peek() != '[' {
		s.skip()
		return
	}
	s.pos++
	for c := s.peek(); c != ']' && c != '}' && c != 0; c = s.peek() {
		each()
	}
	s.close(']')
}

// close passes the closing bracket; data without one is malformed, and there
// the walk ends.
func (s *scanner) close(bracket byte) {
	if s.peek() != bracket {
		s.pos = len(s.data)
		return
	}
	s.pos++
}

// text reads a string; any other value is skipped.
func (s *scanner) text() (string, bool) {
	if s.peek() != '"' {
		s.skip()
		return "", false
	}
	start, plain := s.pos+1, true
	end := s.stringEnd(&plain)
	if plain {
		return string(s.data[start:end]), true
	}
	return unescape(s.data[start:end]), true
}

// stringEnd moves past a string and returns where its text ends.
func (s *scanner) stringEnd(plain *bool) int {
	for i := s.pos + 1; i < len(s.data); i++ {
		switch s.data[i] {
		case '\\':
			*plain = false
			i++
		case '"':
			s.pos = i + 1
			return i
		}
	}
	s.pos = len(s.data)
	return s.pos
}

// skip passes one value, whatever it is.
func (s *scanner) skip() {
	depth, plain := 0, true
	for {
		switch c := s.peek(); c {
		case 0:
			return
		case '"':
			s.stringEnd(&plain)
		case '{', '[':
			depth++
			s.pos++
		case '}', ']':
			if depth == 0 {
				return // belongs to the container around
			}
			depth--
			s.pos++
		default:
			s.literal()
		}
		if depth == 0 {
			return
		}
	}
}

func (s *scanner) literal() {
	for s.pos < len(s.data) {
		switch s.data[s.pos] {
		case ' ', '\t', '\r', '\n', ',', ':', '"', '{', '[', '}', ']':
			return
		}
		s.pos++
	}
}

// unescape resolves the escapes of a JSON string; a wrong one becomes a space.
func unescape(b []byte) string {
	var text string
	quoted := append(append([]byte{'"'}, b...), '"')
	if json.Unmarshal(quoted, &text) == nil {
		return text
	}
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); i++ {
		if b[i] != '\\' || i+1 == len(b) {
			out = append(out, b[i])
			continue
		}
		i++
		r := rune(' ')
		if b[i] == 'u' && i+4 < len(b) {
			if n, err := strconv.ParseUint(string(b[i+1:i+5]), 16, 32); err == nil {
				r = rune(n)
				i += 4
			}
		}
		out = utf8.AppendRune(out, r)
	}
	return string(out)
}
