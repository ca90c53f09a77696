package toolpolicy

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// decodeArguments decodes the arguments of a call. Nothing, null and blank are
// the empty object, as Execute takes them.
func decodeArguments(args json.RawMessage) (any, error) {
	trimmed := bytes.TrimSpace(args)
	if len(trimmed) == 0 || string(trimmed) == "null" {
		return object{}, nil
	}
	return decodeOrdered(trimmed)
}

// appendCanonical appends a decoded value as JSON with sorted keys and no white
// space.
func appendCanonical(b []byte, v any) []byte {
	switch v := v.(type) {
	case object:
		sorted := slices.Clone(v)
		slices.SortFunc(sorted, func(x, y field) int { return strings.Compare(x.key, y.key) })
		b = append(b, '{')
		for i, f := range sorted {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendCanonical(b, f.key), ':')
			b = appendCanonical(b, f.value)
		}
		return append(b, '}')
	case string:
		if isPlain(v) {
			return append(append(append(b, '"'), v...), '"')
		}
	case []any:
		b = append(b, '[')
		for i, e := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendCanonical(b, e)
		}
		return append(b, ']')
	}
	text, err := json.Marshal(v)
	if err != nil {
		panic("toolpolicy: value of a JSON decoder does not encode: " + err.Error())
	}
	return append(b, text...)
}

// isPlain reports whether a JSON string is the text itself between quotes.
func isPlain(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || strings.IndexByte(`"\<>&`, c) >= 0 {
			return false
		}
	}
	return true
}
