package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/knadh/koanf/providers/env/v2"
)

const envPrefix = "AGENTD_"

// environment adds the settings that AGENTD_ variables hold. A double
// underscore separates the steps of a path; letters and digits are compared
// without case. Only scalars can be set, and no policy patterns.
func (l *load) environment() {
	if !slices.ContainsFunc(l.src.Environ, func(kv string) bool { return strings.HasPrefix(kv, envPrefix) }) {
		return // merging nothing is not free
	}
	out := newLayer("environment", false)
	r := &envReader{load: l, root: l.merged(), out: out, set: map[string]string{}}
	environ := slices.Sorted(slices.Values(l.src.Environ))
	p := env.Provider(sep, env.Opt{
		Prefix:        envPrefix,
		EnvironFunc:   func() []string { return environ },
		TransformFunc: r.transform,
	})
	settings, err := p.Read()
	if err != nil {
		l.issues.add(Issue{Source: out.name, Message: err.Error()})
		return
	}
	if len(r.new) > 0 {
		l.addMap(r.skeleton())
	}
	if len(settings) > 0 {
		out.root = settings
		l.addMap(out)
	}
}

// envReader finds out what AGENTD_ variables mean.
type envReader struct {
	load *load
	root map[string]any
	out  *layer
	set  map[string]string // path -> variable
	new  [][]string        // entries that no file has: path of the mapping, id, plugin
}

// transform is called by koanf for each variable; an empty key skips it.
func (r *envReader) transform(name, value string) (string, any) {
	short := strings.TrimPrefix(name, envPrefix)
	if short == "CONFIG" || short == "HOME" || slices.Contains(r.load.src.Reserved, name) {
		return "", nil
	}
	source := "env " + name
	path, shown, err := r.resolve(strings.Split(short, "__"))
	if err == nil && strings.IndexFunc(value, badInValue) >= 0 {
		err = errors.New("the value holds a control character")
	}
	if err == nil && r.set[path] != "" {
		err = fmt.Errorf("%s sets the same", r.set[path])
	}
	if err != nil {
		r.load.issues.add(Issue{Source: source, Message: err.Error()})
		return "", nil
	}
	r.set[path] = name
	r.out.at[path] = &origin{source: source, shown: shown, raw: true}
	return path, value
}

func (r *envReader) resolve(steps []string) (path, shown string, err error) {
	switch top := pick(steps[0], topKeys); {
	case top == "version" && len(steps) == 1:
		return top, top, nil
	case top == "tools":
		return "", "", errors.New(`policy can't be set from the environment; use --set 'tools.policy."NAME"=off'`)
	case top == "plugins" && len(steps) > 2:
		plugins, _ := r.root[top].(map[string]any)
		return r.entry(steps[1:], plugins, top, top)
	}
	return "", "", errors.New("no such setting; want AGENTD_PLUGINS__<PLUGIN>__<OPTION>, AGENTD_CONFIG or AGENTD_HOME")
}

func (r *envReader) entry(steps []string, plugins map[string]any, path, shown string) (string, string, error) {
	id, name := r.entryID(steps[0], plugins)
	if id == "" {
		candidates := append(sortedKeys(plugins), r.load.schema.pluginNames()...)
		slices.Sort(candidates)
		candidates = slices.Compact(candidates)
		return "", "", fmt.Errorf("no plugin %s; want %s%s", steps[0], allowed(candidates),
			didYouMean(strings.ToLower(steps[0]), candidates))
	}
	entry, exists := plugins[id].(map[string]any)
	if exists {
		name, _ = entry[fieldPlugin].(string)
	}
	options, _ := entry[fieldConfig].(map[string]any)
	at, shownAt := join(join(path, id), fieldConfig), displayKey(shown, id)
	p := r.load.schema.plugins[name]
	if p == nil {
		return "", "", fmt.Errorf("there is no plugin %q", name)
	}
	if name == GroupName && len(steps) > 2 && pick(steps[1], []string{"plugins"}) != "" {
		inner, _ := options["plugins"].(map[string]any)
		return r.entry(steps[2:], inner, join(at, "plugins"), displayKey(shownAt, "plugins"))
	}
	at, shownAt, err := r.option(steps[1:], options, p.node, at, shownAt)
	if err == nil && !exists {
		r.new = append(r.new, []string{path, id, name})
	}
	return at, shownAt, err
}

// entryID matches a step against the entries that are there, then against the
// plugins.
func (r *envReader) entryID(step string, plugins map[string]any) (id, plugin string) {
	if id := pick(step, sortedKeys(plugins)); id != "" {
		return id, ""
	}
	for _, id := range sortedKeys(plugins) {
		e, _ := plugins[id].(map[string]any)
		if name, _ := e[fieldPlugin].(string); pick(step, []string{name + ":" + id}) != "" {
			return id, name
		}
	}
	name := pick(step, r.load.schema.pluginNames())
	if name == "" || name == GroupName {
		return "", ""
	}
	e := r.load.schema.names[name]
	return e.id, e.plugin
}

func (r *envReader) option(steps []string, have map[string]any, n *node, path, shown string) (string, string, error) {
	for _, step := range steps {
		candidates := append(n.keys(), sortedKeys(have)...)
		key := pick(step, candidates)
		if key == "" {
			slices.Sort(candidates)
			candidates = slices.Compact(candidates)
			return "", "", fmt.Errorf("%s has no option %s; want %s%s", shown, step, allowed(candidates),
				didYouMean(step, candidates))
		}
		path, shown = join(path, key), displayKey(shown, key)
		have, _ = have[key].(map[string]any)
		n = n.child(key)
	}
	types := n.types()
	isScalar := func(t string) bool { return t != "object" && t != "array" && t != "null" }
	if len(types) > 0 && !slices.ContainsFunc(types, isScalar) {
		return "", "", fmt.Errorf("%s is no single value; only numbers, texts and true or false can be set from the environment", shown)
	}
	return path, shown, nil
}

// skeleton is the layer of the entries that only variables mention.
func (r *envReader) skeleton() *layer {
	out := newLayer("environment", false)
	for _, e := range r.new {
		m := out.root
		for step := range strings.SplitSeq(e[0], sep) {
			inner, ok := m[step].(map[string]any)
			if !ok {
				inner = map[string]any{}
				m[step] = inner
			}
			m = inner
		}
		m[e[1]] = map[string]any{fieldPlugin: e[2], fieldDisabled: false, fieldConfig: map[string]any{}}
		out.note(e[0], e[1], &origin{source: "the environment", shown: "plugins." + e[1]})
	}
	return out
}

// pick returns the candidate with the same letters and digits, or "". Of
// several an exact one wins; two others are none.
func pick(step string, candidates []string) string {
	found := ""
	for _, c := range candidates {
		switch {
		case c == step:
			return c
		case squeeze(c) != squeeze(step) || c == found:
		case found != "":
			return ""
		default:
			found = c
		}
	}
	return found
}

func squeeze(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		}
		return -1
	}, s)
}
