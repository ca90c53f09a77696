package config

import (
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v4"
)

// ErrNotEditable is wrapped by the errors of edits that can't be made with
// certainty, because of aliases, merge keys, block scalars, or a file that is
// broken already. A person has to edit such a file.
var ErrNotEditable = errors.New("this can't be edited with certainty, change it by hand")

func refuse(format string, args ...any) error {
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), ErrNotEditable)
}

// NoEntryError says that a file has no entry of an id.
type NoEntryError struct{ id, near string }

func (e *NoEntryError) Error() string {
	return fmt.Sprintf("there is no entry %q in this file%s", e.id, e.near)
}

// broken refuses to edit a file; the issues are those of its text.
func broken(err error) error {
	return fmt.Errorf("the file is broken: %w: %w", err, ErrNotEditable)
}

// SetPolicy returns text, the content of an agent.yml, with the rule for
// pattern set to value. Every other byte stays, comments and quotes with it.
func (s *Schema) SetPolicy(text []byte, pattern, value string) ([]byte, error) {
	if err := CheckPattern(pattern); err != nil {
		return nil, fmt.Errorf("pattern %q: %w", pattern, err)
	}
	value, err := checkPolicy(value, true)
	if err != nil {
		return nil, err
	}
	return s.Set(text, []string{"tools", "policy", pattern}, value)
}

// Set returns text with the value at path set, which is a string, a bool, an
// int64 or a float64, or, for a key that is not there yet, a mapping or list of
// such; variables in those stay variables. The second step of a path below plugins may be an
// entry's id. Mappings that are missing are made.
func (s *Schema) Set(text []byte, path []string, value any) ([]byte, error) {
	e, err := s.newEditor(text)
	if err != nil {
		return nil, err
	}
	if len(path) == 0 {
		return nil, errors.New("the path is empty")
	}
	return e.set(e.fileKeys(path), value)
}

// SetEnabled returns text with the entry of the given id, or name:id, enabled
// or disabled. Only the ~ before its key comes or goes.
func (s *Schema) SetEnabled(text []byte, id string, enabled bool) ([]byte, error) {
	e, err := s.newEditor(text)
	if err != nil {
		return nil, err
	}
	var ids []string
	entry := e.find(child(e.root, "plugins"), id, &ids)
	if entry == nil {
		return nil, &NoEntryError{id, didYouMean(id, ids)}
	}
	return e.toggle(entry, enabled)
}

// editor holds a file that is being edited.
type editor struct {
	schema *Schema
	bom    []byte
	text   []byte
	root   *yaml.Node // a mapping, or nil for an empty file
	tree   map[string]any
	eol    string
}

func (s *Schema) newEditor(text []byte) (*editor, error) {
	body, err := checkText("", text)
	if err != nil {
		return nil, broken(err)
	}
	e := &editor{schema: s, text: body, bom: text[:len(text)-len(body)], eol: "\n"}
	if i := strings.IndexByte(string(body), '\n'); i > 0 && body[i-1] == '\r' {
		e.eol = "\r\n"
	}
	if e.root, e.tree, err = s.plainTree(body); err != nil {
		return nil, broken(err)
	}
	return e, nil
}

// plainTree parses text into nodes, and into a tree of plain values in which
// aliases are resolved and variables are not.
func (s *Schema) plainTree(text []byte) (*yaml.Node, map[string]any, error) {
	root, err := parse("", text)
	if err != nil {
		return nil, nil, err
	}
	if root == nil || root.Tag == "!!null" && root.Anchor == "" {
		return nil, map[string]any{}, nil
	}
	var issues collector
	w := newWalker("", s, &issues, newLayer("", true))
	w.nulls = true
	v, _ := w.value(root, place{})
	if err := issues.err(); err != nil {
		return nil, nil, err
	}
	tree, ok := v.(map[string]any)
	if !ok || root.Kind != yaml.MappingNode {
		return nil, nil, errors.New("want a mapping")
	}
	return root, tree, nil
}

// child returns the value of a key of a mapping, or nil.
func child(n *yaml.Node, key string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if k := n.Content[i]; k.Kind == yaml.ScalarNode && k.Tag == "!!str" && k.Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// fileKeys replaces ids of entries on the path by the keys that the file has.
func (e *editor) fileKeys(path []string) []string {
	out := append([]string(nil), path...)
	n := child(e.root, "plugins")
	for i := 1; path[0] == "plugins" && i < len(out) && n != nil && n.Kind == yaml.MappingNode; i += 2 {
		for j := 0; j+1 < len(n.Content); j += 2 {
			if k, err := parseEntryKey(n.Content[j].Value); err == nil && e.means(k, out[i]) {
				out[i] = n.Content[j].Value
			}
		}
		if i+1 >= len(out) || out[i+1] != "plugins" {
			break
		}
		n = child(child(n, out[i]), "plugins")
	}
	return out
}

// means reports whether a key is that of the entry id.
func (e *editor) means(k entryKey, id string) bool {
	is := e.schema.identify(k)
	return is.id == id || k.name+":"+is.id == id || is.plugin+":"+is.id == id
}

// find returns the node that names an entry, also inside groups, and notes the
// ids that it saw.
func (e *editor) find(plugins *yaml.Node, id string, ids *[]string) *yaml.Node {
	if plugins == nil {
		return nil
	}
	var nested []*yaml.Node
	names, values := plugins.Content, []*yaml.Node(nil)
	if plugins.Kind == yaml.SequenceNode {
		names = nil
		for _, item := range plugins.Content {
			if n := child(item, "id"); n != nil {
				names, values = append(names, n), append(values, child(item, "config"))
			}
		}
	} else if plugins.Kind == yaml.MappingNode {
		names = nil
		for i := 0; i+1 < len(plugins.Content); i += 2 {
			names, values = append(names, plugins.Content[i]), append(values, plugins.Content[i+1])
		}
	}
	for i, n := range names {
		k, err := parseEntryKey(n.Value)
		if err != nil || n.Kind != yaml.ScalarNode {
			continue
		}
		*ids = append(*ids, e.schema.identify(k).id)
		if e.means(k, id) {
			return n
		}
		if k.name == GroupName {
			nested = append(nested, child(values[i], "plugins"))
		}
	}
	for _, n := range nested {
		if found := e.find(n, id, ids); found != nil {
			return found
		}
	}
	return nil
}

func (e *editor) toggle(name *yaml.Node, enabled bool) ([]byte, error) {
	disabled := strings.HasPrefix(name.Value, "~")
	if disabled != enabled {
		return e.result(e.text), nil // nothing to do
	}
	if !direct(name) {
		return nil, refuse("line %d: the key has a tag, an anchor or is a block", name.Line)
	}
	at := e.offset(name)
	if name.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0 {
		at++
	}
	if enabled && e.text[at] != '~' {
		return nil, refuse("line %d: the ~ is written in another way", name.Line)
	}
	was, now := name.Value, "~"+name.Value
	insert, remove := "~", 0
	if enabled {
		now, insert, remove = name.Value[1:], "", 1
	}
	out := splice(e.text, at, at+remove, insert)
	want := renamed(e.tree, was, now)
	return e.verify(out, want)
}

// renamed is the tree with one key of a plugins mapping, or the id of an item
// of a list, changed. The key may be spelt the same elsewhere, so that there
// is one tree for each such place.
func renamed(tree map[string]any, was, now string) []map[string]any {
	var all []map[string]any
	var visit func(path []any, v any)
	visit = func(path []any, v any) {
		switch v := v.(type) {
		case map[string]any:
			for key, inner := range v {
				if key == was {
					all = append(all, changed(tree, path, func(at any) any { return moveKey(at, was, now) }))
				}
				visit(append(path[:len(path):len(path)], key), inner)
			}
		case []any:
			for i, inner := range v {
				if m, ok := inner.(map[string]any); ok && m["id"] == was {
					at := append(path[:len(path):len(path)], i, "id")
					all = append(all, changed(tree, at, func(any) any { return now }))
				}
				visit(append(path[:len(path):len(path)], i), inner)
			}
		}
	}
	visit(nil, tree)
	return all
}

func moveKey(v any, was, now string) any {
	m := v.(map[string]any)
	out := without(m, was)
	out[now] = m[was]
	return out
}

// changed copies what lies on path and replaces what is at its end. Mappings
// that are missing are made.
func changed(tree any, path []any, f func(any) any) map[string]any {
	var step func(v any, path []any) any
	step = func(v any, path []any) any {
		if len(path) == 0 {
			return f(v)
		}
		switch key := path[0].(type) {
		case int:
			out := append([]any(nil), v.([]any)...)
			out[key] = step(out[key], path[1:])
			return out
		default:
			m, _ := v.(map[string]any)
			out := without(m)
			out[key.(string)] = step(m[key.(string)], path[1:])
			return out
		}
	}
	return step(tree, path).(map[string]any)
}

// verify parses what came out and requires one of the wanted trees.
func (e *editor) verify(out []byte, want []map[string]any) ([]byte, error) {
	_, tree, err := e.schema.plainTree(out)
	if err != nil {
		return nil, refuse("the result would be broken: %v", err)
	}
	for _, w := range want {
		if sameJSON(tree, w) {
			return e.result(out), nil
		}
	}
	return nil, refuse("the result would change something else")
}

func (e *editor) result(body []byte) []byte {
	return append(append([]byte(nil), e.bom...), body...)
}
