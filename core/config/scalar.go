package config

import (
	"math"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

func (w *walker) scalar(n *yaml.Node, at place) (any, bool) {
	switch n.Tag {
	case "!!null":
		return nil, w.nulls
	case "!!bool":
		return n.Value == "true" || n.Value == "True" || n.Value == "TRUE", true
	case "!!int":
		return w.integer(n, at.shown)
	case "!!float":
		return w.float(n, at.shown)
	case "!!str", "!!timestamp":
		return w.string(n, at)
	}
	w.issue(n, at.shown, "the value %s must be quoted", printable(n.Value, 40))
	return nil, false
}

func (w *walker) integer(n *yaml.Node, shown string) (any, bool) {
	digits := strings.TrimLeft(n.Value, "+-")
	if len(digits) > 1 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9' {
		w.issue(n, shown, "%s is read as octal by some programs; write it without the leading 0, with 0o, or in quotes", n.Value)
		return nil, false
	}
	i, err := strconv.ParseInt(strings.ReplaceAll(n.Value, "_", ""), 0, 64)
	if err != nil {
		w.issue(n, shown, "the number %s does not fit into 64 bits", printable(n.Value, 40))
		return nil, false
	}
	return i, true
}

func (w *walker) float(n *yaml.Node, shown string) (any, bool) {
	if strings.IndexFunc(n.Value, func(r rune) bool { return !strings.ContainsRune("+-_0123456789", r) }) < 0 {
		w.issue(n, shown, "the number %s does not fit into 64 bits", printable(n.Value, 40))
		return nil, false
	}
	f, err := strconv.ParseFloat(strings.ReplaceAll(n.Value, "_", ""), 64)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		w.issue(n, shown, "want a finite number, got %s", printable(n.Value, 40))
		return nil, false
	}
	return f, true
}

func (w *walker) string(n *yaml.Node, at place) (any, bool) {
	s, refs, err := w.expand(n.Value, maxText)
	if err != nil {
		w.issue(n, at.shown, "%v", err)
		return nil, false
	}
	if len(refs) > 0 {
		if !w.spend(n, 0, 0, max(0, len(s)-len(n.Value))) {
			return nil, false
		}
		o := w.out.at[at.path]
		o.text, o.refs, o.raw = n.Value, refs, true
	}
	return s, true
}
