package toolpolicy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agentd-host/agentd/core"
)

// subject is what rules look at besides the arguments: a tool, or a
// permission that a tool computed.
type subject struct {
	Name       string // canonical name of the tool or permission
	Effect     core.Effect
	Server     string   // the MCP server it comes from, else ""
	Groups     []string // the tool's labels
	Permission bool     // Name is a permission such as path:outside
	Parameters json.RawMessage
}

// same reports whether a decision made for s serves o.
func (s *subject) same(o *subject) bool {
	return s.Effect == o.Effect && s.Server == o.Server && s.Permission == o.Permission &&
		slices.Equal(s.Groups, o.Groups) && sameBytes(s.Parameters, o.Parameters)
}

// sameBytes reports whether two texts are equal, at once where they are the
// same memory, as the schema of a registered tool is.
func sameBytes(a, b []byte) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0] || bytes.Equal(a, b))
}

// primaryArgument returns the argument that patterns without a key mean: the
// first required one, else the first property.
func primaryArgument(schema json.RawMessage) string {
	v, err := decodeOrdered(schema)
	if err != nil {
		return ""
	}
	top, _ := v.(object)
	if names, ok := top.get("required").([]any); ok && len(names) > 0 {
		name, _ := names[0].(string)
		return name
	}
	if props, ok := top.get("properties").(object); ok && len(props) > 0 {
		return props[0].key
	}
	return ""
}

// arguments are the arguments of one call. They are decoded when the first
// rule looks at them. Not for concurrent use.
type arguments struct {
	// Targets are what the tool computed for this permission; patterns
	// without a key look at them.
	Targets []string

	raw     json.RawMessage
	decoded bool
	fields  []field
	err     error
}

// field is one member of the arguments' object, in the order written.
type field struct {
	key   string
	value any
}

// newArguments returns the arguments that raw, a JSON object, holds. Text
// that is no object is not an error here: rules that tighten match it, rules
// that loosen do not.
func newArguments(raw json.RawMessage, targets ...string) *arguments {
	return &arguments{raw: raw, Targets: targets}
}

func (a *arguments) decode() error {
	if a.decoded {
		return a.err
	}
	a.decoded = true
	if len(bytes.TrimSpace(a.raw)) == 0 {
		return nil
	}
	v, err := decodeOrdered(a.raw)
	if err != nil {
		a.err = err
		return err
	}
	obj, ok := v.(object)
	if !ok {
		a.err = errors.New("arguments are not an object")
		return a.err
	}
	a.fields = obj
	return nil
}

// match reports whether the pattern's arguments match. sure asks for the
// strict reading that a rule which loosens needs.
func (a *arguments) match(p *rulePattern, of *resolved, sure bool) bool {
	for i := range p.args {
		arg := &p.args[i]
		values, ok := a.values(arg, of, sure)
		if !ok {
			return !sure
		}
		if sure && !arg.surely(values, of.subject.Effect.Or() == core.Exec) {
			return false
		}
		if !sure && !arg.perhaps(values) {
			return false
		}
	}
	return true
}

// values returns what an argument's glob is held against; ok is false where
// that can't be said.
func (a *arguments) values(arg *argument, of *resolved, sure bool) (values []string, ok bool) {
	if arg.key == "" && len(a.Targets) > 0 {
		if sure {
			return a.Targets, true
		}
		values = slices.Clone(a.Targets)
	}
	key := arg.key
	if key == "" {
		key = of.primary
	}
	if key == "" {
		return values, len(a.Targets) > 0
	}
	if err := a.decode(); err != nil {
		return values, false
	}
	for _, f := range a.fields {
		if !strings.EqualFold(f.key, key) {
			continue
		}
		// Many decoders take keys without regard to case: two spellings
		// side by side leave open which one counts.
		if sure && f.key != key {
			return nil, false
		}
		values = append(values, texts(f.value, !arg.isPath, sure)...)
	}
	return values, true
}

// texts returns the strings that a value stands for: itself, or for a list
// its elements, or joined as a command line where words says so.
func texts(v any, words, sure bool) []string {
	list, ok := v.([]any)
	if !ok {
		return []string{scalarText(v)}
	}
	var out []string
	for _, e := range list {
		out = append(out, texts(e, false, sure)...)
	}
	if !words || len(out) == 0 {
		return out
	}
	line := commandLine(out)
	if sure {
		return []string{line}
	}
	return append(out, line)
}

func scalarText(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	return string(appendCanonical(nil, v))
}

// commandLine joins words, quoting those that would read as several.
func commandLine(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		if w == "" || strings.ContainsAny(w, " \t\n'\"\\") {
			w = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		quoted[i] = w
	}
	return strings.Join(quoted, " ")
}

// object is a JSON object in the order of its text.
type object []field

// get returns the member of that name, or nil.
func (o object) get(key string) any {
	for _, f := range o {
		if f.key == key {
			return f.value
		}
	}
	return nil
}

// decodeOrdered decodes JSON, keeps the order of objects and the text of
// numbers, and refuses repeated keys: which of them counts depends on who
// reads.
func decodeOrdered(raw []byte) (any, error) {
	if !utf8.Valid(raw) {
		return nil, errors.New("text is not UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	v, err := decodeValue(d, 0)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("text after the JSON value")
	}
	return v, nil
}

// maxDepth bounds the nesting of arguments.
const maxDepth = 64

func decodeValue(d *json.Decoder, depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("nested deeper than %d", maxDepth)
	}
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t {
	case json.Delim('{'):
		return decodeObject(d, depth)
	case json.Delim('['):
		list := []any{}
		for d.More() {
			v, err := decodeValue(d, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err := d.Token()
		return list, err
	}
	return t, nil
}

func decodeObject(d *json.Decoder, depth int) (any, error) {
	obj, seen := object{}, map[string]bool{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, err
		}
		key := t.(string) // the decoder admits no other token here
		if seen[key] {
			return nil, fmt.Errorf("key %q stands twice", key)
		}
		seen[key] = true
		v, err := decodeValue(d, depth+1)
		if err != nil {
			return nil, err
		}
		obj = append(obj, field{key, v})
	}
	_, err := d.Token()
	return obj, err
}
