package index

import (
	"encoding/json"
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

// FuzzSchema compares the walk with one over decoded JSON, by what they find.
func FuzzSchema(f *testing.F) {
	f.Add([]byte(`{"properties":{"a":{"description":"A","items":{"properties":{"b":{"enum":["x"]}}}}}}`))
	f.Add([]byte(`{"anyOf":[{"properties":{"a":{}}}]}{`))
	f.Add([]byte(`{"a":]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var s schemaText
		s.walk(raw)
		var v struct {
			Properties map[string]any
		}
		if json.Unmarshal(raw, &v) != nil {
			return
		}
		for _, name := range s.names {
			if name == "" && len(v.Properties) == 0 && len(raw) < 8 {
				t.Errorf("found a parameter in %q", raw)
			}
		}
	})
}
