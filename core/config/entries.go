package config

import (
	"github.com/agentd-host/agentd/core/schema"
	"go.yaml.in/yaml/v4"
)

// plugins walks a plugins mapping, or a list of {id, config}, into entries.
func (w *walker) plugins(n *yaml.Node, at place) map[string]any {
	m := map[string]any{}
	if n.Kind == yaml.SequenceNode {
		for _, item := range n.Content {
			if p, ok := w.listEntry(item, at); ok {
				w.entry(m, p, at)
			}
		}
		return m
	}
	for _, p := range w.inner(n, at) {
		w.entry(m, p, at)
	}
	return m
}

// listEntry reads an item {id: name, config: {...}} of a plugins list.
func (w *walker) listEntry(item *yaml.Node, at place) (pair, bool) {
	n, done, ok := w.resolve(item, at.shown)
	if !ok {
		return pair{}, false
	}
	defer done()
	if n.Kind != yaml.MappingNode {
		w.issue(item, at.shown, "an item of a plugins list is {id: name, config: {...}}")
		return pair{}, false
	}
	out := pair{value: &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Line: n.Line, Column: n.Column}}
	for _, p := range w.pairs(n, at) {
		switch {
		case p.key == "id" && p.value.Kind == yaml.ScalarNode && p.value.Tag == "!!str":
			out.key, out.at = p.value.Value, p.value
		case p.key == "config":
			out.value = p.value
		default:
			w.issues.add(Issue{Pos: w.pos(p.at), Path: at.child(p.key).shown,
				Message: "an item of a plugins list has a text id and a mapping config",
				Nearest: schema.Nearest(p.key, []string{"id", "config"})})
		}
	}
	if out.at == nil {
		w.issue(n, at.shown, "this item has no id; want {id: name, config: {...}}")
		return pair{}, false
	}
	return out, true
}

func (w *walker) entry(m map[string]any, p pair, at place) {
	k, err := parseEntryKey(p.key)
	if err != nil {
		w.issue(p.at, at.shown, "%v", err)
		return
	}
	e := w.schema.identify(k)
	keyText := p.key
	if k.disabled {
		keyText = keyText[1:]
	}
	child := place{join(at.path, e.id), displayKey(at.shown, keyText), at.depth + 1}
	if first := w.out.at[child.path]; first != nil {
		w.issue(p.at, child.shown, "the entry %q is here twice, first in line %d; give one of them an id: %s:other",
			e.id, first.key.Line, k.name)
		return
	}
	o := &origin{key: w.pos(p.at), value: w.pos(p.value), shown: child.shown, text: p.key}
	w.out.note(at.path, e.id, o)
	child.path = join(child.path, fieldConfig)
	w.out.at[child.path] = o
	options := w.options(e, p.value, child)
	m[e.id] = map[string]any{fieldPlugin: e.plugin, fieldDisabled: k.disabled, fieldConfig: options}
}

// options walks what an entry is configured with. Null means {}.
func (w *walker) options(e identity, v *yaml.Node, at place) map[string]any {
	n, done, ok := w.resolve(v, at.shown)
	if !ok || !w.spend(n, at.depth, 1, 0) {
		return map[string]any{}
	}
	defer done()
	m := map[string]any{}
	for _, p := range w.inner(n, at) {
		if e.plugin == GroupName && p.key == "plugins" {
			inner := at.child(p.key)
			w.note(at, p, inner)
			if n, done, ok := w.resolve(p.value, inner.shown); ok {
				m[p.key] = w.plugins(n, inner)
				done()
			}
			continue
		}
		w.put(m, p, at)
	}
	for _, key := range sortedKeys(e.implied) {
		if _, set := m[key]; !set {
			w.out.note(at.path, key, &origin{key: w.pos(n), value: w.pos(n), shown: displayKey(at.shown, key)})
			m[key] = e.implied[key]
		}
	}
	return m
}
