package config

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// splice replaces text[from:to].
func splice(text []byte, from, to int, by string) []byte {
	out := make([]byte, 0, len(text)+len(by))
	out = append(out, text[:from]...)
	out = append(out, by...)
	return append(out, text[to:]...)
}

// offset is where a node begins, in bytes.
func (e *editor) offset(n *yaml.Node) int { return e.offsetOf(n.Line, n.Column) }

func (e *editor) offsetOf(line, column int) int {
	at := e.lineStart(line)
	for i := 1; i < column && at < len(e.text); i++ {
		_, size := utf8.DecodeRune(e.text[at:])
		at += size
	}
	return at
}

// lineStart is where a line begins; the text's end for one behind the last.
func (e *editor) lineStart(line int) int {
	at := 0
	for i := 1; i < line; i++ {
		next := bytes.IndexByte(e.text[at:], '\n')
		if next < 0 {
			return len(e.text)
		}
		at += next + 1
	}
	return at
}

// direct reports whether a scalar begins where its node says, with its text or
// its quote.
func direct(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Anchor == "" &&
		n.Style&(yaml.TaggedStyle|yaml.LiteralStyle|yaml.FoldedStyle) == 0
}

// set changes or adds the value at path.
func (e *editor) set(path []string, value any) ([]byte, error) {
	steps := make([]any, len(path))
	for i, p := range path {
		steps[i] = p
	}
	plain := value
	if s, ok := value.(string); ok {
		plain = escapeDollars(s)
	}
	want := []map[string]any{changed(e.tree, steps, func(any) any { return plain })}
	out, err := e.place(path, plain)
	if err != nil {
		return nil, err
	}
	return e.verify(out, want)
}

// escapeDollars writes text so that no part of it is read as a variable.
func escapeDollars(s string) string {
	return strings.NewReplacer("$$", "$$$$", "${", "$${").Replace(s)
}

// place finds the spot and returns the new text.
func (e *editor) place(path []string, value any) ([]byte, error) {
	if e.root == nil {
		return e.appendSection(path, value), nil
	}
	n := e.root
	for i, key := range path {
		if n.Anchor != "" || n.Style&yaml.TaggedStyle != 0 {
			return nil, refuse("line %d: there is an anchor or a tag", n.Line)
		}
		at := keyIndex(n, key)
		if at < 0 {
			return e.insert(n, path[i:], value, i == 0)
		}
		k, v := n.Content[at], n.Content[at+1]
		switch {
		case v.Kind == yaml.AliasNode:
			return nil, refuse("line %d: %s is an alias", v.Line, key)
		case i == len(path)-1:
			return e.replace(k, v, value)
		case v.Kind == yaml.MappingNode:
			n = v
		case v.Tag == "!!null" && direct(v):
			return e.fill(n, k, v, path[i+1:], value)
		default:
			return nil, fmt.Errorf("line %d: %s is no mapping", v.Line, key)
		}
	}
	return nil, refuse("the path leads nowhere")
}

func keyIndex(n *yaml.Node, key string) int {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if k := n.Content[i]; k.Kind == yaml.ScalarNode && k.Value == key && k.Tag == "!!str" {
			return i
		}
	}
	return -1
}

// replace puts a scalar in the place of another and keeps the kind of quotes.
func (e *editor) replace(k, v *yaml.Node, value any) ([]byte, error) {
	if v.Kind != yaml.ScalarNode {
		return nil, fmt.Errorf("line %d: %s holds more than one value; set one of its keys", v.Line, k.Value)
	}
	if !direct(v) {
		return nil, refuse("line %d: the value has a tag, an anchor or is a block", v.Line)
	}
	from := e.offset(v)
	if v.Tag == "!!null" && v.Value == "" {
		if from == 0 || e.text[from-1] != ':' {
			return nil, refuse("line %d: the value is left out", v.Line)
		}
		return splice(e.text, from, from, " "+render(value, 0)), nil
	}
	to, ok := e.scalarEnd(v, from)
	if !ok {
		return nil, refuse("line %d: the value goes over several lines", v.Line)
	}
	return splice(e.text, from, to, render(value, v.Style)), nil
}

// scalarEnd is where a scalar of one line ends.
func (e *editor) scalarEnd(v *yaml.Node, from int) (int, bool) {
	quote := byte(0)
	switch {
	case v.Style&yaml.DoubleQuotedStyle != 0:
		quote = '"'
	case v.Style&yaml.SingleQuotedStyle != 0:
		quote = '\''
	}
	if quote == 0 {
		return from + len(v.Value), bytes.HasPrefix(e.text[from:], []byte(v.Value))
	}
	if from >= len(e.text) || e.text[from] != quote {
		return 0, false
	}
	end := skipQuoted(e.text, from)
	return end, end > 0 && !bytes.Contains(e.text[from:end], []byte("\n"))
}

// skipQuoted returns the offset behind the quoted scalar that begins at from,
// or -1.
func skipQuoted(text []byte, from int) int {
	quote := text[from]
	for i := from + 1; i < len(text); i++ {
		switch {
		case quote == '"' && text[i] == '\\':
			i++
		case text[i] != quote:
		case quote == '\'' && i+1 < len(text) && text[i+1] == quote:
			i++
		default:
			return i + 1
		}
	}
	return -1
}

// fill puts a mapping where a key has nothing, or null, as its value.
func (e *editor) fill(parent, k, v *yaml.Node, path []string, value any) ([]byte, error) {
	from := e.offset(v)
	if v.Value != "" {
		return splice(e.text, from, from+len(v.Value), flow(path, value)), nil
	}
	if from == 0 || e.text[from-1] != ':' {
		return nil, refuse("line %d: the value is left out", v.Line)
	}
	if parent.Style&yaml.FlowStyle != 0 {
		return splice(e.text, from, from, " "+flow(path, value)), nil
	}
	return e.insertLines(k.Line, k.Column-1+e.indent(), path, value), nil
}

// insert adds a key to a mapping that lacks it.
func (e *editor) insert(n *yaml.Node, path []string, value any, top bool) ([]byte, error) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Tag == "!!merge" {
			return nil, refuse("line %d: the mapping takes keys from elsewhere (<<)", n.Content[i].Line)
		}
	}
	if n.Style&yaml.FlowStyle != 0 {
		return e.insertFlow(n, path, value)
	}
	if top {
		return e.appendSection(path, value), nil
	}
	if len(n.Content) == 0 {
		return nil, refuse("line %d: the mapping is empty", n.Line)
	}
	return e.insertLines(e.lastLine(n), n.Content[0].Column-1, path, value), nil
}

// lastLine is the line in which the last entry of a block mapping ends.
func (e *editor) lastLine(n *yaml.Node) int {
	indent, leaf := n.Content[0].Column-1, n
	for len(leaf.Content) > 0 {
		leaf = leaf.Content[len(leaf.Content)-1]
	}
	last := leaf.Line
	if key := n.Content[len(n.Content)-2]; key.Line > last {
		last = key.Line
	}
	block := leaf.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0
	for line := last + 1; ; line++ {
		start := e.lineStart(line)
		if start >= len(e.text) {
			return last
		}
		text := lineOf(e.text[start:], 1)
		rest := strings.TrimLeft(text, " ")
		blank := strings.TrimSpace(rest) == ""
		switch {
		case blank && block:
			continue // counts only if more of the block follows
		case blank, len(text)-len(rest) <= indent && !closes(rest), strings.HasPrefix(rest, "#") && !block:
			return last
		}
		last = line
	}
}

// closes reports whether a line closes a flow collection that began above.
func closes(line string) bool { return line[0] == '}' || line[0] == ']' }

// insertLines adds lines below a line.
func (e *editor) insertLines(below, indent int, path []string, value any) []byte {
	at := e.lineStart(below + 1)
	lead := ""
	if at > 0 && e.text[at-1] != '\n' {
		lead = e.eol
	}
	text := e.block(indent, path, value)
	if at == len(e.text) && lead != "" {
		text = strings.TrimSuffix(text, e.eol) // as the file ends, so it goes on ending
	}
	return splice(e.text, at, at, lead+text)
}

// appendSection adds a top-level section at the end of the file.
func (e *editor) appendSection(path []string, value any) []byte {
	lead := ""
	if n := len(e.text); n > 0 && e.text[n-1] != '\n' {
		lead = e.eol
	}
	indent := 0
	if e.root != nil {
		indent = e.root.Column - 1
	}
	return splice(e.text, len(e.text), len(e.text), lead+e.block(indent, path, value))
}

// block renders a path as nested block mappings, each line with its break.
func (e *editor) block(indent int, path []string, value any) string {
	var b strings.Builder
	for i, key := range path {
		b.WriteString(strings.Repeat(" ", indent+i*e.indent()) + renderKey(key) + ":")
		if i == len(path)-1 {
			b.WriteString(" " + render(value, 0))
		}
		b.WriteString(e.eol)
	}
	return b.String()
}

// indent is by how much the file indents, 2 if that can't be told.
func (e *editor) indent() int {
	if e.root == nil || e.root.Style&yaml.FlowStyle != 0 {
		return 2
	}
	for i := 1; i < len(e.root.Content); i += 2 {
		v := e.root.Content[i]
		if v.Kind == yaml.MappingNode && v.Style&yaml.FlowStyle == 0 && v.Column > e.root.Column {
			return v.Column - e.root.Column
		}
	}
	return 2
}
