package config

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
)

// node is what this package needs to know of a JSON schema: the way from a
// path to a type.
type node struct {
	Types      []string
	Properties map[string]*node
	Additional *node // nil if nothing more is allowed or known
	Items      *node
	Required   []string
	WriteOnly  bool
	Branches   []*node // of anyOf, oneOf and allOf
}

// UnmarshalJSON reads a schema. Keywords that do not matter here are skipped.
func (n *node) UnmarshalJSON(raw []byte) error {
	if string(raw) == "true" || string(raw) == "false" {
		return nil
	}
	var doc struct {
		Type                 json.RawMessage
		Properties           map[string]*node
		AdditionalProperties json.RawMessage
		PatternProperties    map[string]*node
		Items                json.RawMessage
		Required             []string
		WriteOnly            bool
		AnyOf, OneOf, AllOf  []*node
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		return err
	}
	*n = node{Properties: doc.Properties, Required: doc.Required, WriteOnly: doc.WriteOnly,
		Branches: slices.Concat(doc.AnyOf, doc.OneOf, doc.AllOf)}
	var one string
	if json.Unmarshal(doc.Type, &one) == nil && one != "" {
		n.Types = []string{one}
	} else {
		json.Unmarshal(doc.Type, &n.Types) // absent, or a list
	}
	n.Additional = subschema(doc.AdditionalProperties)
	for _, p := range doc.PatternProperties {
		n.Additional = p // Go maps with number keys have one pattern
	}
	n.Items = subschema(doc.Items)
	return nil
}

// subschema reads a keyword that may hold a schema.
func subschema(raw json.RawMessage) *node {
	if len(raw) == 0 || raw[0] != '{' {
		return nil
	}
	sub := &node{}
	if sub.UnmarshalJSON(raw) != nil {
		return nil
	}
	return sub
}

// child returns the schema of a key, or nil if it says nothing about it.
func (n *node) child(key string) *node {
	if n == nil {
		return nil
	}
	if strings.HasPrefix(key, "#") && n.Items != nil {
		return n.Items
	}
	if p := n.Properties[key]; p != nil {
		return p
	}
	for _, b := range n.Branches {
		if c := b.child(key); c != nil {
			return c
		}
	}
	return n.Additional
}

// at follows a JSON pointer; what is inside a secret is one.
func (n *node) at(pointer string) *node {
	if pointer == "" {
		return n
	}
	for step := range strings.SplitSeq(pointer[1:], "/") {
		if n == nil || n.secret() {
			return n
		}
		below := n.child(unescapePointer.Replace(step))
		if below == nil {
			below = n.Items
		}
		n = below
	}
	return n
}

// has reports whether the schema knows an option, given with dots.
func (n *node) has(name string) bool {
	for key := range strings.SplitSeq(name, ".") {
		if n = n.child(key); n == nil {
			return false
		}
	}
	return true
}

// keys lists the names that the schema knows.
func (n *node) keys() []string {
	if n == nil {
		return nil
	}
	names := sortedKeys(n.Properties)
	for _, b := range n.Branches {
		names = append(names, b.keys()...)
	}
	return names
}

func (n *node) types() []string {
	if n == nil {
		return nil
	}
	types := slices.Clone(n.Types)
	for _, b := range n.Branches {
		types = append(types, b.types()...)
	}
	return types
}

// secret reports whether values here must not be shown.
func (n *node) secret() bool {
	return n != nil && (n.WriteOnly || slices.ContainsFunc(n.Branches, (*node).secret))
}

// coerce turns text that came from a variable into the type that is wanted, if
// it is plainly one. Where text is allowed it stays text.
func (n *node) coerce(s string) any {
	types := n.types()
	if len(types) == 0 || slices.Contains(types, "string") {
		return s
	}
	if slices.Contains(types, "boolean") && (s == "true" || s == "false") {
		return s == "true"
	}
	if slices.Contains(types, "integer") || slices.Contains(types, "number") {
		if i, err := strconv.ParseInt(s, 10, 64); err == nil {
			return i
		}
	}
	if slices.Contains(types, "number") {
		if f, err := strconv.ParseFloat(s, 64); err == nil && !math.IsInf(f, 0) && !math.IsNaN(f) {
			return f
		}
	}
	return s
}
