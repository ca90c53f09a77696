package mcp

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestRule7_ModelSchema(t *testing.T) {
	const empty = `{"type":"object","properties":{}}`
	for _, tt := range []struct{ name, in, want string }{
		{"sound schemas stay byte by byte", `{ "type":"object", "properties":{"b":{"type":"string"},"a":{}} }`, `{ "type":"object", "properties":{"b":{"type":"string"},"a":{}} }`},
		{"M7 missing", ``, empty},
		{"M7 true", `true`, empty},
		{"M7 a list", `[]`, empty},
		{"M7 null", `null`, empty},
		{"M7 {}", `{}`, `{"properties":{},"type":"object"}`},
		{"M7 gitlab's", `{"$schema":"http://json-schema.org/draft-07/schema#"}`, `{"$schema":"http://json-schema.org/draft-07/schema#","properties":{},"type":"object"}`},
		{"M11 a type among the properties", `{"type":"object","properties":{"type":"object","a":{"type":"string"}}}`, `{"properties":{"a":{"type":"string"}},"type":"object"}`},
		{"properties null", `{"type":"object","properties":null}`, `{"properties":{},"type":"object"}`},
		{"M6 branches at the root",
			`{"description":"D.","anyOf":[{"type":"object","properties":{"a":{"type":"string"},"c":{"type":"integer"}},"required":["a","c"]},{"properties":{"b":{},"c":{"type":"string"}},"required":["c"]}]}`,
			`{"description":"D. Give one of: {a, c} or {b?, c}.","properties":{"a":{"type":"string"},"b":{},"c":{"anyOf":[{"type":"integer"},{"type":"string"}]}},"required":["c"],"type":"object"}`},
		{"M6 allOf", `{"allOf":[{"properties":{"a":{}},"required":["a"]},{"properties":{"b":{}},"required":["b"]}]}`, `{"properties":{"a":{},"b":{}},"required":["a","b"],"type":"object"}`},
		{"M9 a local reference", `{"type":"object","properties":{"a":{"$ref":"#/$defs/x","description":"A"}},"$defs":{"x":{"type":"string","minLength":1}}}`, `{"properties":{"a":{"description":"A","minLength":1,"type":"string"}},"type":"object"}`},
		{"M9 a property as target", `{"type":"object","properties":{"a":{"type":"integer"},"b":{"$ref":"#/properties/a"}}}`, `{"properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"type":"object"}`},
		{"M9 the network", `{"type":"object","properties":{"a":{"$ref":"http://127.0.0.1:1/x"}}}`, `{"properties":{"a":{}},"type":"object"}`},
		{"M9 nowhere", `{"type":"object","properties":{"a":{"$ref":"#/$defs/none"}}}`, `{"properties":{"a":{}},"type":"object"}`},
		{"M9 a circle", `{"type":"object","properties":{"n":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"object","properties":{"next":{"$ref":"#/$defs/n"}}}}}`, `{"properties":{"n":{"properties":{"next":{"type":"object"}},"type":"object"}},"type":"object"}`},
		{"M9 itself", `{"type":"object","properties":{"me":{"$ref":"#"}}}`, `{"properties":{"me":{"properties":{"me":{"type":"object"}},"type":"object"}},"type":"object"}`},
		{"draft 4 bounds", `{"type":"object","properties":{"n":{"minimum":0,"exclusiveMinimum":true,"maximum":9,"exclusiveMaximum":false}}}`, `{"properties":{"n":{"exclusiveMinimum":0,"maximum":9}},"type":"object"}`},
		{"a type that is none", `{"type":"object","properties":{"n":{"type":"any","required":true}}}`, `{"properties":{"n":{}},"type":"object"}`},
		{"$ keys stay", `{"type":"object","properties":{"$filter":{"type":"string"}}}`, `{"type":"object","properties":{"$filter":{"type":"string"}}}`},
		{"data is not a schema", `{"type":"object","properties":{"a":{"enum":[{"$ref":"x"}],"default":{"type":"any"}}}}`, `{"type":"object","properties":{"a":{"enum":[{"$ref":"x"}],"default":{"type":"any"}}}}`},
		{"big numbers stay", `{"type":"object","properties":{"a":{"maximum":12345678901234567890,"type":"any"}}}`, `{"properties":{"a":{"maximum":12345678901234567890}},"type":"object"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, string(modelSchema(json.RawMessage(tt.in)))); diff != "" {
				t.Errorf("modelSchema(%s) (-want +got):\n%s", tt.in, diff)
			}
		})
	}
}

// checkFit fails if a provider would refuse the schema.
func checkFit(t *testing.T, raw json.RawMessage) {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal(raw, &m); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	props, ok := m["properties"].(map[string]any)
	if m["type"] != "object" || !ok {
		t.Errorf("the root is no object with properties: %.200s", raw)
	}
	for name, p := range props {
		if _, isMap := p.(map[string]any); !isMap {
			if _, isBool := p.(bool); !isBool {
				t.Errorf("property %q is %v", name, p)
			}
		}
	}
	for _, k := range []string{"anyOf", "oneOf", "allOf", "$defs", "definitions"} {
		if _, has := m[k]; has {
			t.Errorf("%s at the root of %.200s", k, raw)
		}
	}
	if strings.Contains(string(raw), `"$ref":"#`) {
		t.Errorf("a reference is left in %.200s", raw)
	}
}

func TestRule7_RealCatalogs(t *testing.T) {
	start, n := time.Now(), 0
	for server, entries := range catalogs(t) {
		defs, problems := readDefinitions(entries)
		if len(problems) > 0 || len(defs) != len(entries) {
			t.Errorf("%s: %d of %d tools; %q", server, len(defs), len(entries), problems)
		}
		for _, d := range defs {
			checkFit(t, modelSchema(d.Input))
			n++
		}
	}
	t.Logf("%d tools in %v", n, time.Since(start))
}

func FuzzModelSchema(f *testing.F) {
	f.Add(`{"anyOf":[{"$ref":"#"},true]}`)
	f.Add(`{"properties":{"a":{"items":[{"$ref":"#/properties/a"}]}},"allOf":[{"required":[1]}]}`)
	f.Fuzz(func(t *testing.T, in string) {
		raw := modelSchema(json.RawMessage(in))
		var m map[string]any
		if err := json.Unmarshal(raw, &m); err != nil || m["type"] != "object" {
			t.Errorf("modelSchema(%q) = %s", in, raw)
		}
		if again := modelSchema(raw); string(canonical(again)) != string(canonical(raw)) {
			t.Errorf("modelSchema(%q) = %s, and again %s", in, raw, again)
		}
	})
}

func BenchmarkLoadCatalogs(b *testing.B) {
	all := catalogs(b)
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for server, entries := range all {
			switch server {
			case "azure", "playwright", "n8n-full":
				continue // another mode of one that is there
			}
			defs, _ := readDefinitions(entries)
			for _, d := range defs {
				_ = modelSchema(d.Input)
				_ = publicName(server, d.Name)
			}
			n += len(defs)
		}
		b.ReportMetric(float64(n), "tools")
	}
}
