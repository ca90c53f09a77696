package config

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/agentd-host/agentd/core/schema"
)

func (l *load) pluginIssue(p *plugin, err error, options any, path string) {
	var issues schema.Issues
	if errors.As(err, &issues) {
		for _, i := range issues {
			l.schemaIssue(p, i, options, path)
		}
		return
	}
	o := l.layers.origin(path)
	l.issue(o, o.key, Issue{Message: err.Error()})
}

// schemaIssue gives an issue of the schema its place in the file.
func (l *load) schemaIssue(p *plugin, i schema.Issue, options any, base string) {
	path, shown, v := l.locate(i.Pointer, options, base)
	if l.isBroken(path) {
		return
	}
	o := l.layers.origin(path)
	issue := Issue{Path: shown, Want: i.Want, Got: i.Got, Nearest: i.Near}
	pos := o.value
	switch i.Keyword {
	case "required":
		issue.Message, issue.Got = "missing", ""
		pos = o.key
	case "additionalProperties", "duplicate":
		issue.Message, issue.Got = "unknown key", ""
		pos = o.key
		if to := p.Renamed[dotted(path, base)]; to != "" {
			issue = Issue{Path: shown, Message: fmt.Sprintf("this option was renamed; write %s", to)}
		}
	default:
		if l.reading[path] {
			return
		}
		if n := p.node.at(i.Pointer); n.secret() && o.source != "" {
			issue.Got = "another value"
		} else if o.raw || o.source != "" {
			issue.Got = got(v, o)
		} else if word, ok := v.(string); ok && issue.Nearest == "" {
			issue.Nearest = boolWord(i.Want, word)
		}
	}
	if issue.Want == "" && issue.Message == "" {
		issue.Message = i.Message
	}
	l.issue(o, pos, issue)
}

// boolWord knows the words that older YAML read as booleans.
func boolWord(want, word string) string {
	if !strings.Contains(want, "true or false") {
		return ""
	}
	switch strings.ToLower(word) {
	case "on", "yes", "y":
		return "true"
	case "off", "no", "n":
		return "false"
	}
	return ""
}

func dotted(path, base string) string {
	return strings.ReplaceAll(strings.TrimPrefix(strings.TrimPrefix(path, base), sep), sep, ".")
}

var unescapePointer = strings.NewReplacer("~1", "/", "~0", "~")

// locate follows a JSON pointer below base. It returns the path, as far as it
// exists or one step further, how people write it, and the value there.
func (l *load) locate(pointer string, v any, base string) (path, shown string, value any) {
	path, value = base, v
	shown = l.layers.origin(base).shown
	if pointer == "" {
		return path, shown, value
	}
	for _, step := range strings.Split(pointer[1:], "/") {
		step = unescapePointer.Replace(step)
		switch inner := value.(type) {
		case []any:
			i, _ := strconv.Atoi(step)
			path, shown = joinIndex(path, i), displayIndex(shown, i)
			if value = nil; i < len(inner) {
				value = inner[i]
			}
		case map[string]any:
			path, shown, value = join(path, step), displayKey(shown, step), inner[step]
		default:
			path, shown, value = join(path, step), displayKey(shown, step), nil
		}
	}
	return path, shown, value
}

// isBroken reports whether something at or above path was reported already,
// so that its absence is no news.
func (l *load) isBroken(path string) bool {
	for p := path; p != ""; {
		if l.broken[p] {
			return true
		}
		i := lastSep(p)
		if i < 0 {
			return false
		}
		p = p[:i]
	}
	return false
}
