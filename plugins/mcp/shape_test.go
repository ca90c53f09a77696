package mcp

import (
	"encoding/json"
	"testing"
)

func TestRule7_OneOddToolSpoilsNoList(t *testing.T) {
	const name, schema = `{"name":"x",`, `"inputSchema":{"type":"object"}`
	for in, want := range map[string]string{
		// What the protocol allows stays as it was written.
		name + `"inputSchema":{ "type":"object", "x-own":[null] },"own":{"a":null},"annotations":{"readOnlyHint":true,"x":null,"own":1}}`: name + `"inputSchema":{ "type":"object", "x-own":[null] },"own":{"a":null},"annotations":{"readOnlyHint":true,"own":1}}`,
		name + schema + `,"annotations":{"title":null,"readOnlyHint":"yes","idempotentHint":true}}`:                                       name + schema + `,"annotations":{"idempotentHint":true}}`,
		name + schema + `,"annotations":[]}`: name + schema + `}`,
		name + schema + `,"title":{},"description":7,"execution":"x","_meta":[],"icons":{},"own":null}`: name + schema + `}`,
		name + schema + `,"execution":{"taskSupport":"maybe"}}`:                                         name + schema + `,"execution":{}}`,
		name + schema + `,"icons":[{"src":"a","sizes":"48x48","theme":"dark"},{"sizes":[]},7]}`:         name + schema + `,"icons":[{"src":"a","theme":"dark"}]}`,
		name + `"inputSchema":{"type":"object","properties":null,"required":null,"$schema":7}}`:         name + schema + `}`,
		name + `"inputSchema":{"type":"object","properties":{"a":true,"b":false,"c":null,"d":"string","e":{"x":null}}}}`: name +
			`"inputSchema":{"type":"object","properties":{"a":{},"b":{"not":{}},"e":{"x":null}}}}`,
		name + `"inputSchema":{"required":["a",7],"type":["object","null"]}}`: name + `"inputSchema":{"required":["a"],"type":"object"}}`,
		name + `"inputSchema":{"anyOf":[{}]}}`:                                name + `"inputSchema":{"anyOf":[{}],"type":"object"}}`,
		name + `"inputSchema":[]}`:                                            name + `"inputSchema":` + string(emptySchema) + `}`,
		name + `"inputSchema":null}`:                                          name + `"inputSchema":` + string(emptySchema) + `}`,
		`{"name":"x"}`:                                                        name + `"inputSchema":` + string(emptySchema) + `}`,
		name + schema + `,"outputSchema":{"type":"object","required":null}}`:  name + schema + `,"outputSchema":{"type":"object"}}`,
		name + schema + `,"outputSchema":{"type":"array"}}`:                   name + schema + `}`,
		name + schema + `,"outputSchema":true}`:                               name + schema + `}`,
	} {
		d, err := readDefinition(json.RawMessage(in))
		if err != nil {
			t.Fatal(err)
		}
		if got := string(d.listing("x")); got != want {
			t.Errorf("%s\n got %s\nwant %s", in, got, want)
		}
	}
}

func TestRule7_OneOddEntrySpoilsNoList(t *testing.T) {
	merged := &mount{}
	for _, tt := range []struct{ list, in, want string }{
		{"prompts/list", `{"name":"p","description":null,"title":7,"arguments":[{"name":"a","required":"yes"},{"description":"x"},null]}`,
			`{"name":"mcp__s__p","arguments":[{"name":"a"}]}`},
		{"prompts/list", `{"name":"p","arguments":{}}`, `{"name":"mcp__s__p"}`},
		{"prompts/list", `{"name":null}`, ``},
		{"prompts/list", `[]`, ``},
		{"resources/list", `{"uri":"a:b","name":"n","mimeType":null,"size":"7","own":7}`, `{"uri":"agentd://s/a:b","name":"n","own":7}`},
		{"resources/list", `{"uri":"a:b","annotations":{"audience":"user","priority":2,"lastModified":"today"}}`,
			`{"uri":"agentd://s/a:b","annotations":{},"name":"a:b"}`},
		{"resources/list", `{"uri":"a:b","name":"n","annotations":{"audience":["user","all"],"priority":0.5,"lastModified":"2025-01-12T15:00:58Z"}}`,
			`{"uri":"agentd://s/a:b","name":"n","annotations":{"audience":["user"],"priority":0.5,"lastModified":"2025-01-12T15:00:58Z"}}`},
		{"resources/list", `{"name":"n"}`, ``},
		{"resources/templates/list", `{"uriTemplate":"a:{b}","name":null,"description":[]}`, `{"uriTemplate":"agentd://s/a:{b}","name":"a:{b}"}`},
	} {
		if got := string(merged.public("s", lists[tt.list], json.RawMessage(tt.in))); got != tt.want {
			t.Errorf("%s\n got %s\nwant %s", tt.in, got, tt.want)
		}
		transparent := &mount{name: "s"}
		if got := string(transparent.public("s", lists[tt.list], json.RawMessage(tt.in))); got != tt.in {
			t.Errorf("%s became %s", tt.in, got)
		}
	}
}

// What real servers list needs no change, but the type that some leave out.
func TestRule7_RealToolsAreListedAsReceived(t *testing.T) {
	for server, tools := range catalogs(t) {
		for _, raw := range tools {
			d, err := readDefinition(raw)
			if err != nil {
				t.Fatal(err)
			}
			if !hasTypeObject(d.Input) {
				continue
			}
			f, _ := readFields(raw)
			if got, want := string(d.listing(d.Name)), string(f.raw()); got != want {
				t.Errorf("%s:\n got %s\nwant %s", server, got, want)
			}
		}
	}
}

func FuzzShape(f *testing.F) {
	f.Add([]byte(`{"name":"x","inputSchema":{"properties":{"a":true}},"icons":[{"src":"x"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, entry := range []shape{aTool, aPrompt, aResource, aTemplate} {
			once, ok := entry(data)
			if !ok {
				continue
			}
			if twice, ok := entry(once); !ok || string(twice) != string(once) {
				t.Errorf("%s becomes %s and then %s", data, once, twice)
			}
		}
	})
}
