package schema_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/agentd-host/agentd/core/schema"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type budgets struct {
	Steps int           `json:"steps,omitempty" jsonschema:"default=30,minimum=1"`
	Wall  time.Duration `json:"wall,omitempty" jsonschema:"default=10m"`
}

type server struct {
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Start   time.Duration     `json:"start,omitempty" jsonschema:"default=60s"`
	Env     map[string]string `json:"env,omitempty"`
}

type config struct {
	Model   string            `json:"model" jsonschema_description:"Which model, or auto."`
	Mode    string            `json:"mode,omitempty" jsonschema:"enum=auto,enum=on,enum=off,default=auto"`
	Budgets budgets           `json:"budgets,omitzero"`
	Direct  []string          `json:"direct,omitempty" jsonschema:"default=skill,default=ask_user"`
	Servers map[string]server `json:"servers,omitempty"`
	Ratio   *float64          `json:"ratio"`
	Extra   json.RawMessage   `json:"extra,omitempty"`
	Any     any               `json:"any,omitempty"`
	Port    uint16            `json:"port,omitempty"`
	Addr    netip.Addr        `json:"addr,omitzero"`
	Key     string            `json:"key,omitempty" jsonschema:"writeOnly=true,maxLength=5"`
}

func TestForMakesTheSchemaOfAType(t *testing.T) {
	raw, err := schema.For(reflect.TypeFor[config]())
	if err != nil {
		t.Fatal(err)
	}
	const duration = `"type":"string","pattern":"^-?(0|([0-9]+(\\.[0-9]+)?(ns|us|µs|ms|s|m|h))+)$"`
	want := `{"properties":{` +
		`"model":{"type":"string","description":"Which model, or auto."},` +
		`"mode":{"type":"string","enum":["auto","on","off"],"default":"auto"},` +
		`"budgets":{"properties":{"steps":{"type":"integer","minimum":1,"default":30},` +
		`"wall":{` + duration + `,"default":"10m"}},"additionalProperties":false,"type":"object"},` +
		`"direct":{"items":{"type":"string"},"type":"array","default":["skill","ask_user"]},` +
		`"servers":{"additionalProperties":{"properties":{"command":{"type":"string"},` +
		`"args":{"items":{"type":"string"},"type":"array"},"start":{` + duration + `,"default":"60s"},` +
		`"env":{"additionalProperties":{"type":"string"},"type":"object"}},` +
		`"additionalProperties":false,"type":"object"},"type":"object"},` +
		`"ratio":{"type":"number"},"extra":{},"any":{},` +
		`"port":{"type":"integer","minimum":0},"addr":{"type":"string"},` +
		`"key":{"type":"string","maxLength":5,"writeOnly":true}},` +
		`"additionalProperties":false,"type":"object","required":["model"]}`
	if diff := cmp.Diff(want, string(raw)); diff != "" {
		t.Errorf("schema (-want +got):\n%s", diff)
	}
}

type tree struct {
	Name     string `json:"name"`
	Children []tree `json:"children"`
}

type Base struct {
	ID string `json:"id"`
}

type derived struct {
	Base
	Name string `json:"name"`
}

func TestForRefusesByName(t *testing.T) {
	tests := []struct {
		name string
		typ  reflect.Type
		want string
	}{
		{"a recursive type", reflect.TypeFor[tree](), "schema_test.tree contains itself"},
		{"a channel", reflect.TypeFor[struct{ C chan int }](), ".C: type chan int has no JSON form"},
		{"a function in a list", reflect.TypeFor[struct{ F []func() }](), ".F[]: type func() has no JSON form"},
		{"a URL", reflect.TypeFor[struct{ U url.URL }](), "use string"},
		{"struct keys", reflect.TypeFor[map[struct{ A int }]int](), "map keys"},
		{"a default of the wrong type", reflect.TypeFor[struct {
			N int `json:"n" jsonschema:"default=many"`
		}](), `n: default "many" is not a int`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := schema.For(tt.typ)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("For: %v, want ...%s...", err, tt.want)
			}
		})
	}
}

func TestForPromotesEmbeddedFields(t *testing.T) {
	raw, err := schema.For(reflect.TypeFor[derived]())
	if err != nil {
		t.Fatal(err)
	}
	want := `{"properties":{"id":{"type":"string"},"name":{"type":"string"}},"additionalProperties":false,` +
		`"type":"object","required":["id","name"]}`
	if diff := cmp.Diff(want, string(raw)); diff != "" {
		t.Errorf("schema (-want +got):\n%s", diff)
	}
	var d derived
	if err := schema.Decode(json.RawMessage(`{"id":"a","name":"b"}`), &d); err != nil || d.ID != "a" || d.Name != "b" {
		t.Errorf("Decode: %+v, %v", d, err)
	}
}

func TestValidateExplainsFromTheSchema(t *testing.T) {
	s, err := schema.Of(reflect.TypeFor[config]())
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct{ name, in, want string }{
		{"a fit", `{"model":"auto"}`, ``},
		{"missing", `{}`, `model: missing; want a string`},
		{"unknown with a near name", `{"model":"a","modell":"b"}`, `modell: unknown key; did you mean "model"?`},
		{"unknown in a nested object", `{"model":"a","budgets":{"x":1}}`,
			`budgets.x: unknown key; known are steps, wall`},
		{"type", `{"model":1}`, `model: want a string, got 1`},
		{"enum with a near value", `{"model":"a","mode":"offf"}`,
			`mode: want auto, on or off, got "offf"; did you mean "off"?`},
		{"duration", `{"model":"a","budgets":{"wall":"soon"}}`,
			`budgets.wall: want a duration such as "10s" or "1m30s", got "soon"`},
		{"integer duration", `{"model":"a","budgets":{"wall":10}}`,
			`budgets.wall: want a duration such as "10s" or "1m30s", got 10`},
		{"minimum", `{"model":"a","budgets":{"steps":0}}`, `budgets.steps: want at least 1, got 0`},
		{"in a list and a quoted key", `{"model":"a","servers":{"a.b":{"args":["x",2]}}}`,
			`servers."a.b".args[1]: want a string, got 2`},
		{"a key with slash, tilde and percent", `{"model":"a","servers":{"a/b~%41":{"args":2}}}`,
			`servers."a/b~%41".args: want an array, got 2`},
		{"several", `{"mode":1,"port":-1}`,
			`mode: want a string, got 1; model: missing; want a string; port: want at least 0, got -1`},
		{"a secret is not shown", `{"model":"a","key":"hunter2"}`,
			`key: want at most 5 characters, got a string (hidden)`},
		{"not JSON", `{`, `not valid JSON: unexpected end of JSON input`},
		{"a huge number", `{"model":"a","port":1e10000000}`, `a number is out of range`},
		{"not an object", `[]`, `want an object, got an array`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, s.Validate(json.RawMessage(tt.in)).Error()); diff != "" {
				t.Errorf("issues of %s (-want +got):\n%s", tt.in, diff)
			}
		})
	}
}

func TestIssueCarriesTheParametersSchema(t *testing.T) {
	s, err := schema.Compile(json.RawMessage(`{"type":"object","properties":{
		"a":{"type":"array","items":{"$ref":"#/$defs/n"}},"b":{"type":"string"}},"required":["b"],
		"$defs":{"n":{"type":"integer","minimum":3}}}`))
	if err != nil {
		t.Fatal(err)
	}
	got := s.Validate(json.RawMessage(`{"a":[1]}`))
	want := schema.Issues{
		{Path: "a[0]", Pointer: "/a/0", Keyword: "minimum", Want: "at least 3", Got: "1",
			Message: "want at least 3, got 1", Schema: json.RawMessage(`{"minimum":3,"type":"integer"}`)},
		{Path: "b", Pointer: "/b", Keyword: "required", Want: "a string", Got: "nothing",
			Message: "missing; want a string", Schema: json.RawMessage(`{"type":"string"}`)},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("issues (-want +got):\n%s", diff)
	}
}

func TestValidateForeignSchemas(t *testing.T) {
	tests := []struct{ name, schema, in, want string }{
		{"anyOf is one issue", `{"properties":{"x":{"anyOf":[{"type":"string"},{"type":"integer"}]}}}`, `{"x":[]}`,
			`x: want one of: a string; an integer, got an array`},
		{"oneOf with two matches", `{"oneOf":[{"type":"number"},{"type":"integer"}]}`, `1`,
			`want exactly one of: a number; an integer, got 1`},
		{"several missing are one each", `{"required":["b","a"]}`, `{}`, `a: missing; want a value; b: missing; want a value`},
		{"not", `{"not":{"const":1}}`, `1`, `want anything but {"const":1}, got 1`},
		{"const", `{"const":"x"}`, `2`, `want "x", got 2`},
		{"a false schema", `{"properties":{"x":false}}`, `{"x":1}`, `x: want nothing here, got 1`},
		{"property names", `{"propertyNames":{"maxLength":2}}`, `{"abc":1}`,
			`abc: want at most 2 characters, got the key "abc"`},
		{"unevaluated", `{"properties":{"a":{}},"unevaluatedProperties":false}`, `{"b":1}`, `b: unknown key; want no keys`},
		{"allOf goes down", `{"allOf":[{"properties":{"a":{"type":"null"}}}]}`, `{"a":1}`, `a: want null, got 1`},
		{"if then", `{"if":{"required":["a"]},"then":{"required":["b"]}}`, `{"a":1}`, `b: missing; want a value`},
		{"dependent", `{"dependentRequired":{"a":["b"]}}`, `{"a":1}`,
			`want the keys that go together: {"a":["b"]}, got an object`},
		{"unique", `{"uniqueItems":true}`, `[1,1]`, `want items that all differ, got an array`},
		{"draft 4 exclusive", `{"$schema":"http://json-schema.org/draft-04/schema#","minimum":1,"exclusiveMinimum":true}`,
			`1`, `want more than 1, got 1`},
		{"draft 7 tuple", `{"$schema":"http://json-schema.org/draft-07/schema#","items":[{"type":"string"}],"additionalItems":false}`,
			`["a",1]`, `want no further items, got an array`},
		{"contains", `{"contains":{"const":1}}`, `[2]`, `want an item that is {"const":1}, got an array`},
		{"patternProperties stay known", `{"patternProperties":{"^x-":{}},"additionalProperties":false}`, `{"x-a":1,"y":1}`,
			`y: unknown key; want no keys`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := schema.Compile(json.RawMessage(tt.schema))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, s.Validate(json.RawMessage(tt.in)).Error()); diff != "" {
				t.Errorf("issues (-want +got):\n%s", diff)
			}
		})
	}
}

func TestE29_CompileRefusesWhatIsDangerous(t *testing.T) {
	file := filepath.Join(t.TempDir(), "other.json")
	if err := os.WriteFile(file, []byte(`{"type":"string"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	deep := strings.Repeat(`{"not":`, 200) + `{}` + strings.Repeat(`}`, 200)
	wide := `{"anyOf":[` + strings.Repeat(`{},`, 30_000) + `{}]}`
	refs := `{"anyOf":[` + strings.Repeat(`{"$ref":"#/$defs/a"},`, 3_000) + `{}],"$defs":{"a":{}}}`
	tests := []struct {
		name, schema string
		bound        bool
	}{
		{"a file", `{"$ref":"file://` + filepath.ToSlash(file) + `"}`, false},
		{"a URL", `{"$ref":"http://127.0.0.1:9/x.json"}`, false},
		{"an unknown draft", `{"$schema":"http://127.0.0.1:9/schema"}`, false},
		{"lookahead", `{"pattern":"(?=a)b"}`, false},
		{"required: true", `{"properties":{"a":{"required":true}}}`, false},
		{"properties: null", `{"properties":null}`, false},
		{"type: any", `{"type":"any"}`, false},
		{"an endless reference", `{"$ref":"#"}`, false},
		{"not JSON", `{`, false},
		{"too deep", deep, true},
		{"too many objects", wide, true},
		{"too many references", refs, true},
		{"too large", `{"description":"` + strings.Repeat("x", 600<<10) + `"}`, true},
		{"a huge number", `{"minimum":1e100000000}`, true},
		{"a long number", `{"minimum":` + strings.Repeat("9", 1000) + `}`, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := schema.Compile(json.RawMessage(tt.schema))
			if err == nil {
				t.Fatal("compiled")
			}
			if got := errors.Is(err, schema.ErrSchemaBounds); got != tt.bound {
				t.Errorf("%v: is ErrSchemaBounds = %v, want %v", err, got, tt.bound)
			}
		})
	}
}

func TestE29_ValidationHasABudget(t *testing.T) {
	fan := &strings.Builder{}
	fan.WriteString(`{"$ref":"#/$defs/d0","$defs":{`)
	for i := range 40 {
		fmt.Fprintf(fan, `"d%d":{"anyOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, i+1, i+1)
	}
	fan.WriteString(`"d40":{"type":"string"}}}`)
	nested := strings.Repeat(`{"a":`, 60) + `1` + strings.Repeat(`}`, 60)
	tests := []struct{ name, schema, in string }{
		{"nested anyOf", fan.String(), `1`},
		{"recursion that doubles with each level",
			`{"allOf":[{"properties":{"a":{"$ref":"#"}}},{"properties":{"a":{"$ref":"#"}}}]}`, nested},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := schema.Compile(json.RawMessage(tt.schema))
			if err != nil {
				t.Fatal(err)
			}
			issues := s.Validate(json.RawMessage(tt.in))
			if len(issues) != 1 || !strings.Contains(issues[0].Message, "too expensive") {
				t.Errorf("issues: %v, want one that says it is too expensive", issues)
			}
			if got := s.Validate(json.RawMessage(`{}`)); tt.name != "nested anyOf" && got != nil {
				t.Errorf("a cheap value afterwards: %v", got)
			}
		})
	}
}

func TestTheBudgetSufficesForLargeHonestValues(t *testing.T) {
	s, err := schema.Compile(json.RawMessage(`{"type":"array","items":{"anyOf":[{"type":"string"},
		{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"string"}},"required":["a"]}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	in := "[" + strings.Repeat(`{"a":1,"b":"x"},`, 5_000) + `"end"]`
	if got := s.Validate(json.RawMessage(in)); got != nil {
		t.Errorf("issues: %v", got)
	}
}

func TestValidateRefusesDeepNesting(t *testing.T) {
	s, err := schema.Compile(json.RawMessage(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	fits := strings.Repeat("[", 64) + strings.Repeat("]", 64)
	if got := s.Validate(json.RawMessage(fits)); got != nil {
		t.Errorf("64 levels: %v", got)
	}
	if got := s.Validate(json.RawMessage("[" + fits + "]")); len(got) != 1 || got[0].Keyword != "depth" {
		t.Errorf("65 levels: %v, want one issue about depth", got)
	}
}

func TestCompileIsCachedByText(t *testing.T) {
	raw := json.RawMessage(`{"title":"cached"}`)
	a, err := schema.Compile(raw)
	if err != nil {
		t.Fatal(err)
	}
	b, _ := schema.Compile(append(json.RawMessage(nil), raw...))
	if a != b {
		t.Error("the same text was compiled twice")
	}
}

func TestFormatsOfOursAreAssertedAndThoseOfOthersAreNotes(t *testing.T) {
	type in struct {
		At time.Time `json:"at"`
	}
	own, err := schema.Of(reflect.TypeFor[in]())
	if err != nil {
		t.Fatal(err)
	}
	if got := own.Validate(json.RawMessage(`{"at":"noon"}`)).Error(); got != `at: want text in the format date-time, got "noon"` {
		t.Errorf("ours: %s", got)
	}
	foreign, err := schema.Compile(json.RawMessage(`{"properties":{"at":{"format":"date-time"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := foreign.Validate(json.RawMessage(`{"at":"noon"}`)); got != nil {
		t.Errorf("foreign: %v", got)
	}
}

func ExampleFor() {
	raw, _ := schema.For(reflect.TypeFor[struct {
		City string `json:"city" jsonschema_description:"City name, any language"`
		Days int    `json:"days,omitempty" jsonschema:"default=3,maximum=14"`
	}]())
	fmt.Println(string(raw))
	// Output: {"properties":{"city":{"type":"string","description":"City name, any language"},"days":{"type":"integer","maximum":14,"default":3}},"additionalProperties":false,"type":"object","required":["city"]}
}

func ExampleSchema_Validate() {
	s, _ := schema.Compile([]byte(`{"type":"object","properties":{"mode":{"enum":["auto","ask","off"]}},"required":["name"]}`))
	for _, issue := range s.Validate([]byte(`{"mode":"offf"}`)) {
		fmt.Println(issue)
	}
	// Output:
	// mode: want auto, ask or off, got "offf"; did you mean "off"?
	// name: missing; want a value
}
