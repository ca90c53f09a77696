package config

import (
	"github.com/agentd-host/agentd/core/schema"
	"go.yaml.in/yaml/v4"
)

// plugins walks a plugins mapping, or a list of {id, config}, into entries.
func (w *walker) plugins(n *yaml.Node, path, shown string, depth int) map[string]any {
	m := map[string]any{}
	if n.Kind == yaml.SequenceNode {
		for _, item := range n.Content {
			if p, ok := w.listEntry(item, shown, depth); ok {
				w.entry(m, p, path, shown, depth)
			}
		}
		return m
	}
	for _, p := range w.inner(n, shown, depth) {
		w.entry(m, p, path, shown, depth)
	}
	return m
}

// listEntry reads an item {id: name, config: {...}} of a plugins list.
func (w *walker) listEntry(item *yaml.Node, shown string, depth int) (pair, bool) {
	n, done, ok := w.resolve(item, shown)
	if !ok {
		return pair{}, false
	}
	defer done()
	if n.Kind != yaml.MappingNode {
		w.issue(item, shown, "an item of a plugins list is {id: name, config: {...}}")
		return pair{}, false
	}
	out := pair{value: &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Line: n.Line, Column: n.Column}}
	for _, p := range w.pairs(n, shown, depth) {
		switch {
		case p.key == "id" && p.value.Kind == yaml.ScalarNode && p.value.Tag == "!!str":
			out.key, out.at = p.value.Value, p.value
		case p.key == "config":
			out.value = p.value
		default:
			w.issues.add(Issue{Pos: w.pos(p.at), Path: displayKey(shown, p.key),
				Message: "an item of a plugins list has a text id and a mapping config",
				Nearest: schema.Nearest(p.key, []string{"id", "config"})})
		}
	}
	if out.at == nil {
		w.issue(n, shown, "this item has no id; want {id: name, config: {...}}")
		return pair{}, false
	}
	return out, true
}

func (w *walker) entry(m map[string]any, p pair, path, shown string, depth int) {
	k, err := parseEntryKey(p.key)
	if err != nil {
		w.issue(p.at, shown, "%v", err)
		return
	}
	e := w.schema.identify(k)
	keyText := p.key
	if k.disabled {
		keyText = keyText[1:]
	}
	shown = displayKey(shown, keyText)
	at := join(path, e.id)
	if first := w.out.at[at]; first != nil {
		w.issue(p.at, shown, "the entry %q is here twice, first in line %d; give one of them an id: %s:other",
			e.id, first.key.Line, k.name)
		return
	}
	o := &origin{key: w.pos(p.at), value: w.pos(p.value), shown: shown, text: p.key}
	w.out.note(path, e.id, o)
	w.out.at[join(at, fieldConfig)] = o
	options := w.options(e, p.value, join(at, fieldConfig), shown, depth+1)
	m[e.id] = map[string]any{fieldPlugin: e.plugin, fieldDisabled: k.disabled, fieldConfig: options}
}

// options walks what an entry is configured with. Null means {}.
func (w *walker) options(e identity, v *yaml.Node, path, shown string, depth int) map[string]any {
	n, done, ok := w.resolve(v, shown)
	if !ok || !w.spend(n, depth, 1, 0) {
		return map[string]any{}
	}
	defer done()
	m := map[string]any{}
	for _, p := range w.inner(n, shown, depth) {
		inner := displayKey(shown, p.key)
		if e.plugin == GroupName && p.key == "plugins" {
			w.out.note(path, p.key, &origin{key: w.pos(p.at), value: w.pos(p.value), shown: inner})
			if n, done, ok := w.resolve(p.value, inner); ok {
				m[p.key] = w.plugins(n, join(path, p.key), inner, depth+1)
				done()
			}
			continue
		}
		w.put(m, p, path, p.key, inner, depth)
	}
	for _, key := range sortedKeys(e.implied) {
		if _, set := m[key]; !set {
			w.out.note(path, key, &origin{key: w.pos(n), value: w.pos(n), shown: displayKey(shown, key)})
			m[key] = e.implied[key]
		}
	}
	return m
}
