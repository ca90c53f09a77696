package schema_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentd-host/agentd/core/schema"
	"github.com/google/go-cmp/cmp"
)

func TestDecodeFillsDefaults(t *testing.T) {
	var got config
	in := `{"model":"m","budgets":{"steps":5.0},"servers":{"a":{"args":["x"]}},"mode":null,"ratio":0.5}`
	if err := schema.Decode(json.RawMessage(in), &got); err != nil {
		t.Fatal(err)
	}
	half := 0.5
	want := config{
		Model: "m", Mode: "auto", Budgets: budgets{Steps: 5, Wall: 10 * time.Minute}, Ratio: &half,
		Direct:  []string{"skill", "ask_user"},
		Servers: map[string]server{"a": {Args: []string{"x"}, Start: time.Minute}},
	}
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b interface{ IsValid() bool }) bool { return a == b })); diff != "" {
		t.Errorf("config (-want +got):\n%s", diff)
	}
}

func TestDecodeSharesNoDefault(t *testing.T) {
	type in struct {
		List []string       `json:"list" jsonschema:"default=a,default=b"`
		Map  map[string]int `json:"map" jsonschema:"default={\"a\":1\\,\"b\":2}"`
	}
	type outer struct {
		Inner budgets `json:"inner" jsonschema:"default={\"steps\":7}"`
	}
	var own outer
	if err := schema.Decode(json.RawMessage(`{"inner":{"wall":"1s"}}`), &own); err != nil || own.Inner != (budgets{7, time.Second}) {
		t.Errorf("a default of a struct under a part of it: %+v, %v", own, err)
	}
	var first, second in
	if err := schema.Decode(nil, &first); err != nil {
		t.Fatal(err)
	}
	first.List[0], first.Map["a"] = "changed", 99
	if err := schema.Decode(json.RawMessage(`{"map":{"c":3}}`), &second); err != nil {
		t.Fatal(err)
	}
	want := in{List: []string{"a", "b"}, Map: map[string]int{"a": 1, "b": 2, "c": 3}}
	if diff := cmp.Diff(want, second); diff != "" {
		t.Errorf("second (-want +got):\n%s", diff)
	}
}

func TestDecodeIsStrict(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"unknown key", `{"Model":"a"}`, `Model: unknown key; did you mean "model"?`},
		{"twice", `{"model":"a","model":"b"}`, `model: the key is there twice; keep one`},
		{"wrong type", `{"budgets":{"steps":"x"}}`, `budgets.steps: want an integer from -9223372036854775808 to 9223372036854775807, got "x"`},
		{"fraction", `{"budgets":{"steps":1.5}}`, `budgets.steps: want an integer from -9223372036854775808 to 9223372036854775807, got 1.5`},
		{"out of range", `{"port":70000}`, `port: want an integer from 0 to 65535, got 70000`},
		{"a duration without a unit", `{"budgets":{"wall":"10"}}`, `budgets.wall: want a duration such as "10s" or "1m30s", got "10"`},
		{"a duration in a map", `{"servers":{"a":{"start":1}}}`, `servers.a.start: want a duration such as "10s" or "1m30s", got 1`},
		{"an array for an object", `{"servers":[]}`, `servers: want an object, got an array`},
		{"text after the value", `{} {}`, `not valid JSON: invalid character '{' after top-level value`},
		{"too deep", strings.Repeat("[", 65) + strings.Repeat("]", 65), `nested deeper than 64 levels; make it flatter`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := config{Model: "before"}
			err := schema.Decode(json.RawMessage(tt.in), &got)
			if err == nil || err.Error() != tt.want {
				t.Errorf("error %v\nwant  %s", err, tt.want)
			}
			var issues schema.Issues
			if !errors.As(err, &issues) {
				t.Errorf("error is a %T, want Issues", err)
			}
			if got.Model != "before" {
				t.Error("a refused value changed the target")
			}
		})
	}
}

func TestDefaultsAsJSON(t *testing.T) {
	raw, err := schema.Defaults(reflect.TypeFor[config]())
	if err != nil {
		t.Fatal(err)
	}
	want := `{"mode":"auto","budgets":{"steps":30,"wall":"10m"},"direct":["skill","ask_user"]}`
	if diff := cmp.Diff(want, string(raw)); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
	none, err := schema.Defaults(reflect.TypeFor[struct{}]())
	if err != nil || string(none) != "{}" {
		t.Errorf("without defaults: %s, %v", none, err)
	}
}

func TestDecodeOddTypes(t *testing.T) {
	type in struct {
		Pair  [2]time.Duration           `json:"pair"`
		Waits []time.Duration            `json:"waits"`
		ByNum map[int]time.Duration      `json:"by_num"`
		Ptr   *time.Duration             `json:"ptr"`
		Bytes []byte                     `json:"bytes"`
		At    time.Time                  `json:"at"`
		Num   int                        `json:"num,string"`
		Deep  map[string][]*budgets      `json:"deep"`
		Raw   map[string]json.RawMessage `json:"raw"`
	}
	var got in
	text := ` { "pair" : ["1s", "2s"] , "waits":["3s"],"by_num":{"4":"4s"},"ptr":"5s","bytes":"aGk=",
		"at":"2024-01-02T03:04:05Z","num":"6","deep":{"x":[{"steps":1},null]},"raw":{"\u0061":[1, 2]}}`
	if err := schema.Decode(json.RawMessage(text), &got); err != nil {
		t.Fatal(err)
	}
	five := 5 * time.Second
	want := in{
		Pair: [2]time.Duration{time.Second, 2 * time.Second}, Waits: []time.Duration{3 * time.Second},
		ByNum: map[int]time.Duration{4: 4 * time.Second}, Ptr: &five, Bytes: []byte("hi"),
		At: time.Date(2024, 1, 2, 3, 4, 5, 0, time.UTC), Num: 6,
		Deep: map[string][]*budgets{"x": {{Steps: 1, Wall: 10 * time.Minute}, nil}},
		Raw:  map[string]json.RawMessage{"a": json.RawMessage("[1, 2]")},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("value (-want +got):\n%s", diff)
	}
}

func TestLint(t *testing.T) {
	type inner struct {
		Delay int `json:"delay"`
	}
	type bad struct {
		A string         `json:"a" jsonschema:"description=One, two"`
		B string         `json:"b" jsonschema:"minimun=3"`
		C int            `json:"c" jsonschema:"default=x"`
		D int            `json:"d" jsonschema:"minimum=x"`
		E bool           `json:"e" jsonschema:"enum=true"`
		F time.Duration  `json:"f" jsonschema:"default=600"`
		G []inner        `json:"g" jsonschema:"minItems=1"`
		H map[string]any `json:"h,inline"`
		I string         `json:"i" jsonschema:"pattern=("`
		J string         `json:"j" jsonschema:"require"`
	}
	wants := []string{
		`bad.A: the text is cut at the comma before " two"`,
		`bad.B: keyword "minimun" does nothing on a string`,
		`bad.C: c: default "x" is not a int`,
		`bad.D: minimum=x has no effect`,
		`bad.E: keyword "enum" does nothing on a bool`,
		`bad.F: f: default "600" is not a time.Duration`,
		`inner.Delay: an integer without a unit`,
		`bad.H: encoding/json has no option inline`,
		`bad.I: pattern=( has no effect`,
		`bad.J: keyword "require" does nothing`,
	}
	errs := schema.Lint(reflect.TypeFor[bad]())
	for _, want := range wants {
		if !slices.ContainsFunc(errs, func(err error) bool { return strings.Contains(err.Error(), want) }) {
			t.Errorf("Lint lacks %q", want)
		}
	}
	if len(errs) != len(wants) {
		t.Errorf("Lint found %d, want %d: %v", len(errs), len(wants), errs)
	}
	if errs := schema.Lint(reflect.TypeFor[config]()); errs != nil {
		t.Errorf("Lint of a clean type: %v", errs)
	}
	if errs := schema.Lint(reflect.TypeFor[tree]()); len(errs) != 1 {
		t.Errorf("Lint of a recursive type: %v", errs)
	}
}

func TestNearest(t *testing.T) {
	names := []string{"read_file", "write_file", "list_files", "off", "ask", "auto"}
	tests := []struct{ in, want string }{
		{"offf", "off"}, {"aks", "ask"}, {"raed_file", "read_file"}, {"Read_File", "read_file"},
		{"readfile", "read_file"}, {"xyz", ""}, {"o", ""}, {"", ""}, {"write_flie", "write_file"},
	}
	for _, tt := range tests {
		if got := schema.Nearest(tt.in, names); got != tt.want {
			t.Errorf("Nearest(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
	if diff := cmp.Diff([]string{"aaab", "aaac"}, schema.Near("aaaa", []string{"aaac", "zzzz", "aaab", "aaad"}, 2)); diff != "" {
		t.Errorf("Near (-want +got):\n%s", diff)
	}
}

// FuzzDecodeAgrees holds our decoder against encoding/json where both should
// say the same.
func FuzzDecodeAgrees(f *testing.F) {
	type plain struct {
		A string              `json:"a"`
		B []int               `json:"b"`
		C map[string]*plainIn `json:"c"`
		D any                 `json:"d"`
		E json.RawMessage     `json:"e"`
	}
	for _, seed := range []string{`{"a":"x","b":[1,2],"c":{"k":{"n":1.5},"l":null},"d":[{}],"e":{"q":"}"}}`,
		`{"a":"\"\\","c":{"\u00e9":{}}}`, `{"b":[]}`, `null`, `[]`, `{"a":1}`, `{`, `{"d":"\ud800"}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		var got, want plain
		err := schema.Decode(json.RawMessage(in), &got)
		d := json.NewDecoder(strings.NewReader(in))
		d.DisallowUnknownFields()
		if stdErr := d.Decode(&want); err != nil {
			return // we are stricter: case, duplicates, depth
		} else if stdErr != nil && strings.TrimSpace(in) != "" && !strings.ContainsAny(in, ".eE") {
			t.Fatalf("accepted %q, encoding/json says %v", in, stdErr)
		} else if stdErr != nil {
			return
		}
		if diff := cmp.Diff(want, got); diff != "" && !strings.Contains(in, `\u`) {
			t.Errorf("%q (-encoding/json +ours):\n%s", in, diff)
		}
	})
}

type plainIn struct {
	N float64 `json:"n"`
}

// FuzzValidate checks that no schema and no value, however odd, does worse than
// an error.
func FuzzValidate(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`, `{"b":1}`)
	f.Add(`{"anyOf":[{"type":"string"},{"$ref":"#/$defs/x"}],"$defs":{"x":{"enum":[1,"a"]}}}`, `[1]`)
	f.Add(`{"multipleOf":0.1,"maximum":1e300}`, `1e308`)
	f.Add(`{"patternProperties":{"^a":{"minLength":3}},"additionalProperties":false}`, `{"ab":"x","é/~":1}`)
	f.Add(`true`, `null`)
	f.Fuzz(func(t *testing.T, raw, in string) {
		s, err := schema.Compile(json.RawMessage(raw))
		if err != nil {
			return
		}
		first, second := s.Validate(json.RawMessage(in)), s.Validate(json.RawMessage(in))
		if diff := cmp.Diff(first, second); diff != "" {
			t.Errorf("two runs differ:\n%s", diff)
		}
		for _, issue := range first {
			if issue.Message == "" || issue.Want == "" {
				t.Errorf("an issue says nothing: %+v", issue)
			}
		}
	})
}

func ExampleDecode() {
	var cfg struct {
		Every time.Duration `json:"every" jsonschema:"default=10m"`
		Retry int           `json:"retry" jsonschema:"default=3"`
	}
	err := schema.Decode([]byte(`{"every":"90s"}`), &cfg)
	fmt.Println(cfg.Every, cfg.Retry, err)
	// Output: 1m30s 3 <nil>
}

func BenchmarkValidate(b *testing.B) {
	s, err := schema.Of(reflect.TypeFor[config]())
	if err != nil {
		b.Fatal(err)
	}
	in := json.RawMessage(`{"model":"auto","budgets":{"steps":3}}`)
	b.ReportAllocs()
	for b.Loop() {
		if s.Validate(in) != nil {
			b.Fatal("invalid")
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	in := json.RawMessage(`{"model":"auto","budgets":{"steps":3}}`)
	b.ReportAllocs()
	for b.Loop() {
		var c config
		if err := schema.Decode(in, &c); err != nil {
			b.Fatal(err)
		}
	}
}
