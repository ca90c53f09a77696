package config

import (
	"cmp"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
)

// reduce takes from a file that nobody trusted everything but what tightens:
// policies stricter than auto, filters, and entries of harmless plugins with
// default options where no trusted layer has an entry of that id. Nothing of
// the file was interpolated yet. What is taken is listed in the document.
func (l *load) reduce(out *layer) {
	lower := l.merged()
	r := &reducer{load: l, out: out, dir: filepath.Dir(out.name),
		ids: map[string]bool{}, reading: readingPaths(out), gone: map[string]bool{}}
	below, _ := lower["plugins"].(map[string]any)
	r.collect(below)
	if o := out.at["version"]; o != nil && len(o.refs) > 0 {
		r.drop("version", "it reads a variable")
		delete(out.root, "version")
	}
	if tools, ok := out.root["tools"].(map[string]any); ok {
		l.doc.Tighten = r.policy(tools["policy"], join("tools", "policy"))
		delete(out.root, "tools")
	}
	if plugins, ok := out.root["plugins"].(map[string]any); ok {
		r.entries(plugins, "plugins")
	}
	r.forget()
	slices.SortStableFunc(l.doc.LeftOut, func(a, b LeftOut) int {
		return cmp.Or(cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Column, b.Pos.Column))
	})
}

type reducer struct {
	load *load
	out  *layer
	dir  string

	ids     map[string]bool // of the layers below, over the whole tree
	reading map[string]bool // paths at or below which a variable is referred to
	gone    map[string]bool // paths that were taken out
}

// readingPaths are all paths with a variable at or below them.
func readingPaths(out *layer) map[string]bool {
	reading := map[string]bool{}
	for p, o := range out.at {
		for len(o.refs) > 0 && !reading[p] {
			reading[p] = true
			i := lastSep(p)
			if i < 0 {
				break
			}
			p = p[:i]
		}
	}
	return reading
}

// forget removes the origins of what was taken out, so that those of the
// layers below count.
func (r *reducer) forget() {
	for p := range r.out.at {
		if r.isGone(p) {
			delete(r.out.at, p)
		}
	}
	for path, keys := range r.out.order {
		r.out.order[path] = slices.DeleteFunc(keys, func(key string) bool { return r.gone[join(path, key)] })
	}
}

func (r *reducer) isGone(p string) bool {
	for !r.gone[p] {
		i := lastSep(p)
		if i < 0 {
			return false
		}
		p = p[:i]
	}
	return true
}

// collect notes the ids of the layers below.
func (r *reducer) collect(entries map[string]any) {
	for id, v := range entries {
		r.ids[id] = true
		e, _ := v.(map[string]any)
		options, _ := e[fieldConfig].(map[string]any)
		if inner, ok := options["plugins"].(map[string]any); ok && e[fieldPlugin] == GroupName {
			r.collect(inner)
		}
	}
}

// drop lists what is left out.
func (r *reducer) drop(path, reason string) {
	o := layers{r.out}.origin(path)
	r.load.doc.LeftOut = append(r.load.doc.LeftOut, LeftOut{
		Pos: o.key, Path: o.shown, Reason: reason, Value: r.said(path),
	})
}

// said is what the file has at path, of an entry its options; what the schema
// calls a secret is not said.
func (r *reducer) said(path string) string {
	var v any = map[string]any(r.out.root)
	var n *node
	for key := range strings.SplitSeq(path, sep) {
		m, ok := v.(map[string]any)
		if !ok {
			return ""
		}
		v, n = m[key], r.below(m, n, key)
	}
	if e, ok := v.(map[string]any); ok && e[fieldPlugin] != nil {
		v, n = e[fieldConfig], r.below(e, n, fieldConfig)
	}
	if m, ok := v.(map[string]any); v == nil || ok && len(m) == 0 {
		return ""
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // a person reads it
	if enc.Encode(r.hidden(v, n)) != nil {
		return ""
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// below is the schema of what m, described by n, has under key.
func (r *reducer) below(m map[string]any, n *node, key string) *node {
	if name, ok := m[fieldPlugin].(string); ok && key == fieldConfig {
		if p := r.load.schema.plugins[name]; p != nil {
			return p.node
		}
		return nil
	}
	if n.secret() {
		return n
	}
	return n.child(key)
}

// hidden is v with its secrets replaced.
func (r *reducer) hidden(v any, n *node) any {
	switch v := v.(type) {
	case map[string]any:
		m := make(map[string]any, len(v))
		for key, item := range v {
			m[key] = r.hidden(item, r.below(v, n, key))
		}
		return m
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = r.hidden(item, r.below(nil, n, "#"))
		}
		return list
	}
	if !n.secret() || v == "" {
		return v
	}
	text, _ := v.(string)
	if _, refs, err := scanText(text); err == nil && len(refs) > 0 {
		return refNames(refs) // and none of the text around them
	}
	return Redacted
}

// policy keeps the rules that tighten.
func (r *reducer) policy(v any, path string) []PolicyRule {
	m, ok := v.(map[string]any)
	if !ok {
		if v != nil {
			o := layers{r.out}.origin(path)
			r.load.issue(o, o.value, Issue{Want: "a mapping of patterns to auto, ask or off", Got: kindOfValue(v)})
		}
		return nil
	}
	var rules []PolicyRule
	for _, pattern := range r.out.order[path] {
		v, ok := m[pattern]
		if !ok {
			continue
		}
		at := join(path, pattern)
		o := r.out.at[at]
		if len(o.refs) > 0 {
			r.drop(at, "it reads a variable")
			continue
		}
		rule, ok := r.load.rule(pattern, v, o)
		switch {
		case !ok:
		case rule.Value == "auto":
			r.drop(at, "it would let a tool run without asking")
		default:
			rules = append(rules, rule)
		}
	}
	return rules
}

// entries keeps of a plugins mapping what may stay.
func (r *reducer) entries(m map[string]any, path string) {
	for _, id := range slices.Clone(r.out.order[path]) {
		e, ok := m[id].(map[string]any)
		if !ok {
			continue
		}
		if reason := r.entry(id, e, join(path, id)); reason != "" {
			r.drop(join(path, id), reason)
			delete(m, id)
			r.gone[join(path, id)] = true
		}
	}
}

// entry reduces one entry in place, or says why all of it needs trust.
func (r *reducer) entry(id string, e map[string]any, path string) string {
	name, _ := e[fieldPlugin].(string)
	options, _ := e[fieldConfig].(map[string]any)
	path = join(path, fieldConfig)
	p := r.load.schema.plugins[name]
	switch {
	case r.ids[id]:
		return "your own configuration has this entry"
	case p == nil:
		return "" // an error of its own, whatever its options
	case !p.Harmless:
		return "it starts a plugin that may do harm with its default options"
	case name == GroupName:
		r.group(options, path)
		return ""
	case e[fieldDisabled] == true:
		for key := range options {
			delete(options, key)
		}
		return r.missing(p, options)
	}
	r.options(options, path, "", p.node, p.defaults, p.Folders)
	return r.missing(p, options)
}

// missing says that the plugin can't do with default options.
func (r *reducer) missing(p *plugin, options map[string]any) string {
	for _, key := range p.node.Required {
		if _, ok := options[key]; !ok {
			return "its option " + key + " needs trust"
		}
	}
	return ""
}

func (r *reducer) group(options map[string]any, path string) {
	for key, v := range options {
		at := join(path, key)
		switch inner, _ := v.(map[string]any); {
		case key == "plugins" && inner != nil:
			r.entries(inner, at)
		case key == "policy" && inner != nil:
			r.groupPolicy(inner, at)
		case key == "filter" && !r.reading[at]:
		case key == "filter":
			r.drop(at, "it reads a variable")
			delete(options, key)
		}
	}
}

// groupPolicy keeps the rules that tighten, as the map that it is checked from
// again.
func (r *reducer) groupPolicy(m map[string]any, path string) {
	keep := map[string]bool{}
	for _, rule := range r.policy(m, path) {
		keep[rule.Pattern] = true
	}
	for pattern := range m {
		if !keep[pattern] {
			delete(m, pattern)
		}
	}
}

// options keeps what equals the default, or is a folder inside the file's own.
// name is the path inside the options, with dots.
func (r *reducer) options(m map[string]any, path, name string, n *node, defaults map[string]any, below []string) {
	for _, key := range sortedKeys(m) {
		at, dotted := join(path, key), strings.TrimPrefix(name+"."+key, ".")
		inner, isMap := m[key].(map[string]any)
		innerDefaults, hasDefaults := defaults[key].(map[string]any)
		c := n.child(key)
		switch {
		case r.reading[at]:
			r.drop(at, "it reads a variable")
		case sameJSON(m[key], defaults[key]) && defaults[key] != nil:
			continue
		case slices.Contains(below, dotted) && r.inside(m[key]):
			continue
		case isMap && len(inner) == 0:
			continue
		case isMap && c != nil && len(c.Properties) > 0:
			if !hasDefaults {
				innerDefaults = nil
			}
			r.options(inner, at, dotted, c, innerDefaults, below)
			continue
		default:
			r.drop(at, "it is not the default")
		}
		delete(m, key)
		r.gone[at] = true
	}
}

// inside reports whether v names the folder of the file or one in it, links
// followed.
func (r *reducer) inside(v any) bool {
	s, ok := v.(string)
	if !ok || !filepath.IsLocal(s) {
		return false
	}
	root, err := filepath.EvalSymlinks(r.dir)
	if err != nil {
		return false
	}
	target, err := filepath.EvalSymlinks(filepath.Join(r.dir, s))
	if err != nil {
		return false
	}
	rel, err := filepath.Rel(root, target)
	return err == nil && filepath.IsLocal(rel)
}
