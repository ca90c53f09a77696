package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// Validate returns everything that is wrong with raw, sorted by path; nil if it
// fits. It never fails otherwise: text that is no JSON, too deep, or not to be
// checked within bounds is an issue too. Several missing properties are an issue
// each; a failed anyOf or oneOf is one.
func (s *Schema) Validate(raw json.RawMessage) Issues {
	if depth(raw) > MaxDepth {
		return Issues{tooDeep()}
	}
	if s.quick != nil && json.Valid(raw) && s.quick.accepts(bytes.TrimSpace(raw)) {
		return nil
	}
	// Not with UseNumber: exact numbers with large exponents end the validator.
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		if json.Valid(raw) {
			return Issues{{Keyword: "json", Want: "numbers that fit 64 bits", Got: "a larger one",
				Message: "a number is out of range"}}
		}
		return Issues{notJSON(raw)}
	}
	err := s.check(value)
	if err == nil {
		return nil
	}
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return Issues{{Keyword: "schema", Want: "a value that can be checked", Got: brief(raw),
			Message: "the value cannot be checked against its schema: " + err.Error()}}
	}
	r := report{schema: s, value: value}
	r.walk(invalid)
	return r.issues.sorted()
}

var errOverBudget = errors.New("it is too expensive")

// check contains the panics of the validator.
func (s *Schema) check(value any) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	if s.meter == nil {
		return s.inner.Validate(value)
	}
	err, ok := s.meter.run(size(value), func() error { return s.inner.Validate(value) })
	if !ok {
		return errOverBudget
	}
	return err
}

// report turns the validator's tree of errors into issues.
type report struct {
	schema *Schema
	value  any
	issues Issues
}

func (r *report) add(i Issue) { r.issues = append(r.issues, i) }

// walk goes down to the errors that say something: leaves, and alternatives,
// whose branches are no mistakes of their own.
func (r *report) walk(e *jsonschema.ValidationError) {
	parts := steps(locationOf(e))
	if len(e.Causes) > 0 && !alternative(parts) {
		for _, cause := range e.Causes {
			r.walk(cause)
		}
		return
	}
	r.leaf(e, parts)
}

// locationOf is the pointer part of the error's absolute location.
func locationOf(e *jsonschema.ValidationError) string {
	_, pointer, _ := strings.Cut(e.AbsoluteKeywordLocation, "#")
	return pointer
}

func alternative(parts []string) bool {
	if len(parts) == 0 {
		return false
	}
	switch parts[len(parts)-1] {
	case "anyOf", "oneOf", "not", "contains", "minContains":
		return true
	}
	return false
}

func (r *report) leaf(e *jsonschema.ValidationError, parts []string) {
	at, value, found := r.locate(steps(e.InstanceLocation))
	m, keyword := r.node(parts)
	switch {
	case m == nil:
		r.forbidden(at, value, parts)
		return
	case keyword == "required":
		r.missing(at, value, m)
		return
	case keyword == "additionalProperties":
		r.unknown(at, value, m)
		return
	}
	got := show(value)
	switch {
	case m["writeOnly"] == true:
		got = kindWord(value) + " (hidden)"
	case !found || strings.Contains(e.KeywordLocation, "/propertyNames/"):
		got = "the key " + strconv.Quote(strings.TrimPrefix(last(at), itemMark))
	}
	want, near := describeKeyword(m, keyword), nearValue(m, keyword, value)
	r.add(newIssue(at, keyword, want, got, near, encode(m)))
}

// node finds the schema object that holds the keyword at the end of a location,
// nil if the location is that of a schema which is false.
func (r *report) node(parts []string) (m map[string]any, keyword string) {
	if len(parts) == 0 {
		m, _ = r.schema.root.(map[string]any)
		return m, ""
	}
	cut := len(parts) - 1
	if node, _ := lookup(r.schema.root, parts); node == false && !plainFalse(parts[cut]) {
		return nil, ""
	}
	for i := max(cut-2, 0); i < cut; i++ { // these are told with the steps below them
		if parts[i] == "dependentRequired" || parts[i] == "dependencies" {
			cut = i
		}
	}
	node, _ := lookup(r.schema.root, parts[:cut])
	m, _ = node.(map[string]any)
	return m, parts[cut]
}

// plainFalse reports whether false under a keyword is a value of its own and no
// schema.
func plainFalse(keyword string) bool {
	return keyword == "const" || keyword == "additionalProperties" || keyword == "additionalItems"
}

// forbidden reports a value where the schema is false.
func (r *report) forbidden(at path, value any, parts []string) {
	if len(at) > 0 && contains(parts, "unevaluatedProperties") {
		r.add(unknownKey(at, last(at), nil, nil))
		return
	}
	r.add(newIssue(at, "false", "nothing here", show(value), "", nil))
}

func (r *report) missing(at path, value any, m map[string]any) {
	have, _ := value.(map[string]any)
	properties, _ := m["properties"].(map[string]any)
	names, _ := m["required"].([]any)
	for _, n := range names {
		name, _ := n.(string)
		if _, ok := have[name]; ok {
			continue
		}
		sub, _ := properties[name].(map[string]any)
		i := newIssue(at.key(name), "required", describe(sub), "nothing", "", encode(sub))
		i.Message = "missing; want " + i.Want
		r.add(i)
	}
}

func (r *report) unknown(at path, value any, m map[string]any) {
	have, _ := value.(map[string]any)
	properties, _ := m["properties"].(map[string]any)
	patterns, _ := m["patternProperties"].(map[string]any)
	known := make([]string, 0, len(properties))
	for name := range properties {
		known = append(known, name)
	}
	for name := range have {
		if _, ok := properties[name]; ok || matchesAny(patterns, name) {
			continue
		}
		r.add(unknownKey(at.key(name), name, slices.Clone(known), encode(m)))
	}
}

// locate follows a location in the value.
func (r *report) locate(parts []string) (at path, value any, found bool) {
	value = r.value
	for _, part := range parts {
		switch v := value.(type) {
		case map[string]any:
			at = at.key(part)
			if value, found = v[part]; !found {
				return at, nil, false
			}
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(v) {
				return at.key(part), nil, false
			}
			at, value = at.item(i), v[i]
		default:
			return at.key(part), nil, false
		}
	}
	return at, value, true
}

// lookup follows steps in the schema document.
func lookup(node any, parts []string) (any, bool) {
	for _, part := range parts {
		switch n := node.(type) {
		case map[string]any:
			next, ok := n[part]
			if !ok {
				return nil, false
			}
			node = next
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(n) {
				return nil, false
			}
			node = n[i]
		default:
			return nil, false
		}
	}
	return node, true
}

func last(p path) string {
	if len(p) == 0 {
		return ""
	}
	return p[len(p)-1]
}

func encode(m map[string]any) json.RawMessage {
	if m == nil {
		return nil
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(m) != nil {
		return nil
	}
	return bytes.TrimSpace(b.Bytes())
}
