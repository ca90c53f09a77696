package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/agentd-host/agentd/core/schema"
)

// check coerces, validates and builds the document from the merged tree.
func (l *load) check() {
	root := l.merged()
	d := l.doc
	d.merged, d.layers, d.schema = root, l.layers, l.schema
	l.version(root["version"])
	if tools, ok := root["tools"].(map[string]any); ok {
		d.Policy = l.policy(tools["policy"], join("tools", "policy"))
	}
	b := &builder{load: l, ids: map[string]*Entry{}}
	if plugins, ok := root["plugins"].(map[string]any); ok {
		d.Entries = b.entries(plugins, "plugins")
	}
}

func (l *load) version(v any) {
	o := l.layers.origin("version")
	if s, ok := v.(string); ok && o.raw {
		v = (&node{Types: []string{"integer"}}).coerce(s)
	}
	switch n, ok := v.(int64); {
	case v == nil || ok && n == Version:
	case ok && n > Version:
		l.issue(o, o.value, Issue{Message: fmt.Sprintf("this file is for a newer agentd; this one reads version %d", Version)})
	default:
		l.issue(o, o.value, Issue{Want: strconv.Itoa(Version), Got: got(v, o)})
	}
}

// issue reports something about the value that o is the origin of. A dry run
// can't judge the value of a variable.
func (l *load) issue(o *origin, pos Position, i Issue) {
	if l.dry && len(o.refs) > 0 && pos == o.value {
		return
	}
	i.Pos, i.Source = pos, o.source
	if i.Path == "" {
		i.Path = o.shown
	}
	l.issues.add(i)
}

// got describes a value. What came from a variable may be a secret, also if the
// variable is a setting by itself; the command line can be seen by anybody.
func got(v any, o *origin) string {
	switch {
	case len(o.refs) > 0:
		return "the value of " + refNames(o.refs)
	case strings.HasPrefix(o.source, "env "):
		return "another value"
	}
	if s, ok := v.(string); ok {
		return strconv.Quote(printable(s, 60))
	}
	switch v.(type) {
	case map[string]any, []any, nil:
		return kindOfValue(v)
	}
	return fmt.Sprint(v)
}

func refNames(refs []reference) string {
	names := make([]string, len(refs))
	for i, r := range refs {
		names[i] = r.String()
	}
	return strings.Join(names, " and ")
}

// policy reads a policy mapping into rules.
func (l *load) policy(v any, path string) []PolicyRule {
	if v == nil {
		return nil
	}
	m, ok := v.(map[string]any)
	if !ok {
		o := l.layers.origin(path)
		l.issue(o, o.value, Issue{Want: "a mapping of patterns to auto, ask or off", Got: got(v, o)})
		return nil
	}
	var rules []PolicyRule
	for _, pattern := range l.layers.keys(path, m) {
		o := l.layers.origin(join(path, pattern))
		if r, ok := l.rule(pattern, m[pattern], o); ok {
			rules = append(rules, r)
		}
	}
	return rules
}

func (l *load) rule(pattern string, v any, o *origin) (PolicyRule, bool) {
	errPattern := CheckPattern(pattern)
	if errPattern != nil {
		l.issue(o, o.key, Issue{Message: errPattern.Error()})
	}
	value, err := checkPolicy(v, o.raw)
	if err != nil {
		if o.raw {
			err = fmt.Errorf("want auto, ask or off, got %s", got(v, o))
		}
		l.issue(o, o.value, Issue{Message: err.Error()})
	}
	return PolicyRule{Pattern: pattern, Value: value, Pos: o.key, Source: o.source}, err == nil && errPattern == nil
}

// builder makes entries of the merged tree.
type builder struct {
	load  *load
	ids   map[string]*Entry
	order int
}

func (b *builder) entries(m map[string]any, path string) []*Entry {
	var entries []*Entry
	for _, id := range b.load.layers.keys(path, m) {
		v, ok := m[id].(map[string]any)
		if !ok {
			continue // env and --set are checked where they are read
		}
		if e := b.entry(id, v, join(path, id)); e != nil {
			entries = append(entries, e)
		}
	}
	return entries
}

func (b *builder) entry(id string, v map[string]any, path string) *Entry {
	l := b.load
	o := l.layers.origin(path)
	e := &Entry{ID: id, Key: l.key(path, id), Order: b.order, Pos: o.key}
	b.order++
	e.Plugin, _ = v[fieldPlugin].(string)
	e.Disabled, _ = v[fieldDisabled].(bool)
	if first := b.ids[id]; first != nil {
		l.issue(o, o.key, Issue{Message: fmt.Sprintf("the id %q is taken by %s; give this entry another: %s:other",
			id, first.Pos, e.Plugin)})
		return nil
	}
	b.ids[id] = e
	p := l.schema.plugins[e.Plugin]
	if p == nil {
		names := l.schema.pluginNames()
		l.issue(o, o.key, Issue{Message: fmt.Sprintf("there is no plugin %q", e.Plugin),
			Want: allowed(names), Nearest: schema.Nearest(e.Plugin, names)})
		return nil
	}
	options, _ := v[fieldConfig].(map[string]any)
	if options == nil {
		options = map[string]any{}
	}
	b.options(e, p, options, join(path, fieldConfig))
	return e
}

// key is how the topmost file writes an entry.
func (l *load) key(path, id string) string {
	if o := l.layers.exact(path); o != nil && o.text != "" {
		return o.text
	}
	return id
}

// options coerces, completes and checks what an entry is configured with.
func (b *builder) options(e *Entry, p *plugin, options map[string]any, path string) {
	l := b.load
	var inner any
	if p.Name == GroupName {
		inner = options["plugins"]
		e.Group = &Group{Policy: l.policy(options["policy"], join(path, "policy"))}
		options = without(options, "plugins", "policy")
	}
	l.coerce(options, path, p.node)
	complete(options, p.defaults, p.node)
	raw, err := json.Marshal(options)
	if err != nil {
		o := l.layers.origin(path)
		l.issue(o, o.value, Issue{Message: err.Error()})
		return
	}
	e.Config, e.Digest = raw, digest(raw)
	l.validate(p, raw, options, path)
	if e.Group == nil {
		return
	}
	var g GroupOptions
	if schema.Decode(raw, &g) == nil { // else validate said why not
		e.Group.Filter = g.Filter
	}
	l.globs(g.Filter.Include, join(join(path, "filter"), "include"))
	l.globs(g.Filter.Exclude, join(join(path, "filter"), "exclude"))
	if m, ok := inner.(map[string]any); ok {
		e.Group.Entries = b.entries(m, join(path, "plugins"))
	}
}

func (l *load) globs(globs []string, path string) {
	for i, g := range globs {
		if err := checkGlob(g); err != nil {
			o := l.layers.origin(joinIndex(path, i))
			l.issue(o, o.value, Issue{Message: err.Error()})
		}
	}
}

func without(m map[string]any, keys ...string) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		out[k] = v
	}
	for _, k := range keys {
		delete(out, k)
	}
	return out
}

// coerce turns text from variables into the types that the schema wants.
func (l *load) coerce(v any, path string, n *node) any {
	switch v := v.(type) {
	case map[string]any:
		for k, inner := range v {
			v[k] = l.coerce(inner, join(path, k), n.child(k))
		}
	case []any:
		for i, inner := range v {
			v[i] = l.coerce(inner, joinIndex(path, i), n.child("#"))
		}
	case string:
		if o := l.layers.exact(path); o != nil && o.raw {
			return n.coerce(v)
		}
	}
	return v
}

// complete puts defaults under m, also into the structs that m holds.
func complete(m, defaults map[string]any, n *node) {
	for key, d := range defaults {
		have, ok := m[key]
		if !ok {
			m[key] = d
			continue
		}
		inner, isMap := have.(map[string]any)
		below, wasMap := d.(map[string]any)
		if c := n.child(key); isMap && wasMap && c != nil && len(c.Properties) > 0 {
			complete(inner, below, c)
		}
	}
}

// validate checks options against the schema, the type and the plugin.
func (l *load) validate(p *plugin, raw json.RawMessage, options map[string]any, path string) {
	issues := p.check.Validate(raw)
	unknown := l.reading[path] // what its variables hold
	if len(issues) == 0 && !unknown {
		t := p.configType()
		if err := schema.DecodeValue(raw, reflect.New(t).Elem()); err != nil && !errors.As(err, &issues) {
			l.pluginIssue(p, err, options, path)
			return
		}
	}
	for _, i := range issues {
		l.schemaIssue(p, i, options, path)
	}
	if len(issues) > 0 || unknown || p.Check == nil {
		return
	}
	if err := p.Check(raw); err != nil {
		l.pluginIssue(p, err, options, path)
	}
}
