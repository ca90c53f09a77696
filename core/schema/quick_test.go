package schema

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

func TestQuickAcceptsWhatToolsUse(t *testing.T) {
	type in struct {
		Path  string   `json:"path"`
		Lines int      `json:"lines,omitempty" jsonschema:"minimum=1,maximum=100"`
		Mode  string   `json:"mode,omitempty" jsonschema:"enum=a,enum=b"`
		Tags  []string `json:"tags,omitempty"`
		Deep  struct {
			On bool `json:"on"`
		} `json:"deep,omitzero"`
	}
	s, err := Of(reflect.TypeFor[in]())
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]bool{
		`{"path":"x"}`: true, `{ "path" : "\u0078" , "lines":7,"mode":"b","tags":["x","y"],"deep":{"on":true}}`: true,
		`{}`: false, `{"path":1}`: false, `{"path":"x","lines":0}`: false, `{"path":"x","lines":101}`: false,
		`{"path":"x","mode":"c"}`: false, `{"path":"x","tags":[1]}`: false, `{"path":"x","deep":{}}`: false,
		`{"path":"x","more":1}`: false, `[]`: false, `{"path":"x","lines":1e0}`: false,
	}
	for in, want := range tests {
		if got := s.quick.accepts([]byte(in)); got != want {
			t.Errorf("accepts(%s) = %v, want %v", in, got, want)
		}
	}
}

func TestQuickLeavesTheDoubtfulToTheValidator(t *testing.T) {
	for _, schema := range []string{`{"type":"object"}`, `{"items":{}}`, `{}`} {
		s, err := Compile(json.RawMessage(schema))
		if err != nil {
			t.Fatal(err)
		}
		for _, in := range []string{`{"x":1e999}`, `[1e999]`, `1e999`, `{"x":[1e999]}`} {
			if s.Validate(json.RawMessage(in)) == nil {
				t.Errorf("%s takes %s, which does not decode", schema, in)
			}
		}
	}
}

func TestOursCompileAsDraft7(t *testing.T) {
	s, err := Of(reflect.TypeFor[struct{ A int }]())
	if err != nil || s.inner.Draft != jsonschema.Draft7 || s.meter != nil {
		t.Errorf("draft %v, metered %v, %v", s.inner.Draft, s.meter != nil, err)
	}
}

// FuzzQuickAgrees holds that what is accepted quickly is valid.
func FuzzQuickAgrees(f *testing.F) {
	for _, s := range [][2]string{
		{`{"type":"object","properties":{"a":{"type":"string","enum":["x"]},"b":{"items":{"type":"integer","minimum":-3}}},"required":["a"],"additionalProperties":false}`, `{"a":"x","b":[1,-2]}`},
		{`{"type":["string","null"],"pattern":"^a+$"}`, `"aaa"`},
		{`{"properties":{"a":{},"a":true},"required":["a","a"]}`, `{"a":1e999,"\u0061":2}`},
		{`{"type":"number","maximum":5}`, `5`},
		{`{"items":{},"additionalProperties":true}`, `[[1e400],{"b":-0}]`},
		{`{"properties":{"type":{"type":"array"}},"required":["type"]}`, `{"type":[],"x":1.5}`},
	} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, raw, in string) {
		s, err := Compile(json.RawMessage(raw))
		value := bytes.TrimSpace([]byte(in))
		if err != nil || s.quick == nil || !json.Valid(value) || depth(value) > MaxDepth || !s.quick.accepts(value) {
			return
		}
		slow := *s
		slow.quick = nil
		if issues := slow.Validate(value); issues != nil {
			t.Errorf("%s accepts %s quickly; the validator says %v", raw, value, issues)
		}
	})
}
