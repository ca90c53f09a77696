package config

import "slices"

// In the merged tree an entry of a plugins mapping has this form, under its
// id, so that "x" and "~x", a plugin's name and its alias are one entry:
//
//	plugins.<id> = {plugin: name, disabled: bool, config: {...}}
//
// and a group's config is {filter, policy, plugins: {<id>: ...}}.
const (
	fieldPlugin   = "plugin"
	fieldDisabled = "disabled"
	fieldConfig   = "config"
)

// layer is one source of configuration: a file, the environment, or the
// command line.
type layer struct {
	name  string
	root  map[string]any
	at    map[string]*origin  // by path
	order map[string][]string // keys of mappings, as written
	file  bool                // has positions and an order that counts
}

func newLayer(name string, file bool) *layer {
	return &layer{name: name, file: file, root: map[string]any{},
		at: map[string]*origin{}, order: map[string][]string{}}
}

// origin says where a value came from.
type origin struct {
	key    Position // of the key, for a value in a mapping
	value  Position
	source string // instead of a position: "env X", "--set x=y"
	shown  string // the path as people write it
	text   string // as written, if it holds references
	refs   []reference
	raw    bool // text that stands for a value of any type: from a variable
}

// layers are all sources, lowest first.
type layers []*layer

// origin returns where the winning value at path came from, or that of the
// nearest mapping above it. It is never nil.
func (ls layers) origin(path string) *origin {
	for p := path; ; {
		for _, l := range slices.Backward(ls) {
			if o := l.at[p]; o != nil {
				return o
			}
		}
		i := lastSep(p)
		if i < 0 {
			return &origin{}
		}
		p = p[:i]
	}
}

// exact is origin without looking above.
func (ls layers) exact(path string) *origin {
	for _, l := range slices.Backward(ls) {
		if o := l.at[path]; o != nil {
			return o
		}
	}
	return nil
}

func lastSep(p string) int {
	for i := len(p) - 1; i >= 0; i-- {
		if p[i] == sep[0] {
			return i
		}
	}
	return -1
}

// keys returns the keys of a merged mapping in their order: as in the topmost
// file, then what only lower files have, then what came from elsewhere.
func (ls layers) keys(path string, m map[string]any) []string {
	keys := make([]string, 0, len(m))
	seen := make(map[string]bool, len(m))
	take := func(l *layer) {
		for _, k := range l.order[path] {
			if _, ok := m[k]; ok && !seen[k] {
				seen[k] = true
				keys = append(keys, k)
			}
		}
	}
	for _, l := range slices.Backward(ls) {
		if l.file {
			take(l)
		}
	}
	for _, l := range ls {
		take(l)
	}
	for _, k := range sortedKeys(m) {
		if !seen[k] {
			keys = append(keys, k)
		}
	}
	return keys
}

// note keeps where the value of a key came from, and the key's place among
// those of its mapping.
func (l *layer) note(parent, key string, o *origin) {
	path := join(parent, key)
	if l.at[path] == nil {
		l.order[parent] = append(l.order[parent], key)
	}
	l.at[path] = o
}
