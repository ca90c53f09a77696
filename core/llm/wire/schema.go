package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Limits of a schema that is sent on.
const (
	maxSchema = 256 << 10
	maxDepth  = 40
)

// Dialect says which JSON Schemas a provider takes as a tool's parameters.
type Dialect struct {
	// Formats that are known; others are dropped.
	Formats []string
	// Dropped are keywords that the provider refuses.
	Dropped []string
}

// The dialects of the providers that there are adapters for.
var (
	OpenAI = Dialect{
		Formats: []string{"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"},
		Dropped: []string{"$schema", "$id", "$comment", "deprecated", "readOnly", "writeOnly"},
	}
	Anthropic = Dialect{
		Formats: []string{
			"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid", "uri", "uri-reference", "regex",
		},
		Dropped: []string{"$id", "$comment"},
	}
)

// Types of JSON Schema.
var jsonTypes = []string{"string", "number", "integer", "boolean", "object", "array", "null"}

// Where a keyword holds schemas: one, a list, or a map by name. In the maps a
// key is a name that somebody chose, and no keyword.
var (
	oneSchema  = []string{"items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames", "additionalItems", "unevaluatedItems", "unevaluatedProperties"}
	listSchema = []string{"anyOf", "oneOf", "allOf", "prefixItems"}
	mapSchema  = []string{"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"}
)

// Parameters gives a tool's schema as the provider takes it: always an object
// with properties, unions at the root folded, arrays with items, nothing that
// is not understood. The schema itself is not changed. An error says why a
// tool cannot be expressed; it is then left out with a warning.
func (d Dialect) Parameters(raw json.RawMessage) (json.RawMessage, error) {
	if len(raw) > maxSchema {
		return nil, fmt.Errorf("its schema has %d bytes, more than %d", len(raw), maxSchema)
	}
	root, err := d.decode(raw)
	if err != nil {
		return nil, err
	}
	if err := d.schema(root, 0); err != nil {
		return nil, err
	}
	foldRoot(root)
	root["type"] = "object"
	if _, ok := root["properties"].(map[string]any); !ok {
		root["properties"] = map[string]any{}
	}
	keepRequired(root)
	return Marshal(root)
}

// decode reads the root. No schema, true, null and the like mean any object.
func (d Dialect) decode(raw json.RawMessage) (map[string]any, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return map[string]any{}, nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, fmt.Errorf("its schema is no JSON: %w", err)
	}
	switch root := v.(type) {
	case map[string]any:
		return root, nil
	case nil, bool:
		return map[string]any{}, nil
	}
	return nil, errors.New("its schema is no object")
}

// schema normalises one schema in place, and those within it.
func (d Dialect) schema(s map[string]any, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("its schema is nested deeper than %d", maxDepth)
	}
	for _, k := range d.Dropped {
		delete(s, k)
	}
	tidyType(s)
	d.tidyKeywords(s)
	if err := d.within(s, depth); err != nil {
		return err
	}
	if hasType(s, "array") {
		if _, ok := s["items"]; !ok {
			s["items"] = map[string]any{}
		}
	}
	if hasType(s, "object") && depth > 0 {
		keepRequired(s)
	}
	return nil
}

// within normalises the schemas that a schema holds.
func (d Dialect) within(s map[string]any, depth int) error {
	for _, k := range oneSchema {
		sub, ok := s[k]
		if !ok {
			continue
		}
		if err := d.one(s, k, sub, depth); err != nil {
			return err
		}
	}
	for _, k := range listSchema {
		if _, ok := s[k]; !ok {
			continue
		}
		list, err := d.list(s[k], depth)
		if err != nil {
			return err
		}
		if len(list) == 0 {
			delete(s, k)
			continue
		}
		s[k] = list
	}
	for _, k := range mapSchema {
		if err := d.named(s, k, depth); err != nil {
			return err
		}
	}
	return nil
}

// one normalises a keyword's schema. A list of items is an old way to write a
// tuple: any of them.
func (d Dialect) one(s map[string]any, k string, sub any, depth int) error {
	switch v := sub.(type) {
	case map[string]any:
		return d.schema(v, depth+1)
	case bool:
		if k == "items" {
			s[k] = map[string]any{}
		}
	case []any:
		list, err := d.list(v, depth)
		if err != nil {
			return err
		}
		s[k] = map[string]any{}
		if len(list) > 0 {
			s[k] = map[string]any{"anyOf": list}
		}
	default:
		delete(s, k)
	}
	return nil
}

func (d Dialect) list(v any, depth int) ([]any, error) {
	in, _ := v.([]any)
	var out []any
	for _, x := range in {
		sub, ok := x.(map[string]any)
		if !ok {
			if x != true {
				continue
			}
			sub = map[string]any{}
		}
		if err := d.schema(sub, depth+1); err != nil {
			return nil, err
		}
		out = append(out, sub)
	}
	return out, nil
}

// named normalises a map of schemas. A value that is none takes anything.
func (d Dialect) named(s map[string]any, k string, depth int) error {
	v, ok := s[k]
	if !ok {
		return nil
	}
	m, ok := v.(map[string]any)
	if !ok {
		delete(s, k)
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		sub, ok := m[name].(map[string]any)
		if !ok {
			sub = map[string]any{}
			m[name] = sub
		}
		if err := d.schema(sub, depth+1); err != nil {
			return err
		}
	}
	return nil
}
