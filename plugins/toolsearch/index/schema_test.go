package index

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestRule27_SchemaText(t *testing.T) {
	for name, c := range map[string]struct {
		in           string
		names, texts []string
	}{
		"nothing":       {``, nil, nil},
		"no object":     {`[1, {"properties": {"a": {}}}]`, nil, nil},
		"plain":         {`{"type":"object","properties":{"city":{"type":"string","description":"City name"}},"required":["city"]}`, []string{"city"}, []string{"City name"}},
		"escapes":       {`{"properties":{"a\"b":{"description":"x\ny é"}}}`, []string{`a"b`}, []string{"x\ny é"}},
		"nested":        {`{"properties":{"a":{"properties":{"b":{"description":"B"}},"description":"A"}}}`, []string{"a", "b"}, []string{"A", "B"}},
		"items":         {`{"properties":{"a":{"type":"array","items":{"properties":{"b":{}}}}}}`, []string{"a", "b"}, nil},
		"combinators":   {`{"anyOf":[{"properties":{"a":{}}},{"oneOf":[{"properties":{"b":{}}}]}],"allOf":[{"properties":{"c":{}}}]}`, []string{"a", "b", "c"}, nil},
		"enum":          {`{"properties":{"unit":{"enum":["celsius","kelvin",3,null]}}}`, []string{"unit"}, []string{"celsius", "kelvin"}},
		"long enum":     {`{"properties":{"n":{"enum":["a","b","c","d","e","f","g","h","i","j","k","l","m"]}}}`, []string{"n"}, nil},
		"named as key":  {`{"properties":{"description":{"description":"text"},"properties":{"type":"string"}}}`, []string{"description", "properties"}, []string{"text"}},
		"booleans":      {`{"properties":{"a":true,"b":null,"c":[1]},"additionalProperties":false}`, []string{"a", "b", "c"}, nil},
		"cut off":       {`{"properties":{"a":{"description":"A"},"b":{"descr`, []string{"a", "b"}, []string{"A"}},
		"wrong bracket": {`{"properties":{"a":{"enum":["x"}},"b":{}}`, []string{"a"}, []string{"x"}},
	} {
		t.Run(name, func(t *testing.T) {
			var s schemaText
			s.walk(json.RawMessage(c.in))
			if diff := cmp.Diff([][]string{c.names, c.texts}, [][]string{s.names, s.texts}, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// FuzzSchema compares the walk with one over decoded JSON: of a valid schema
// no parameter's name may be missed.
func FuzzSchema(f *testing.F) {
	f.Add([]byte(`{"properties":{"a":{"description":"A","items":{"properties":{"b":{"enum":["x"]}}}}}}`))
	f.Add([]byte(`{"anyOf":[{"properties":{"a":{}}}]}{`))
	f.Add([]byte(`{"a":]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var s schemaText
		s.walk(raw)
		var v any
		if json.Unmarshal(raw, &v) != nil {
			return
		}
		for _, name := range decodedNames(v, 0) {
			if !slices.Contains(s.names, name) {
				t.Errorf("missed %q in %q: %q", name, raw, s.names)
			}
		}
	})
}

// decodedNames is the plain way to find the names.
func decodedNames(v any, depth int) (names []string) {
	schema, ok := v.(map[string]any)
	if !ok || depth > schemaDepth {
		return nil
	}
	properties, _ := schema["properties"].(map[string]any)
	for name, p := range properties {
		names = append(append(names, name), decodedNames(p, depth+1)...)
	}
	for _, key := range []string{"items", "additionalProperties"} {
		names = append(names, decodedNames(schema[key], depth+1)...)
	}
	for _, key := range []string{"anyOf", "oneOf", "allOf"} {
		list, _ := schema[key].([]any)
		for _, x := range list {
			names = append(names, decodedNames(x, depth+1)...)
		}
	}
	return names
}
