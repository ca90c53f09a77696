package config

import (
	"bytes"
	"strings"

	"go.yaml.in/yaml/v4"
)

func flow(path []string, value any) string {
	text := render(value, 0)
	for i := len(path) - 1; i >= 0; i-- {
		text = "{" + renderKey(path[i]) + ": " + text + "}"
	}
	return text
}

// insertFlow adds a key before the closing brace of a flow mapping.
func (e *editor) insertFlow(n *yaml.Node, path []string, value any) ([]byte, error) {
	open := e.offset(n)
	if open >= len(e.text) || e.text[open] != '{' {
		return nil, refuse("line %d: the mapping does not begin with {", n.Line)
	}
	end := closing(e.text, open)
	if end < 0 {
		return nil, refuse("line %d: the mapping is not closed", n.Line)
	}
	entry := flow(path, value)
	entry = entry[1 : len(entry)-1]
	at := end
	for at > open && strings.IndexByte(" \t\r\n", e.text[at-1]) >= 0 {
		at--
	}
	switch last := e.text[at-1]; {
	case len(n.Content) == 0:
	case last == ',':
		entry = " " + entry
	default:
		entry = ", " + entry
	}
	return splice(e.text, at, at, entry), nil
}

// closing returns the offset of the bracket that closes the one at open, or
// -1.
func closing(text []byte, open int) int {
	depth := 0
	for i := open; i < len(text); i++ {
		switch c := text[i]; c {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i
			}
		case '"', '\'':
			if before := text[i-1]; strings.IndexByte(" \t\r\n{[,:", before) < 0 {
				continue // an apostrophe inside a plain text
			}
			end := skipQuoted(text, i)
			if end < 0 {
				return -1
			}
			i = end - 1
		case '#':
			if strings.IndexByte(" \t\r\n", text[i-1]) >= 0 {
				next := bytes.IndexByte(text[i:], '\n')
				if next < 0 {
					return -1
				}
				i += next
			}
		}
	}
	return -1
}
