package config

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/loaderlimits"
)

const (
	maxDepth  = 64      // of nesting, in the text and after aliases
	maxValues = 50_000  // after aliases
	maxText   = 1 << 20 // bytes of all scalars, after aliases and variables
)

// parse reads one YAML document into nodes: never into maps, whose duplicate
// check is quadratic, and never following aliases. The node of an empty
// document is nil.
func parse(file string, text []byte) (*yaml.Node, error) {
	loader, err := yaml.NewLoader(bytes.NewReader(text), yaml.WithV4Defaults(),
		yaml.WithPlugin(loaderlimits.New(loaderlimits.DepthValue(maxDepth))))
	if err != nil {
		return nil, err
	}
	var doc yaml.Node
	switch err := loader.Load(&doc); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, Errors{yamlIssue(file, text, err)}
	}
	var second yaml.Node
	switch err := loader.Load(&second); {
	case errors.Is(err, io.EOF):
	case err != nil:
		return nil, Errors{yamlIssue(file, text, err)}
	default:
		return nil, Errors{{Pos: Position{file, second.Line, second.Column},
			Message: "a second document begins here; put everything into one and remove the ---"}}
	}
	if len(doc.Content) == 0 {
		return nil, nil
	}
	return doc.Content[0], nil
}

// yamlIssue turns the parser's error into ours. The common mistakes get their
// own words, because the parser's are about its inside.
func yamlIssue(file string, text []byte, err error) Issue {
	var le *yaml.LoadError
	if !errors.As(err, &le) {
		return Issue{Pos: Position{File: file}, Message: err.Error()}
	}
	mark := le.Mark
	if mark.Line == 0 {
		mark = le.ContextMark
	}
	line := lineOf(text, mark.Line)
	issue := Issue{Pos: Position{file, mark.Line, mark.Column}}
	switch {
	case strings.Contains(le.Message, "max depth"):
		issue.Message = "nested deeper than 64 levels"
	case strings.Contains(le.ContextMsg, "scanning an alias"):
		issue.Message = `a name that begins with * must be quoted: "*"`
	case strings.Contains(le.ContextMsg, "scanning an anchor"):
		issue.Message = "a text that begins with & must be quoted"
	case strings.Contains(le.ContextMsg, "flow") && strings.Contains(line, "${"):
		issue.Message = `inside { } and [ ] a variable must be quoted: "${NAME}"`
	case strings.HasPrefix(strings.TrimLeft(line, " "), "\t"):
		issue.Message = "a tab in the indentation; use spaces"
	case strings.Contains(le.Message, "mapping values are not allowed"):
		issue.Message = "a second colon on this line; quote the value, or begin a new line"
	case strings.Contains(le.ContextMsg, "quoted scalar"):
		issue.Pos = Position{file, le.ContextMark.Line, le.ContextMark.Column}
		issue.Message = "this quote is never closed"
	case strings.Contains(le.Message, "unknown anchor"):
		issue.Message = le.Message
	default:
		issue.Message = "not valid YAML: " + le.Message
		if le.ContextMsg != "" {
			issue.Message += " (" + le.ContextMsg + ")"
		}
	}
	return issue
}

func lineOf(text []byte, line int) string {
	for i := 1; i < line; i++ {
		_, rest, ok := bytes.Cut(text, []byte("\n"))
		if !ok {
			return ""
		}
		text = rest
	}
	first, _, _ := bytes.Cut(text, []byte("\n"))
	return string(first)
}
