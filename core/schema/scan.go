package schema

import (
	"bytes"
	"encoding/json"
)

// MaxDepth is how deep arrays and objects may nest in what is checked or
// decoded.
const MaxDepth = 64

// depth returns how deep raw nests. raw need not be valid.
func depth(raw []byte) int {
	deepest, now := 0, 0
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '"':
			i = stringEnd(raw, i) - 1
		case '{', '[':
			now++
			deepest = max(deepest, now)
		case '}', ']':
			now--
		}
	}
	return deepest
}

// stringEnd returns the index after the string that begins at raw[i].
func stringEnd(raw []byte, i int) int {
	for i++; i < len(raw); i++ {
		switch raw[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(raw)
}

// valueEnd returns the index after the value that begins at raw[i].
func valueEnd(raw []byte, i int) int {
	open := 0
	for i < len(raw) {
		switch raw[i] {
		case '"':
			i = stringEnd(raw, i)
			if open == 0 {
				return i
			}
			continue
		case '{', '[':
			open++
		case '}', ']':
			if open == 0 {
				return i // the end of a bare number or word
			}
			if open--; open == 0 {
				return i + 1
			}
		case ',', ' ', '\t', '\n', '\r':
			if open == 0 {
				return i
			}
		}
		i++
	}
	return i
}

func skipSpace(raw []byte, i int) int {
	for i < len(raw) && (raw[i] == ' ' || raw[i] == '\t' || raw[i] == '\n' || raw[i] == '\r') {
		i++
	}
	return i
}

// members calls f with each member of the valid JSON object raw, in order, until
// f returns an error. The slices are parts of raw.
func members(raw []byte, f func(name string, value json.RawMessage) error) error {
	i := skipSpace(raw, 1)
	for i < len(raw) && raw[i] == '"' {
		end := stringEnd(raw, i)
		name, err := unquote(raw[i:end])
		if err != nil {
			return err
		}
		i = skipSpace(raw, skipSpace(raw, end)+1)
		end = valueEnd(raw, i)
		if err := f(name, json.RawMessage(raw[i:end])); err != nil {
			return err
		}
		i = nextItem(raw, end)
	}
	return nil
}

// items calls f with each item of the valid JSON array raw.
func items(raw []byte, f func(i int, value json.RawMessage) error) error {
	at := skipSpace(raw, 1)
	for n := 0; at < len(raw) && raw[at] != ']'; n++ {
		end := valueEnd(raw, at)
		if err := f(n, json.RawMessage(raw[at:end])); err != nil {
			return err
		}
		at = nextItem(raw, end)
	}
	return nil
}

func nextItem(raw []byte, i int) int {
	i = skipSpace(raw, i)
	if i < len(raw) && raw[i] == ',' {
		i = skipSpace(raw, i+1)
	}
	return i
}

func unquote(quoted []byte) (string, error) {
	inner := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(inner, '\\') < 0 && isASCII(inner) {
		return string(inner), nil
	}
	var s string
	err := json.Unmarshal(quoted, &s)
	return s, err
}

func isASCII(b []byte) bool {
	for _, c := range b {
		if c >= 0x80 {
			return false
		}
	}
	return true
}

// kindOf names the JSON type of a valid, trimmed value.
func kindOf(raw []byte) string {
	if len(raw) == 0 {
		return "nothing"
	}
	switch raw[0] {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	return "number"
}
