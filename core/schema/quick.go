package schema

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
)

// quick accepts most valid values without the validator, which costs fifty
// times as much. It knows the few keywords of which nearly all tools' schemas
// consist. What it does not accept need not be wrong: then the validator
// decides, and says why.
type quick struct {
	types    []string // none: any
	props    map[string]quickProp
	required int  // how many of props are
	closed   bool // additionalProperties: false
	items    *quick
	enum     []string
	pattern  *regexp.Regexp
	min, max *int64
}

type quickProp struct {
	*quick
	required int // its bit, if it is required; else 0
}

// maxRequired is how many required properties fit a bit set.
const maxRequired = 62

// quickOf translates a schema; nil if it says more than quick knows.
func quickOf(node any) *quick {
	q := &quick{}
	if node == true {
		return q
	}
	m, ok := node.(map[string]any)
	if !ok {
		return nil
	}
	for keyword, value := range m {
		if !q.take(m, keyword, value) {
			return nil
		}
	}
	return q
}

// take translates one keyword.
func (q *quick) take(m map[string]any, keyword string, value any) (ok bool) {
	switch keyword {
	case "title", "description", "default", "examples", "readOnly", "writeOnly", "deprecated",
		"$schema", "$comment":
		return true
	case "type":
		q.types, ok = texts(value)
		return ok && len(q.types) > 0
	case "enum":
		q.enum, ok = texts(value)
		_, isList := value.([]any)
		return ok && isList
	case "pattern":
		text, _ := value.(string)
		re, err := regexp.Compile(text)
		q.pattern = re
		return err == nil
	case "minimum":
		q.min, ok = whole(value)
		return ok
	case "maximum":
		q.max, ok = whole(value)
		return ok
	case "items":
		q.items = quickOf(value)
		return q.items != nil
	case "additionalProperties":
		q.closed, ok = value.(bool)
		q.closed = ok && !q.closed
		return ok
	case "properties":
		return q.takeProperties(m, value)
	case "required":
		_, ok = m["properties"].(map[string]any)
		return ok // with the properties
	}
	return false
}

func (q *quick) takeProperties(m map[string]any, value any) bool {
	properties, ok := value.(map[string]any)
	if !ok {
		return false
	}
	var required []string
	if r, there := m["required"]; there {
		if required, ok = texts(r); !ok || len(required) > maxRequired {
			return false
		}
	}
	q.props = make(map[string]quickProp, len(properties))
	for name, node := range properties {
		sub := quickOf(node)
		if sub == nil {
			return false
		}
		q.props[name] = quickProp{quick: sub}
	}
	for _, name := range required {
		p, ok := q.props[name]
		if !ok {
			return false // required but not described: rare
		}
		if p.required == 0 {
			p.required = 1 << q.required
			q.required++
			q.props[name] = p
		}
	}
	return true
}

// texts reads a string or a list of strings.
func texts(value any) ([]string, bool) {
	if s, ok := value.(string); ok {
		return []string{s}, true
	}
	list, ok := value.([]any)
	words := make([]string, len(list))
	for i, item := range list {
		if words[i], ok = item.(string); !ok {
			return nil, false
		}
	}
	return words, ok
}

func whole(value any) (*int64, bool) {
	n, ok := value.(json.Number)
	if !ok {
		return nil, false
	}
	i, err := n.Int64()
	return &i, err == nil
}

// accepts reports whether the valid JSON value raw, without space around it,
// certainly fits.
func (q *quick) accepts(raw []byte) bool {
	kind := kindOf(raw)
	if len(q.types) > 0 && !slices.Contains(q.types, kind) {
		if kind != "number" || !slices.Contains(q.types, "integer") {
			return false
		}
	}
	switch kind {
	case "number":
		return q.acceptsNumber(raw)
	case "string":
		return q.acceptsString(raw)
	case "object":
		return q.enum == nil && q.acceptsObject(raw)
	case "array":
		return q.enum == nil && q.acceptsArray(raw)
	}
	return q.enum == nil
}

// acceptsNumber takes integers of up to 15 digits, which floats hold exactly.
func (q *quick) acceptsNumber(raw []byte) bool {
	if len(raw) > 15 || q.enum != nil {
		return false
	}
	n, sign := int64(0), int64(1)
	for i, c := range raw {
		switch {
		case c == '-' && i == 0:
			sign = -1
		case c < '0' || c > '9':
			return false
		default:
			n = n*10 + int64(c-'0')
		}
	}
	n *= sign
	return (q.min == nil || n >= *q.min) && (q.max == nil || n <= *q.max)
}

func (q *quick) acceptsString(raw []byte) bool {
	inner := raw[1 : len(raw)-1]
	if q.enum == nil && q.pattern == nil {
		return true
	}
	if bytes.IndexByte(inner, '\\') >= 0 || !isASCII(inner) {
		return false
	}
	if q.pattern != nil && !q.pattern.Match(inner) {
		return false
	}
	return q.enum == nil || slices.ContainsFunc(q.enum, func(s string) bool { return s == string(inner) })
}

func (q *quick) acceptsObject(raw []byte) bool {
	seen := 0
	i := skipSpace(raw, 1)
	for i < len(raw) && raw[i] == '"' {
		end := stringEnd(raw, i)
		name := raw[i+1 : end-1]
		if bytes.IndexByte(name, '\\') >= 0 || !isASCII(name) {
			return false
		}
		i = skipSpace(raw, skipSpace(raw, end)+1)
		end = valueEnd(raw, i)
		p, known := q.props[string(name)]
		switch {
		case known && !p.accepts(raw[i:end]):
			return false
		case !known && (q.closed || !harmless(raw[i:end])):
			return false
		}
		seen |= p.required
		i = nextItem(raw, end)
	}
	return seen == 1<<q.required-1
}

func (q *quick) acceptsArray(raw []byte) bool {
	at := skipSpace(raw, 1)
	for at < len(raw) && raw[at] != ']' {
		end := valueEnd(raw, at)
		if q.items == nil && !harmless(raw[at:end]) || q.items != nil && !q.items.accepts(raw[at:end]) {
			return false
		}
		at = nextItem(raw, end)
	}
	return true
}

// harmless reports whether a value that no schema looks at certainly decodes:
// numbers can be out of range.
func harmless(raw []byte) bool {
	switch kindOf(raw) {
	case "string", "boolean", "null":
		return true
	case "number":
		return len(raw) <= 15 && !bytes.ContainsAny(raw, "eE")
	}
	return false
}
