package config

import (
	"bytes"
	"encoding/json"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Redacted stands for a secret in what is shown.
const Redacted = "<redacted>"

// Show returns what is in force as YAML, defaults included, in the order of
// the file. Secrets are not in it: what the schema marks as write-only is
// [Redacted], and what came from variables is shown as the variables' names.
func (d *Document) Show() ([]byte, error) {
	s := shower{d}
	root := mapping()
	put(root, "version", scalar(Version))
	if policy := s.policy(d.Policy, d.Tighten); len(policy.Content) > 0 {
		tools := mapping()
		put(tools, "policy", policy)
		put(root, "tools", tools)
	}
	plugins, _ := d.merged["plugins"].(map[string]any)
	put(root, "plugins", s.entries(d.Entries, plugins, "plugins"))
	var b bytes.Buffer
	dumper, err := yaml.NewDumper(&b, yaml.WithV4Defaults(), yaml.WithIndent(2))
	if err != nil {
		return nil, err
	}
	if err := dumper.Dump(root); err != nil {
		return nil, err
	}
	return b.Bytes(), dumper.Close()
}

type shower struct{ d *Document }

func (s shower) policy(sources ...[]PolicyRule) *yaml.Node {
	m := mapping()
	seen := map[string]bool{}
	for _, rules := range sources {
		for _, r := range rules {
			if !seen[r.Pattern] {
				seen[r.Pattern] = true
				put(m, r.Pattern, scalar(r.Value))
			}
		}
	}
	return m
}

func (s shower) entries(entries []*Entry, merged map[string]any, path string) *yaml.Node {
	m := mapping()
	for _, e := range entries {
		key := e.Name()
		if e.Disabled {
			key = "~" + key
		}
		v, _ := merged[e.ID].(map[string]any)
		put(m, key, s.entry(e, v, join(path, e.ID)))
	}
	return m
}

func (s shower) entry(e *Entry, v map[string]any, path string) *yaml.Node {
	path = join(path, fieldConfig)
	options, _ := v[fieldConfig].(map[string]any)
	n := s.d.schema.plugins[e.Plugin].node
	if e.Group == nil {
		return s.value(options, path, n)
	}
	m := mapping()
	if filter, ok := options["filter"]; ok {
		put(m, "filter", s.value(filter, join(path, "filter"), n.child("filter")))
	}
	if len(e.Group.Policy) > 0 {
		put(m, "policy", s.policy(e.Group.Policy))
	}
	inner, _ := options["plugins"].(map[string]any)
	put(m, "plugins", s.entries(e.Group.Entries, inner, join(path, "plugins")))
	return m
}

// value renders a value of the merged tree.
func (s shower) value(v any, path string, n *node) *yaml.Node {
	o := s.d.layers.exact(path)
	switch v := v.(type) {
	case map[string]any:
		m := mapping()
		for _, key := range s.d.layers.keys(path, v) {
			put(m, key, s.value(v[key], join(path, key), s.below(n, key)))
		}
		return m
	case []any:
		list := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		for i, item := range v {
			list.Content = append(list.Content, s.value(item, joinIndex(path, i), s.below(n, "#")))
		}
		return list
	}
	switch {
	case n.secret() && v == "":
	case n.secret() && o != nil && len(o.refs) > 0:
		return scalar(refNames(o.refs)) // and none of the text around them
	case n.secret():
		return scalar(Redacted)
	case o != nil && strings.HasPrefix(o.source, "env "):
		return scalar("<from " + o.source + ">")
	case o != nil && len(o.refs) > 0:
		return scalar(withoutFallbacks(o.text))
	}
	return scalar(v)
}

// below is the schema of a child; what is inside a secret is one.
func (s shower) below(n *node, key string) *node {
	if n.secret() {
		return n
	}
	return n.child(key)
}

// withoutFallbacks is text as written, but for the defaults of its variables.
func withoutFallbacks(text string) string {
	parts, refs, err := scanText(text)
	if err != nil {
		return Redacted
	}
	var b strings.Builder
	for i, r := range refs {
		b.WriteString(escapeDollars(parts[i]) + r.String())
	}
	return b.String() + escapeDollars(parts[len(refs)])
}

func mapping() *yaml.Node { return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"} }

func put(m *yaml.Node, key string, v *yaml.Node) {
	m.Content = append(m.Content, scalar(key), v)
}

func scalar(v any) *yaml.Node {
	switch v := v.(type) {
	case string:
		n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: v}
		if !safePlain(v) {
			n.Style = yaml.DoubleQuotedStyle
		}
		return n
	case bool:
		if v {
			return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: "true"}
		}
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: "false"}
	case nil:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return scalar(Redacted)
	}
	tag := "!!int"
	if bytes.ContainsAny(raw, ".eE") {
		tag = "!!float"
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: string(raw)}
}
