package config

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/agentd-host/agentd/core/schema"
)

// Version is the format of agent.yml that this package reads.
const Version = 1

// moved says where keys belong that people put at the top of the file.
var moved = map[string]string{
	"mcpServers": "plugins.mcp.mcpServers",
	"servers":    "plugins.mcp.servers",
	"policy":     "tools.policy",
}

// walker turns the nodes of one file into a layer.
type walker struct {
	file   string
	schema *Schema
	issues *collector
	out    *layer

	// expand replaces variables. For a file that was not trusted it only finds
	// them.
	expand func(s string, limit int) (string, []reference, error)

	values, text int
	open         map[*yaml.Node]bool // anchored nodes that are being walked
	exhausted    bool
	nulls        bool            // null is a value and not "not set"
	broken       map[string]bool // paths whose value was reported
}

// newWalker returns a walker that takes text as it stands.
func newWalker(file string, s *Schema, issues *collector, out *layer) *walker {
	return &walker{file: file, schema: s, issues: issues, out: out, open: map[*yaml.Node]bool{},
		broken: map[string]bool{}, expand: verbatim}
}

func verbatim(s string, _ int) (string, []reference, error) { return s, nil, nil }

func (w *walker) pos(n *yaml.Node) Position { return Position{w.file, n.Line, n.Column} }

func (w *walker) issue(n *yaml.Node, shown, format string, args ...any) {
	w.issues.at(w.pos(n), shown, format, args...)
}

// spend counts against the budgets that hold after aliases were expanded. It
// reports whether to go on.
func (w *walker) spend(n *yaml.Node, depth, values, text int) bool {
	if w.exhausted {
		return false
	}
	w.values += values
	w.text += text
	what := ""
	switch {
	case depth > maxDepth:
		what = "nested deeper than 64 levels"
	case w.values > maxValues:
		what = "more than 50,000 values after aliases were expanded"
	case w.text > maxText:
		what = "more than 1 MiB of text after aliases and variables"
	default:
		return true
	}
	w.exhausted = true
	w.issue(n, "", "%s", what)
	return false
}

// resolve follows aliases. It reports whether there is a node to look at; done
// must be called when it was looked at.
func (w *walker) resolve(n *yaml.Node, shown string) (target *yaml.Node, done func(), ok bool) {
	for n.Kind == yaml.AliasNode {
		n = n.Alias // the parser knows the target, or has complained
	}
	if n.Anchor == "" {
		return n, func() {}, true
	}
	if w.open[n] {
		w.issue(n, shown, "the anchor &%s contains itself", n.Anchor)
		return nil, nil, false
	}
	w.open[n] = true
	return n, func() { delete(w.open, n) }, true
}

// pair is an entry of a mapping, with merge keys resolved.
type pair struct {
	key   string
	at    *yaml.Node // the key
	value *yaml.Node
}

// pairs lists the entries of a mapping in order and reports keys that are no
// text and keys that are there twice.
func (w *walker) pairs(n *yaml.Node, at place) []pair {
	var own, merged []pair
	seen := map[string]*yaml.Node{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if !w.spend(k, at.depth, 0, len(k.Value)) {
			return nil
		}
		if k.Kind == yaml.ScalarNode && k.Tag == "!!merge" {
			merged = append(merged, w.merge(v, at.deeper())...)
			continue
		}
		key, ok := w.key(k, at.shown)
		if !ok {
			continue
		}
		if first := seen[key]; first != nil {
			w.issue(k, at.child(key).shown, "this key is here twice, first in line %d", first.Line)
			continue
		}
		seen[key] = k
		own = append(own, pair{key, k, v})
	}
	for _, p := range merged {
		if seen[p.key] == nil {
			seen[p.key] = p.at
			own = append(own, p)
		}
	}
	return own
}

// merge lists what a << brings in; of a list the earlier mapping wins.
func (w *walker) merge(v *yaml.Node, at place) []pair {
	n, done, ok := w.resolve(v, at.shown)
	if !ok || !w.spend(v, at.depth, 1, 0) {
		return nil
	}
	defer done()
	switch n.Kind {
	case yaml.MappingNode:
		return w.pairs(n, at)
	case yaml.SequenceNode:
		var all []pair
		for _, item := range n.Content {
			if w.exhausted {
				return nil
			}
			all = append(all, w.merge(item, at.deeper())...)
		}
		return all
	}
	w.issue(v, at.shown, "<< takes a mapping, or a list of mappings")
	return nil
}

func (w *walker) key(k *yaml.Node, shown string) (string, bool) {
	switch {
	case k.Kind == yaml.AliasNode:
		w.issue(k, shown, "a key can't be an alias; a name that begins with * must be quoted")
	case k.Kind != yaml.ScalarNode:
		w.issue(k, shown, "a key must be text")
	case k.Style&yaml.TaggedStyle != 0 && k.Tag != "!!str":
		w.issue(k, shown, "the tag %s is not allowed", printable(k.Tag, 40))
	case k.Tag != "!!str":
		w.issue(k, shown, "a key must be text; write %q in quotes", printable(k.Value, 40))
	case k.Value == "":
		w.issue(k, shown, "a key can't be empty")
	case strings.Contains(k.Value, sep):
		w.issue(k, shown, "a key can't hold a NUL character")
	default:
		return k.Value, true
	}
	return "", false
}

// value returns the value of a node. It reports false for null, which means
// "not set", and for what was reported as an issue.
func (w *walker) value(v *yaml.Node, at place) (any, bool) {
	n, done, ok := w.resolve(v, at.shown)
	if !ok {
		return nil, false
	}
	defer done()
	if !w.spend(n, at.depth, 1, len(n.Value)) {
		return nil, false
	}
	if n.Style&yaml.TaggedStyle != 0 && n.Tag != "!!str" {
		w.issue(n, at.shown, "the tag %s is not allowed; only !!str is", printable(n.Tag, 40))
		return nil, false
	}
	switch n.Kind {
	case yaml.MappingNode:
		return w.mapping(n, at), true
	case yaml.SequenceNode:
		return w.list(n, at), true
	}
	return w.scalar(n, at)
}

func (w *walker) mapping(n *yaml.Node, at place) map[string]any {
	m := map[string]any{}
	for _, p := range w.pairs(n, at) {
		w.put(m, p, at)
	}
	return m
}

// put walks one entry of the mapping at a place into m.
func (w *walker) put(m map[string]any, p pair, at place) {
	child := at.child(p.key)
	w.note(at, p, child)
	before := len(w.issues.issues)
	if v, ok := w.value(p.value, child); ok {
		m[p.key] = v
	} else if len(w.issues.issues) > before {
		w.broken[child.path] = true
	}
}

// note writes down where an entry of the mapping at a place comes from.
func (w *walker) note(at place, p pair, child place) {
	w.out.note(at.path, p.key, &origin{key: w.pos(p.at), value: w.pos(p.value), shown: child.shown})
}

func (w *walker) list(n *yaml.Node, at place) []any {
	items := make([]any, 0, len(n.Content))
	for i, c := range n.Content {
		if w.exhausted {
			break
		}
		item := at.item(i)
		w.out.at[item.path] = &origin{key: w.pos(c), value: w.pos(c), shown: item.shown}
		v, ok := w.value(c, item)
		if !ok {
			if c.Tag == "!!null" {
				w.issue(c, item.shown, "an empty item in a list; remove it")
			}
			w.broken[item.path] = true
		}
		items = append(items, v)
	}
	return items
}

// document walks the top of a file.
func (w *walker) document(n *yaml.Node) {
	n, done, ok := w.resolve(n, "")
	if !ok {
		return
	}
	defer done()
	if n.Kind != yaml.MappingNode {
		w.issue(n, "", "want a mapping with the keys plugins, tools and version")
		return
	}
	for _, p := range w.pairs(n, place{}) {
		switch p.key {
		case "version":
			w.put(w.out.root, p, place{})
		case "tools":
			w.section(p, w.tools)
		case "plugins":
			w.section(p, w.plugins)
		default:
			w.unknownTop(p)
		}
	}
}

func (w *walker) unknownTop(p pair) {
	issue := Issue{Pos: w.pos(p.at), Path: displayKey("", p.key)}
	if to, ok := moved[p.key]; ok {
		issue.Message = "this belongs under " + to
	} else {
		issue.Message = "unknown key"
		issue.Want = allowed(topKeys)
		issue.Nearest = schema.Nearest(p.key, topKeys)
	}
	w.issues.add(issue)
}

var topKeys = []string{"plugins", "tools", "version"}

// section walks a top-level mapping with its own rules; null is an empty one.
func (w *walker) section(p pair, walk func(n *yaml.Node, at place) map[string]any) {
	at := place{}.child(p.key)
	w.note(place{}, p, at)
	w.out.root[p.key] = map[string]any{}
	if n, done, ok := w.resolve(p.value, at.shown); ok {
		defer done()
		if m := walk(n, at); m != nil {
			w.out.root[p.key] = m
		}
	}
}

func (w *walker) tools(n *yaml.Node, at place) map[string]any {
	m := map[string]any{}
	for _, p := range w.inner(n, at) {
		if p.key != "policy" {
			w.issues.add(Issue{Pos: w.pos(p.at), Path: at.child(p.key).shown, Message: "unknown key",
				Want: "policy", Nearest: schema.Nearest(p.key, []string{"policy"})})
			continue
		}
		w.put(m, p, at)
	}
	return m
}

// inner lists the pairs of what must be a mapping or null.
func (w *walker) inner(n *yaml.Node, at place) []pair {
	switch {
	case n.Kind == yaml.MappingNode:
		return w.pairs(n, at)
	case n.Kind == yaml.ScalarNode && n.Tag == "!!null":
		return nil
	}
	w.issue(n, at.shown, "want a mapping, got %s", nodeKind(n))
	return nil
}

func nodeKind(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	switch n.Tag {
	case "!!null":
		return "nothing"
	case "!!bool":
		return n.Value
	case "!!int", "!!float":
		return "the number " + printable(n.Value, 40)
	}
	if strings.Contains(n.Value, "$") {
		return "a text"
	}
	return fmt.Sprintf("the text %q", printable(n.Value, 40))
}
