package mcp

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"time"
)

// A shape is what the protocol says about a value. It returns the value
// without what does not fit, byte by byte the same if all does, and false if
// nothing is left of it. Strict clients refuse a whole list for one value that
// is not what it should be.
type shape func(json.RawMessage) (json.RawMessage, bool)

// object is one with members of these shapes, some of which it must have.
// Others may be anything: a server's extensions are not for us to judge.
func object(members map[string]shape, required ...string) shape {
	fit := eachMember(func(name string) shape { return members[name] })
	return func(raw json.RawMessage) (json.RawMessage, bool) {
		kept, ok := fit(raw)
		for _, name := range required {
			f, err := readFields(kept)
			ok = ok && err == nil && f.get(name) != nil
		}
		return kept, ok
	}
}

// mapOf is an object whose members all have one shape.
func mapOf(value shape) shape { return eachMember(func(string) shape { return value }) }

func eachMember(shapeOf func(name string) shape) shape {
	return func(raw json.RawMessage) (json.RawMessage, bool) {
		f, err := readFields(raw)
		if err != nil {
			return nil, false
		}
		kept, changed := make(fields, 0, len(f)), false
		for _, e := range f {
			value, ok := e.value, string(e.value) != "null"
			if fit := shapeOf(e.name); ok && fit != nil {
				value, ok = fit(e.value)
			}
			changed = changed || !ok || !bytes.Equal(value, e.value)
			if ok {
				kept = append(kept, field{e.name, value})
			}
		}
		if !changed {
			return raw, true
		}
		return kept.raw(), true
	}
}

// arrayOf is an array of values of a shape.
func arrayOf(element shape) shape {
	return func(raw json.RawMessage) (json.RawMessage, bool) {
		var all []json.RawMessage
		if json.Unmarshal(raw, &all) != nil || all == nil {
			return nil, false
		}
		kept, changed := []json.RawMessage{}, false
		for _, e := range all {
			value, ok := element(e)
			changed = changed || !ok || !bytes.Equal(value, e)
			if ok {
				kept = append(kept, value)
			}
		}
		if !changed {
			return raw, true
		}
		return encode(kept), true
	}
}

// valueOf is a value that decodes into a T and of which ok holds.
func valueOf[T any](ok func(T) bool) shape {
	return func(raw json.RawMessage) (json.RawMessage, bool) {
		var v *T
		if json.Unmarshal(raw, &v) != nil || v == nil || (ok != nil && !ok(*v)) {
			return nil, false
		}
		return raw, true
	}
}

func oneOf(words ...string) shape {
	return valueOf(func(s string) bool { return slices.Contains(words, s) })
}

// isObject is an object that is none of our business.
func isObject(raw json.RawMessage) (json.RawMessage, bool) { return raw, raw[0] == '{' }

// The parts that entries of lists are made of.
var (
	aText   = valueOf[string](nil)
	aFlag   = valueOf[bool](nil)
	aNumber = valueOf[float64](nil)
	aTime   = valueOf(func(s string) bool { _, err := time.Parse(time.RFC3339, s); return err == nil })
	aShare  = valueOf(func(f float64) bool { return f >= 0 && f <= 1 })

	icons = arrayOf(object(map[string]shape{
		"src": aText, "mimeType": aText, "sizes": arrayOf(aText), "theme": oneOf("light", "dark"),
	}, "src"))
	promptArguments = arrayOf(object(map[string]shape{
		"name": aText, "title": aText, "description": aText, "required": aFlag,
	}, "name"))
	audience = object(map[string]shape{
		"audience": arrayOf(oneOf("user", "assistant")), "priority": aShare, "lastModified": aTime,
	})
)

// entry is the shape of a list's entry: what all of them have, and more.
func entry(id string, more map[string]shape) shape {
	members := map[string]shape{
		"name": aText, "title": aText, "description": aText, "icons": icons, "_meta": isObject, id: aText,
	}
	maps.Copy(members, more)
	return object(members, id, "name")
}

// The entries of the lists, in all revisions of the protocol.
var (
	aTool = entry("name", map[string]shape{
		"inputSchema": madeObject, "outputSchema": ofObject,
		"annotations": object(map[string]shape{
			"title": aText, "readOnlyHint": aFlag, "destructiveHint": aFlag, "idempotentHint": aFlag, "openWorldHint": aFlag,
		}),
		"execution": object(map[string]shape{"taskSupport": oneOf("required", "optional", "forbidden")}),
	})
	aPrompt   = entry("name", map[string]shape{"arguments": promptArguments})
	aResource = entry("uri", map[string]shape{"mimeType": aText, "size": aNumber, "annotations": audience})
	aTemplate = entry("uriTemplate", map[string]shape{"mimeType": aText, "annotations": audience})
)

// A schema's parts that the protocol speaks of.
var schemaParts = object(map[string]shape{"$schema": aText, "properties": mapOf(aProperty), "required": arrayOf(aText)})

// aProperty is a schema in the form that all clients take: an object.
func aProperty(raw json.RawMessage) (json.RawMessage, bool) {
	switch string(raw) {
	case "true":
		return json.RawMessage("{}"), true
	case "false":
		return json.RawMessage(`{"not":{}}`), true
	}
	return raw, raw[0] == '{'
}

// ofObject is a schema of type object.
func ofObject(raw json.RawMessage) (json.RawMessage, bool) {
	fitted, ok := schemaParts(raw)
	return fitted, ok && hasTypeObject(fitted)
}

// madeObject makes any schema one of type object, with as little change as
// that takes.
func madeObject(raw json.RawMessage) (json.RawMessage, bool) {
	fitted, ok := schemaParts(raw)
	switch {
	case !ok:
		return emptySchema, true
	case hasTypeObject(fitted):
		return fitted, true
	}
	f, err := readFields(fitted)
	return f.with("type", json.RawMessage(`"object"`)).raw(), err == nil
}

func hasTypeObject(schema json.RawMessage) bool {
	f, err := readFields(schema)
	return err == nil && string(f.get("type")) == `"object"`
}
