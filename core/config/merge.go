package config

import "fmt"

// merger returns the merge function of one layer: mappings merge, lists and
// scalars replace, entries merge by id. A mapping that meets anything else is
// reported and left as it was.
func (l *load) merger(out *layer) func(src, dst map[string]any) error {
	m := &merger{load: l, out: out}
	return func(src, dst map[string]any) error {
		m.document(src, dst)
		return nil
	}
}

type merger struct {
	load *load
	out  *layer
}

func (m *merger) document(src, dst map[string]any) {
	for key, v := range src {
		entries, ok := v.(map[string]any)
		below, has := dst[key].(map[string]any)
		if key == "plugins" && ok && has {
			m.entries(entries, below, key)
			continue
		}
		m.value(dst, key, v, key)
	}
}

func (m *merger) entries(src, dst map[string]any, path string) {
	for id, v := range src {
		e, ok := v.(map[string]any)
		below, has := dst[id].(map[string]any)
		if !ok || !has {
			dst[id] = v
			continue
		}
		m.entry(e, below, join(path, id))
	}
}

// entry merges one entry of the same id. Another plugin's options mean
// nothing to this one, so that a new name replaces everything.
func (m *merger) entry(src, dst map[string]any, path string) {
	if name, ok := src[fieldPlugin]; ok && name != dst[fieldPlugin] {
		for k := range dst {
			delete(dst, k)
		}
		for k, v := range src {
			dst[k] = v
		}
		return
	}
	if d, ok := src[fieldDisabled]; ok {
		dst[fieldDisabled] = d
	}
	options, _ := src[fieldConfig].(map[string]any)
	below, _ := dst[fieldConfig].(map[string]any)
	if below == nil {
		below = map[string]any{}
		dst[fieldConfig] = below
	}
	path = join(path, fieldConfig)
	for key, v := range options {
		inner, ok := v.(map[string]any)
		existing, has := below[key].(map[string]any)
		if dst[fieldPlugin] == GroupName && key == "plugins" && ok && has {
			m.entries(inner, existing, join(path, key))
			continue
		}
		m.value(below, key, v, join(path, key))
	}
}

func (m *merger) value(dst map[string]any, key string, v any, path string) {
	old, has := dst[key]
	inner, isMap := v.(map[string]any)
	below, wasMap := old.(map[string]any)
	switch {
	case !has:
		dst[key] = v
	case isMap && wasMap:
		for k, iv := range inner {
			m.value(below, k, iv, join(path, k))
		}
	case isMap != wasMap:
		m.conflict(path, isMap)
	default:
		dst[key] = v
	}
}

func (m *merger) conflict(path string, isMap bool) {
	m.load.broken[path] = true
	here := layers{m.out}.origin(path)
	there := m.load.layers.origin(path)
	want, got := "a mapping", "another kind of value"
	if isMap {
		want, got = "no mapping", "one"
	}
	where := there.source
	if where == "" {
		where = there.key.String()
	}
	m.load.issues.add(Issue{Pos: here.value, Source: here.source, Path: here.shown,
		Want: want, Got: got, Message: fmt.Sprintf("does not fit to what %s says", where)})
}
