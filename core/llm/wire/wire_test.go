package wire

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentd-host/agentd/core/llm"
)

func TestNamesComeBack(t *testing.T) {
	n := NewNames(Common)
	long := strings.Repeat("a", 70)
	names := []string{"read_file", "mcp__x__y", "weather.lookup", "weather lookup", "weather_lookup", "", "日本", long, long + "b"}
	seen := map[string]bool{}
	for _, name := range names {
		w := n.Wire(name)
		if len(w) == 0 || len(w) > Common || strings.Trim(w, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" {
			t.Errorf("%q became %q", name, w)
		}
		if seen[w] {
			t.Errorf("%q is there twice", w)
		}
		seen[w] = true
		if back := n.Canonical(w); back != name {
			t.Errorf("%q came back as %q", name, back)
		}
		if again := n.Wire(name); again != w {
			t.Errorf("%q became %q and %q", name, w, again)
		}
	}
	if n.Wire("read_file") != "read_file" || n.Canonical("made_up") != "made_up" {
		t.Error("good names changed")
	}
}

func FuzzNames(f *testing.F) {
	f.Add("a.b", "a_b")
	f.Fuzz(func(t *testing.T, a, b string) {
		n := NewNames(Common)
		if wa, wb := n.Wire(a), n.Wire(b); (wa == wb) != (a == b) || n.Canonical(wa) != a || n.Canonical(wb) != b {
			t.Errorf("%q, %q became %q, %q", a, b, wa, wb)
		}
	})
}

// TestH21_StreamQuirks: what servers make of indices and ids, and the calls
// that are meant.
func TestH21_StreamQuirks(t *testing.T) {
	at := func(i int, id, name, args string) Delta {
		return Delta{Index: i, HasIndex: true, ID: id, Name: name, Args: args}
	}
	two := []string{`a f {"x":1}`, `b g {"y":2}`}
	same := []string{`a f {"x":1}`, `b f {"y":2}`}
	for _, tt := range []struct {
		name   string
		deltas []Delta
		want   []string
	}{
		{"as it should be", []Delta{at(0, "a", "f", ""), at(0, "", "", `{"x"`), at(0, "", "", `:1}`), at(1, "b", "g", ""), at(1, "", "", `{"y":2}`)}, two},
		{"interleaved", []Delta{at(0, "a", "f", ""), at(1, "b", "g", ""), at(0, "", "", `{"x"`), at(1, "", "", `{"y":2}`), at(0, "", "", `:1}`)}, two},
		{"no index", []Delta{{ID: "a", Name: "f", Args: `{"x"`}, {Args: `:1}`}, {ID: "b", Name: "g"}, {Args: `{"y":2}`}}, two},
		{"index 0 for all", []Delta{at(0, "a", "f", `{"x":1}`), at(0, "b", "g", `{"y":2}`)}, two},
		{"index 0 for all, in pieces", []Delta{at(0, "a", "f", ""), at(0, "", "", `{"x":1}`), at(0, "b", "g", ""), at(0, "", "", `{"y":2}`)}, two},
		{"the same tool twice, whole, index 0", []Delta{at(0, "a", "f", `{"x":1}`), at(0, "b", "f", `{"y":2}`)}, same},
		{"the same tool twice, in pieces, index 0", []Delta{at(0, "a", "f", ""), at(0, "", "", `{"x"`), at(0, "", "", `:1}`), at(0, "b", "f", ""), at(0, "", "", `{"y"`), at(0, "", "", `:2}`)}, same},
		{"the same tool twice, in pieces, no index", []Delta{{ID: "a", Name: "f"}, {Args: `{"x"`}, {Args: `:1}`}, {ID: "b", Name: "f"}, {Args: `{"y"`}, {Args: `:2}`}}, same},
		{"the same tool twice, id and name with each piece", []Delta{at(0, "a", "f", `{"x"`), at(0, "a", "f", `:1}`), at(0, "a", "f", ""), at(0, "b", "f", `{"y"`), at(0, "b", "f", `:2}`), at(0, "b", "f", "\n")},
			[]string{`a f {"x":1}`, "b f {\"y\":2}\n"}},
		{"the same tool twice, a new id and the name with each piece", []Delta{{ID: "a", Name: "f", Args: `{"x"`}, {ID: "a2", Name: "f", Args: `:1}`}, {ID: "a3", Name: "f"}, {ID: "b", Name: "f", Args: `{"y"`}, {ID: "b2", Name: "f", Args: `:2}`}, {ID: "b3", Name: "f"}}, same},
		{"the same tool twice, in pieces, no id and no index", []Delta{{Name: "f"}, {Args: `{"x"`}, {Args: `:1}`}, {Name: "f"}, {Args: `{"y"`}, {Args: `:2}`}},
			[]string{`call_0 f {"x":1}`, `call_1 f {"y":2}`}},
		{"the same tool twice, no id, the name with each piece", []Delta{{Name: "f", Args: `{"x"`}, {Name: "f", Args: `:1}`}, {Name: "f"}, {Name: "f", Args: `{"y"`}, {Name: "f", Args: `:2}`}},
			[]string{`call_0 f {"x":1}`, `call_1 f {"y":2}`}},
		{"the same tool twice, an id for the second alone", []Delta{{Name: "f", Args: `{"x":1}`}, {ID: "b", Name: "f", Args: `{"y":2}`}}, []string{`call_0 f {"x":1}`, `b f {"y":2}`}},
		{"an id that comes late", []Delta{{Name: "f"}, {ID: "a", Name: "f", Args: `{"x"`}, {ID: "a", Name: "f", Args: `:1}`}}, []string{`call_0 f {"x":1}`}},
		{"one id for all", []Delta{{ID: "a", Name: "f", Args: `{"x":1}`}, {ID: "a", Name: "g", Args: `{"y":2}`}}, []string{`a f {"x":1}`, `a g {"y":2}`}},
		{"a brace that ends a piece, but not the arguments", []Delta{{ID: "a", Name: "f", Args: `{"x":{}`}, {ID: "b", Name: "f", Args: `}`}}, []string{`a f {"x":{}}`}},
		{"the same tool twice, whole, no id and no index", []Delta{{Name: "f", Args: `{"x":1}`}, {Name: "f", Args: `{"y":2}`}}, []string{`call_0 f {"x":1}`, `call_1 f {"y":2}`}},
		{"an id that changes with each piece", []Delta{at(0, "a", "f", ""), at(0, "a2", "", `{"x"`), at(0, "a3", "", `:1}`)}, two[:1]},
		{"id and name with each piece", []Delta{at(0, "a", "f", `{"x"`), at(0, "a", "f", `:1}`)}, two[:1]},
		{"a new id and the name with each piece", []Delta{at(0, "a", "f", `{"x"`), at(0, "a2", "f", `:1}`)}, two[:1]},
		{"no arguments", []Delta{at(0, "a", "f", ""), at(1, "b", "g", "")}, []string{"a f ", "b g "}},
		{"a high index first", []Delta{at(3, "a", "f", `{"x":1}`), at(7, "b", "g", `{"y":2}`)}, two},
		{"no id", []Delta{at(0, "", "f", `{"x":1}`)}, []string{`call_0 f {"x":1}`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var calls Calls
			var c llm.Collector
			for _, d := range tt.deltas {
				for _, ev := range calls.Add(d) {
					c.Add(ev)
				}
			}
			events, any := calls.End()
			if !any || len(events) != len(tt.want) {
				t.Errorf("%d ends", len(events))
			}
			var got []string
			for _, call := range c.Answer().Message.Calls() {
				got = append(got, call.ID+" "+call.Name+" "+call.Args)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestH22_SchemasAreNormalised(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"nothing", ``, `{"properties":{},"type":"object"}`},
		{"null", `null`, `{"properties":{},"type":"object"}`},
		{"true", `true`, `{"properties":{},"type":"object"}`},
		{"no properties", `{"type":"object"}`, `{"properties":{},"type":"object"}`},
		{"properties null", `{"type":"object","properties":null}`, `{"properties":{},"type":"object"}`},
		{"a property without type", `{"properties":{"a":{}, "b":true}}`, `{"properties":{"a":{},"b":{}},"type":"object"}`},
		{"a property named properties", `{"properties":{"properties":{"type":"object","properties":{"format":{"type":"string"}}}},"required":["properties"]}`,
			`{"properties":{"properties":{"properties":{"format":{"type":"string"}},"type":"object"}},"required":["properties"],"type":"object"}`},
		{"an array without items", `{"properties":{"a":{"type":"array"}}}`, `{"properties":{"a":{"items":{},"type":"array"}},"type":"object"}`},
		{"a tuple", `{"properties":{"a":{"type":"array","items":[{"type":"string"},{"type":"number"}]}}}`,
			`{"properties":{"a":{"items":{"anyOf":[{"type":"string"},{"type":"number"}]},"type":"array"}},"type":"object"}`},
		{"formats", `{"properties":{"a":{"type":"string","format":"date"},"b":{"type":"string","format":"int53"}}}`,
			`{"properties":{"a":{"format":"date","type":"string"},"b":{"type":"string"}},"type":"object"}`},
		{"a union at the root", `{"anyOf":[{"properties":{"a":{"type":"string"},"c":{}},"required":["a","c"]},{"properties":{"b":{"type":"number"},"c":{}},"required":["b","c"]}]}`,
			`{"properties":{"a":{"type":"string"},"b":{"type":"number"},"c":{}},"required":["c"],"type":"object"}`},
		{"an intersection at the root", `{"allOf":[{"properties":{"a":{}},"required":["a"]},{"$ref":"#/$defs/B"}],"$defs":{"B":{"properties":{"b":{}},"required":["b"]}}}`,
			`{"$defs":{"B":{"properties":{"b":{}},"required":["b"]}},"properties":{"a":{},"b":{}},"required":["a","b"],"type":"object"}`},
		{"a reference at the root", `{"$ref":"#/definitions/A","definitions":{"A":{"type":"object","properties":{"x":{"type":"string"}},"required":["x"]}}}`,
			`{"definitions":{"A":{"properties":{"x":{"type":"string"}},"required":["x"],"type":"object"}},"properties":{"x":{"type":"string"}},"required":["x"],"type":"object"}`},
		{"required: true", `{"properties":{"a":{"type":"string","required":true}},"required":["a","ghost","a"]}`,
			`{"properties":{"a":{"type":"string"}},"required":["a"],"type":"object"}`},
		{"type any", `{"properties":{"a":{"type":"any"},"b":{"type":["string","any"]}}}`, `{"properties":{"a":{},"b":{"type":["string"]}},"type":"object"}`},
		{"lookahead", `{"properties":{"a":{"type":"string","pattern":"^(?!x)"}}}`, `{"properties":{"a":{"type":"string"}},"type":"object"}`},
		{"large numbers", `{"properties":{"a":{"maximum":12345678901234567890}}}`, `{"properties":{"a":{"maximum":12345678901234567890}},"type":"object"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := OpenAI.Parameters(json.RawMessage(tt.in))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Error(diff)
			}
			again, err := OpenAI.Parameters(got)
			if err != nil || string(again) != string(got) {
				t.Errorf("a second time: %s, %v", again, err)
			}
		})
	}
}

func TestSchemasThatCannotBeExpressedSayWhy(t *testing.T) {
	for in, want := range map[string]string{
		`[1]`: "no object", `{`: "no JSON",
		strings.Repeat(`{"properties":{"a":`, 60) + `{}` + strings.Repeat(`}}`, 60): "nested deeper",
		`{"description":"` + strings.Repeat("x", maxSchema) + `"}`:                  "bytes",
	} {
		if _, err := OpenAI.Parameters(json.RawMessage(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: got %v, want %q", in, err, want)
		}
	}
}

// dialectErrors checks a schema by the rules that providers hold to.
func dialectErrors(path string, s any, root bool) (errs []string) {
	m, ok := s.(map[string]any)
	if !ok {
		return []string{path + ": no schema"}
	}
	bad := func(what string) { errs = append(errs, path+": "+what) }
	if root {
		if m["type"] != "object" {
			bad("the root is no object")
		}
		if _, ok := m["properties"].(map[string]any); !ok {
			bad("the root has no properties")
		}
		for _, k := range []string{"anyOf", "oneOf", "allOf", "not", "enum", "if", "$ref"} {
			if _, ok := m[k]; ok {
				bad(k + " at the root")
			}
		}
	}
	if hasType(m, "array") {
		if _, ok := m["items"]; !ok {
			bad("an array without items")
		}
	}
	if r, ok := m["required"]; ok {
		list, ok := r.([]any)
		if !ok || len(list) == 0 {
			bad("required is no list")
		}
		for _, x := range list {
			if _, ok := x.(string); !ok {
				bad("required holds what is no name")
			}
		}
	}
	for _, k := range mapSchema {
		for name, sub := range asMap(m[k]) {
			errs = append(errs, dialectErrors(path+"."+k+"."+name, sub, false)...)
		}
	}
	for _, k := range listSchema {
		if v, ok := m[k]; ok {
			list, _ := v.([]any)
			if len(list) == 0 {
				bad("an empty " + k)
			}
			for i, sub := range list {
				errs = append(errs, dialectErrors(fmt.Sprintf("%s.%s[%d]", path, k, i), sub, false)...)
			}
		}
	}
	for _, k := range oneSchema {
		if sub, ok := m[k]; ok {
			if _, isBool := sub.(bool); isBool && k != "items" {
				continue
			}
			errs = append(errs, dialectErrors(path+"."+k, sub, false)...)
		}
	}
	return errs
}

func asMap(v any) map[string]any { m, _ := v.(map[string]any); return m }

// realTools are the tools of all catalogues, named as the servers' projections
// name them.
func realTools(t *testing.T) (tools []llm.Tool) {
	t.Helper()
	files, err := filepath.Glob("../../../../shared/mcp/catalogs/*.json")
	if err != nil || len(files) == 0 {
		t.Skip("the catalogues of real servers (../shared/mcp/catalogs) are not here")
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var catalogue struct {
			Tools []struct {
				Name        string
				InputSchema json.RawMessage
			}
		}
		if err := json.Unmarshal(raw, &catalogue); err != nil {
			t.Fatal(err)
		}
		server := strings.TrimSuffix(filepath.Base(file), ".json")
		for _, tool := range catalogue.Tools {
			tools = append(tools, llm.Tool{Name: "mcp__" + server + "__" + tool.Name, Parameters: tool.InputSchema})
		}
	}
	if len(tools) < 100 {
		t.Errorf("only %d tools of %d servers", len(tools), len(files))
	}
	return tools
}

// TestToolsOfRealServersFitEveryDialect: none of the tools of real servers is
// left out, all that is sent is in the dialect, and each answers to its name.
func TestToolsOfRealServersFitEveryDialect(t *testing.T) {
	tools := realTools(t)
	for dialect, d := range map[string]Dialect{"openai": OpenAI, "anthropic": Anthropic} {
		sent, warnings := d.Tools(tools, false)
		if len(warnings) > 0 {
			t.Errorf("%s: %q", dialect, warnings)
		}
		names, seen := NewNames(Common), map[string]bool{}
		for _, tool := range sent {
			var v any
			if err := json.Unmarshal(tool.Parameters, &v); err != nil {
				t.Fatal(err)
			}
			for _, e := range dialectErrors("", v, true) {
				t.Errorf("%s %s: %s", tool.Name, dialect, e)
			}
			name := names.Wire(tool.Name)
			if back := names.Canonical(name); len(name) > Common || seen[name] || back != tools[tool.Index].Name {
				t.Errorf("%q is sent as %q and comes back as %q", tools[tool.Index].Name, name, back)
			}
			seen[name] = true
		}
	}
}

func TestToolsThatCannotBeSentAreNamed(t *testing.T) {
	tools := []llm.Tool{{Name: "broken", Parameters: json.RawMessage(`[]`)}, {Name: "later", Deferred: true}, {Name: "now"}}
	for defers, want := range map[bool]string{false: "now 2", true: "later 1, now 2"} {
		sent, warnings := OpenAI.Tools(tools, defers)
		var got []string
		for _, s := range sent {
			got = append(got, fmt.Sprintf("%s %d", s.Name, s.Index))
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("deferred %v: sent %q, want %s", defers, got, want)
		}
		if len(warnings) != 1 || !strings.Contains(warnings[0], "tool broken is left out") {
			t.Errorf("warnings %q", warnings)
		}
	}
}

func TestOptionsLieOverTheBody(t *testing.T) {
	body, err := Body(map[string]any{"model": "<m>", "n": 1}, json.RawMessage(`{"n":2,"seed":7}`))
	if err != nil || string(body) != `{"model":"<m>","n":2,"seed":7}` {
		t.Errorf("got %s, %v", body, err)
	}
	if _, err := Body(map[string]any{}, json.RawMessage(`[]`)); err == nil || !strings.Contains(err.Error(), "options of the request") {
		t.Errorf("got %v", err)
	}
}

// FuzzParameters: whatever schema a server has, what is sent is in the dialect
// or refused.
func FuzzParameters(f *testing.F) {
	f.Add([]byte(`{"anyOf":[{"properties":{"a":{"type":"array"}}}],"$defs":{"x":{"items":[true]}}}`))
	f.Add([]byte(`{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/a","required":["x"]}}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		out, err := OpenAI.Parameters(raw)
		if err != nil {
			return
		}
		var v any
		if err := json.Unmarshal(out, &v); err != nil {
			t.Fatalf("%s: %v", out, err)
		}
		if errs := dialectErrors("", v, true); len(errs) > 0 {
			t.Errorf("%s became %s: %v", raw, out, errs)
		}
	})
}

// FuzzCalls: whatever pieces come, each call is begun once and ended once, and
// no text is lost.
func FuzzCalls(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 9, 18, 27, 255})
	f.Fuzz(func(t *testing.T, script []byte) {
		var calls Calls
		began, text, sent := 0, "", ""
		for _, b := range script {
			d := Delta{Index: int(b & 3), HasIndex: b&4 != 0}
			if b&8 != 0 {
				d.ID = fmt.Sprint("id", b&1)
			}
			if b&16 != 0 {
				d.Name = fmt.Sprint("name", b>>7)
			}
			if b&32 != 0 {
				d.Args = fmt.Sprint(b)
			}
			sent += d.Args
			for _, ev := range calls.Add(d) {
				switch ev.Kind {
				case llm.ToolCallStart:
					if ev.Index != began || ev.ID == "" {
						t.Errorf("call %d begins as %+v", began, ev)
					}
					began++
				case llm.ToolCallDelta:
					if ev.Index >= began {
						t.Errorf("text of a call that did not begin: %+v", ev)
					}
					text += ev.Text
				}
			}
		}
		ends, any := calls.End()
		if again, _ := calls.End(); len(ends) != began || any != (began > 0) || len(again) != 0 || text != sent {
			t.Errorf("%d began, %d ended, %d ended again, %q of %q", began, len(ends), len(again), text, sent)
		}
	})
}

func TestRetryAfterInAllItsForms(t *testing.T) {
	for header, want := range map[string]time.Duration{
		"7": 7 * time.Second, "1.5": 1500 * time.Millisecond, "": 0, "soon": 0, "-3": 0,
		"Mon, 02 Jan 2006 15:04:05 GMT": 0,
	} {
		if got := RetryAfter(http.Header{"Retry-After": {header}}); got != want {
			t.Errorf("%q: got %s, want %s", header, got, want)
		}
	}
	if got := RetryAfter(http.Header{"Retry-After": {"7"}, "Retry-After-Ms": {"20"}}); got != 20*time.Millisecond {
		t.Errorf("got %s", got)
	}
}
