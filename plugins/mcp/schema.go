package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The bounds of a schema that is made fit for models.
const (
	schemaDepth  = 40
	inlineDepth  = 6
	schemaBudget = 20_000 // objects after references were put in place
)

var emptySchema = json.RawMessage(`{"type":"object","properties":{}}`)

// modelSchema makes a tool's input schema fit for the providers of models: an
// object with properties at the root, no references, no keyword of the wrong
// type. It never asks the network. One that needs nothing is returned as it
// is; the schema as received stays with the definition.
func modelSchema(raw json.RawMessage) json.RawMessage {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return emptySchema
	}
	root, ok := v.(map[string]any)
	if !ok {
		return emptySchema
	}
	n := &normaliser{root: root}
	out, _ := n.schema(root, nil, 0).(map[string]any)
	out = n.object(out)
	if !n.changed {
		return raw
	}
	data, err := json.Marshal(out)
	if err != nil {
		return emptySchema
	}
	return data
}

// A normaliser rebuilds one schema.
type normaliser struct {
	root    map[string]any
	objects int
	changed bool
}

// These keywords hold a schema, a list of them, a map of them.
var (
	oneSchema   = []string{"items", "additionalProperties", "not", "contains", "propertyNames", "if", "then", "else", "additionalItems", "unevaluatedProperties", "unevaluatedItems"}
	listSchemas = []string{"anyOf", "oneOf", "allOf", "prefixItems"}
	mapSchemas  = []string{"properties", "patternProperties", "dependentSchemas"}
	dropped     = []string{"$schema", "$id", "id", "$defs", "definitions", "$anchor", "$dynamicAnchor", "$comment", "$vocabulary"}
)

// schema rebuilds v, which stands where a schema should. refs are the
// references that led to it.
func (n *normaliser) schema(v any, refs []string, depth int) any {
	m, ok := v.(map[string]any)
	if !ok {
		if b, isBool := v.(bool); isBool && depth > 0 {
			return b
		}
		n.changed = true
		return map[string]any{}
	}
	n.objects++
	if depth > schemaDepth || n.objects > schemaBudget {
		n.changed = true
		return map[string]any{}
	}
	if ref, ok := m["$ref"].(string); ok {
		return n.follow(m, ref, refs, depth)
	}
	out := maps.Clone(m)
	n.keywords(out, depth)
	for _, k := range oneSchema {
		if e, ok := out[k]; ok {
			out[k] = n.oneOrList(k, e, refs, depth)
		}
	}
	for _, k := range listSchemas {
		n.list(out, k, refs, depth)
	}
	for _, k := range mapSchemas {
		n.mapOf(out, k, refs, depth)
	}
	return out
}

// follow puts the target of a reference in its place. A circle, a reference
// to elsewhere and a target that is missing become an open schema.
func (n *normaliser) follow(m map[string]any, ref string, refs []string, depth int) any {
	n.changed = true
	target, ok := n.lookup(ref)
	times := 0
	for _, r := range refs {
		if r == ref {
			times++
		}
	}
	if !ok || times > 0 || len(refs) >= inlineDepth {
		open := map[string]any{}
		if t, isMap := target.(map[string]any); isMap && t["type"] != nil {
			open["type"] = t["type"]
		}
		if d, has := m["description"]; has {
			open["description"] = d
		}
		return open
	}
	res := n.schema(target, append(slices.Clone(refs), ref), depth+1)
	out, isMap := res.(map[string]any)
	if !isMap {
		return res
	}
	for k, v := range m {
		if k != "$ref" && (k == "description" || k == "title" || k == "default") {
			out[k] = v
		}
	}
	return out
}

// lookup finds a local reference: "#", "#/a/b".
func (n *normaliser) lookup(ref string) (any, bool) {
	pointer, local := strings.CutPrefix(ref, "#")
	if !local {
		return nil, false
	}
	var at any = n.root
	if pointer == "" {
		return at, true
	}
	if !strings.HasPrefix(pointer, "/") {
		return nil, false
	}
	for step := range strings.SplitSeq(pointer[1:], "/") {
		m, ok := at.(map[string]any)
		if !ok {
			return nil, false
		}
		step = strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")
		if at, ok = m[step]; !ok {
			return nil, false
		}
	}
	return at, true
}

func (n *normaliser) oneOrList(k string, e any, refs []string, depth int) any {
	list, ok := e.([]any)
	if !ok || k != "items" {
		return n.schema(e, refs, depth+1)
	}
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = n.schema(s, refs, depth+1)
	}
	return out
}

func (n *normaliser) list(out map[string]any, k string, refs []string, depth int) {
	e, ok := out[k]
	if !ok {
		return
	}
	list, ok := e.([]any)
	if !ok || len(list) == 0 {
		delete(out, k)
		n.changed = true
		return
	}
	rebuilt := make([]any, len(list))
	for i, s := range list {
		rebuilt[i] = n.schema(s, refs, depth+1)
	}
	out[k] = rebuilt
}

func (n *normaliser) mapOf(out map[string]any, k string, refs []string, depth int) {
	e, ok := out[k]
	if !ok {
		return
	}
	m, ok := e.(map[string]any)
	if !ok {
		delete(out, k)
		n.changed = true
		return
	}
	rebuilt := make(map[string]any, len(m))
	for name, s := range m {
		switch s.(type) {
		case map[string]any, bool:
			rebuilt[name] = n.schema(s, refs, depth+1)
		default:
			n.changed = true // {"properties": {"type": "object"}}
		}
	}
	out[k] = rebuilt
}

// types are the values that "type" may have.
var types = []string{"object", "array", "string", "number", "integer", "boolean", "null"}

// keywords removes or repairs what is of the wrong type or of an old draft.
func (n *normaliser) keywords(m map[string]any, depth int) {
	for _, k := range dropped {
		if _, ok := m[k]; ok && (depth > 0 || k != "$schema") {
			delete(m, k)
			n.changed = true
		}
	}
	if t, ok := m["type"]; ok && !validType(t) {
		delete(m, "type")
		n.changed = true
	}
	if r, ok := m["required"]; ok && !isStrings(r) {
		delete(m, "required")
		n.changed = true
	}
	n.oldBound(m, "exclusiveMinimum", "minimum")
	n.oldBound(m, "exclusiveMaximum", "maximum")
}

// oldBound turns draft 4's boolean into the bound that it means.
func (n *normaliser) oldBound(m map[string]any, exclusive, bound string) {
	b, ok := m[exclusive].(bool)
	if !ok {
		return
	}
	n.changed = true
	delete(m, exclusive)
	if limit, has := m[bound]; b && has {
		m[exclusive] = limit
		delete(m, bound)
	}
}

func validType(v any) bool {
	if s, ok := v.(string); ok {
		return slices.Contains(types, s)
	}
	list, ok := v.([]any)
	return ok && len(list) > 0 && !slices.ContainsFunc(list, func(e any) bool {
		s, ok := e.(string)
		return !ok || !slices.Contains(types, s)
	})
}

func isStrings(v any) bool {
	list, ok := v.([]any)
	return ok && !slices.ContainsFunc(list, func(e any) bool { _, ok := e.(string); return !ok })
}

// object makes the root an object with properties.
func (n *normaliser) object(m map[string]any) map[string]any {
	if m == nil {
		m = map[string]any{}
	}
	for _, k := range []string{"anyOf", "oneOf", "allOf"} {
		n.fold(m, k)
	}
	if m["type"] != "object" {
		m["type"] = "object"
		n.changed = true
	}
	if _, ok := m["properties"].(map[string]any); !ok {
		m["properties"] = map[string]any{}
		n.changed = true
	}
	return m
}

// fold merges the branches of a combinator at the root, which providers
// refuse there, into the root's own properties. What holds of every branch
// stays required; the alternatives are told in the description.
func (n *normaliser) fold(m map[string]any, k string) {
	branches, ok := m[k].([]any)
	if !ok {
		return
	}
	n.changed = true
	delete(m, k)
	props, _ := m["properties"].(map[string]any)
	props = maps.Clone(props)
	if props == nil {
		props = map[string]any{}
	}
	var needs [][]string
	for _, b := range branches {
		branch, _ := b.(map[string]any)
		own, _ := branch["properties"].(map[string]any)
		for name, s := range own {
			props[name] = either(props[name], s)
		}
		needs = append(needs, stringsOf(branch["required"]))
	}
	m["properties"] = props
	required := stringsOf(m["required"])
	if k == "allOf" {
		for _, need := range needs {
			required = append(required, need...)
		}
	} else {
		required = append(required, common(needs)...)
		tellAlternatives(m, branches)
	}
	slices.Sort(required)
	if required = slices.Compact(required); len(required) > 0 {
		m["required"] = required
	}
	if k != "allOf" {
		delete(m, "additionalProperties")
	}
}

// either joins two schemas of one property.
func either(a, b any) any {
	if a == nil || equalJSON(a, b) {
		return b
	}
	if m, ok := a.(map[string]any); ok && len(m) == 1 {
		if list, ok := m["anyOf"].([]any); ok {
			return map[string]any{"anyOf": append(slices.Clone(list), b)}
		}
	}
	return map[string]any{"anyOf": []any{a, b}}
}

func equalJSON(a, b any) bool {
	x, err1 := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err1 == nil && err2 == nil && bytes.Equal(x, y)
}

func tellAlternatives(m map[string]any, branches []any) {
	var told []string
	for _, b := range branches {
		branch, _ := b.(map[string]any)
		own, _ := branch["properties"].(map[string]any)
		names := slices.Sorted(maps.Keys(own))
		required := stringsOf(branch["required"])
		for _, r := range required {
			if !slices.Contains(names, r) {
				names = append(names, r)
			}
		}
		for i, name := range names {
			if !slices.Contains(required, name) {
				names[i] = name + "?"
			}
		}
		if len(names) > 0 {
			told = append(told, "{"+strings.Join(names, ", ")+"}")
		}
	}
	if len(told) < 2 {
		return
	}
	text := fmt.Sprintf("Give one of: %s.", strings.Join(told, " or "))
	if d, ok := m["description"].(string); ok && d != "" {
		text = d + " " + text
	}
	m["description"] = text
}

// common are the names in all lists.
func common(lists [][]string) []string {
	var out []string
	if len(lists) == 0 {
		return nil
	}
	for _, name := range lists[0] {
		missing := slices.ContainsFunc(lists[1:], func(l []string) bool { return !slices.Contains(l, name) })
		if !missing {
			out = append(out, name)
		}
	}
	return out
}

func stringsOf(v any) []string {
	switch v := v.(type) {
	case []string:
		return v
	case []any:
		var out []string
		for _, e := range v {
			if s, ok := e.(string); ok {
				out = append(out, s)
			}
		}
		return out
	}
	return nil
}
