package config

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

func renderKey(key string) string {
	if safePlain(key) {
		return key
	}
	return quote(key)
}

// render writes a scalar in the given style, plain if that is possible.
func render(value any, style yaml.Style) string {
	s, isString := value.(string)
	switch {
	case !isString:
		raw, err := json.Marshal(value)
		if err != nil {
			return "null"
		}
		return string(raw)
	case style&yaml.SingleQuotedStyle != 0 && isPrintableLine(s):
		return "'" + strings.ReplaceAll(s, "'", "''") + "'"
	case style&yaml.DoubleQuotedStyle == 0 && safePlain(s):
		return s
	}
	return quote(s)
}

func isPrintableLine(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return !strconv.IsPrint(r) }) < 0
}

// safePlain reports whether text means itself without quotes, in any version
// of YAML but for the words of policies.
func safePlain(s string) bool {
	if s == "" || !only(s, "_-./~:") || !only(s[:1], "_~") || strings.HasSuffix(s, ":") {
		return false
	}
	if c := s[0]; c >= '0' && c <= '9' || s == "~" {
		return false
	}
	switch strings.ToLower(s) {
	case "null", "true", "false", "yes", "no", "on", "y", "n":
		return false
	}
	return true
}

// quote writes a double-quoted scalar. What JSON escapes, YAML reads.
func quote(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(s) != nil {
		return `""`
	}
	out := strings.TrimSuffix(b.String(), "\n")
	return strings.ReplaceAll(out, "\x7f", `\u007f`)
}
