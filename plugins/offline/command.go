package offline

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

var (
	toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	keyName  = regexp.MustCompile(`^[\pL_$][\pL\pN_.$-]*$`)
)

// command is a call that somebody typed.
type command struct {
	name string
	// object is the text of a JSON object, as typed; else pairs are the
	// arguments.
	object string
	pairs  []pair
}

// pair is one k=v word. A quoted value is a string whatever it looks like.
type pair struct {
	key, value string
	quoted     bool
}

// parse reads a message as calls. ok is false for a message that is not one.
func parse(message string) (cmds []command, ok bool) {
	message = strings.TrimSpace(message)
	if cmd, ok := parseCall(message); ok {
		return []command{cmd}, true
	}
	lines := strings.FieldsFunc(message, func(r rune) bool { return r == '\n' || r == '\r' })
	if len(lines) < 2 {
		return nil, false
	}
	for _, line := range lines {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		cmd, ok := parseCall(line)
		if !ok || cmd.object == "" && len(cmd.pairs) == 0 {
			return nil, false
		}
		cmds = append(cmds, cmd)
	}
	return cmds, len(cmds) > 0
}

// parseCall reads one call.
func parseCall(text string) (command, bool) {
	name, rest := text, ""
	if i := strings.IndexFunc(text, func(r rune) bool { return unicode.IsSpace(r) || r == '{' }); i >= 0 {
		name, rest = text[:i], strings.TrimSpace(text[i:])
	}
	if !toolName.MatchString(name) {
		return command{}, false
	}
	cmd := command{name: name}
	switch {
	case rest == "":
		return cmd, true
	case strings.HasPrefix(rest, "{") && strings.HasSuffix(rest, "}"):
		cmd.object = rest
		return cmd, true
	}
	var ok bool
	cmd.pairs, ok = parsePairs(rest)
	return cmd, ok
}

// parsePairs reads k=v words; every word has to be one.
func parsePairs(text string) (pairs []pair, ok bool) {
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		key, rest, found := strings.Cut(text, "=")
		if !found || !keyName.MatchString(key) {
			return nil, false
		}
		value, quoted, rest, ok := cutValue(rest)
		if !ok {
			return nil, false
		}
		pairs = append(pairs, pair{key, value, quoted})
		text = rest
	}
	return pairs, true
}

// cutValue takes one value off the front of text: a quoted string, a JSON
// array or object, or everything up to the next white space.
func cutValue(text string) (value string, quoted bool, rest string, ok bool) {
	if text == "" {
		return "", false, "", true
	}
	switch text[0] {
	case '"', '\'':
		value, rest, ok = cutQuoted(text)
		return value, true, rest, ok && startsWithSpace(rest)
	case '[', '{':
		dec := json.NewDecoder(strings.NewReader(text))
		var raw json.RawMessage
		if dec.Decode(&raw) == nil && startsWithSpace(text[dec.InputOffset():]) {
			return string(raw), false, text[dec.InputOffset():], true
		}
	}
	end := strings.IndexFunc(text, unicode.IsSpace)
	if end < 0 {
		end = len(text)
	}
	return text[:end], false, text[end:], true
}

func startsWithSpace(s string) bool {
	r, size := utf8.DecodeRuneInString(s)
	return size == 0 || unicode.IsSpace(r)
}

// cutQuoted reads a quoted string. In double quotes a backslash escapes as in
// JSON where that is valid, else it stands for itself; single quotes hold
// everything up to the next one.
func cutQuoted(text string) (value, rest string, ok bool) {
	quote := text[0]
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == '\\' && quote == '"':
			i++
		case text[i] == quote:
			return unquote(text[:i+1], quote), text[i+1:], true
		}
	}
	return "", "", false
}

func unquote(lit string, quote byte) string {
	inner := lit[1 : len(lit)-1]
	if quote == '\'' {
		return inner
	}
	var s string
	if json.Unmarshal([]byte(lit), &s) == nil {
		return s
	}
	return strings.ReplaceAll(inner, `\"`, `"`)
}

// arguments are the call's arguments as JSON text. The tool's schema, where
// it is known, says whether 12 is a number or a text.
func (c command) arguments(schema json.RawMessage) string {
	if c.object != "" {
		return c.object
	}
	types := propertyTypes(schema)
	var b strings.Builder
	b.WriteByte('{')
	for i, p := range c.pairs {
		if i > 0 {
			b.WriteByte(',')
		}
		key, _ := json.Marshal(p.key)
		b.Write(key)
		b.WriteByte(':')
		b.WriteString(p.json(types[p.key]))
	}
	b.WriteByte('}')
	return b.String()
}

// json is the value as JSON: a text where the schema wants one or where it was
// quoted, else what it looks like.
func (p pair) json(types []string) string {
	wantsText := slices.Contains(types, "string")
	wantsOther := len(types) > 1 || len(types) == 1 && !wantsText
	text, _ := json.Marshal(p.value)
	switch {
	case p.quoted && slices.Contains(types, "array"):
		return "[" + string(text) + "]"
	case p.quoted && !(wantsOther && !wantsText && json.Valid([]byte(p.value))):
		return string(text)
	case wantsText && !wantsOther:
		return string(text)
	case json.Valid([]byte(p.value)) && !strings.HasPrefix(p.value, `"`):
		if slices.Contains(types, "array") && len(types) == 1 && p.value[0] != '[' {
			return "[" + p.value + "]"
		}
		return p.value
	case slices.Contains(types, "array") && !wantsText:
		return "[" + string(text) + "]"
	}
	return string(text)
}

// propertyTypes reads the types of a schema's properties, as far as they are
// stated plainly.
func propertyTypes(schema json.RawMessage) map[string][]string {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return nil
	}
	types := make(map[string][]string, len(s.Properties))
	for name, raw := range s.Properties {
		types[name] = schemaTypes(raw)
	}
	return types
}

func schemaTypes(raw json.RawMessage) []string {
	var one struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(raw, &one) == nil && one.Type != "" {
		return []string{one.Type}
	}
	var many struct {
		Type []string `json:"type"`
	}
	if json.Unmarshal(raw, &many) == nil {
		return many.Type
	}
	return nil
}
