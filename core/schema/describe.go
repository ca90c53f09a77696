package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// describe says in a few words what the schema m wants.
func describe(m map[string]any) string {
	if m["pattern"] == durationPattern {
		return durationWant
	}
	for _, keyword := range []string{"const", "enum", "anyOf", "oneOf"} {
		if _, ok := m[keyword]; ok {
			return describeKeyword(m, keyword)
		}
	}
	if _, ok := m["type"]; ok {
		return describeKeyword(m, "type")
	}
	if _, ok := m["properties"]; ok {
		return "an object"
	}
	return "a value"
}

// describeKeyword says what one keyword of m wants.
func describeKeyword(m map[string]any, keyword string) string {
	value := m[keyword]
	text := compact(value)
	switch keyword {
	case "type":
		return describeType(m, value)
	case "enum":
		return describeEnum(value)
	case "const":
		return text
	case "minimum":
		if m["exclusiveMinimum"] == true { // draft 4
			return "more than " + text
		}
		return "at least " + text
	case "maximum":
		if m["exclusiveMaximum"] == true {
			return "less than " + text
		}
		return "at most " + text
	case "exclusiveMinimum":
		return describeExclusive(m, value, "minimum", "more than ")
	case "exclusiveMaximum":
		return describeExclusive(m, value, "maximum", "less than ")
	case "multipleOf":
		return "a multiple of " + text
	case "minLength", "minItems", "minProperties":
		return "at least " + count(text, keyword)
	case "maxLength", "maxItems", "maxProperties":
		return "at most " + count(text, keyword)
	case "uniqueItems":
		return "items that all differ"
	case "pattern":
		if value == durationPattern {
			return durationWant
		}
		return fmt.Sprintf("text that matches %v", value)
	case "format":
		return fmt.Sprintf("text in the format %v", value)
	case "contentEncoding":
		return fmt.Sprintf("%v text", value)
	case "contentMediaType":
		return fmt.Sprintf("%v content", value)
	case "anyOf":
		return describeBranches(value, "one of: ")
	case "oneOf":
		return describeBranches(value, "exactly one of: ")
	case "not":
		return "anything but " + clip(text)
	case "contains", "minContains":
		return "an item that is " + clip(compact(m["contains"]))
	case "maxContains":
		return "at most " + text + " items that are " + clip(compact(m["contains"]))
	case "additionalItems":
		return "no further items"
	case "dependentRequired", "dependencies":
		return "the keys that go together: " + clip(text)
	}
	return "what the schema says under " + keyword
}

func describeExclusive(m map[string]any, value any, plain, words string) string {
	if value == true {
		value = m[plain]
	}
	return words + compact(value)
}

func describeType(m map[string]any, value any) string {
	if m["pattern"] == durationPattern {
		return durationWant
	}
	types, ok := value.([]any)
	if !ok {
		types = []any{value}
	}
	words := make([]string, len(types))
	for i, t := range types {
		words[i] = typeWord(fmt.Sprint(t))
	}
	return list(words)
}

func typeWord(t string) string {
	switch t {
	case "object", "array", "integer":
		return "an " + t
	case "null":
		return "null"
	case "boolean":
		return "true or false"
	}
	return "a " + t
}

const longEnum = 20

func describeEnum(value any) string {
	values, _ := value.([]any)
	words := make([]string, 0, len(values))
	for i, v := range values {
		if i == longEnum {
			words = append(words, fmt.Sprintf("%d more", len(values)-longEnum))
			break
		}
		if s, ok := v.(string); ok && plainKey.MatchString(s) {
			words = append(words, s)
			continue
		}
		words = append(words, compact(v))
	}
	return list(words)
}

func describeBranches(value any, lead string) string {
	branches, _ := value.([]any)
	var words []string
	for _, b := range branches {
		m, _ := b.(map[string]any)
		word := describe(m)
		if title, ok := m["title"].(string); ok && word == "a value" {
			word = title
		}
		if names, ok := m["required"].([]any); ok && len(names) > 0 {
			word = strings.TrimPrefix(word, "a value")
			word = strings.TrimSpace(word + " with " + strings.Trim(compact(names), "[]"))
		}
		if !contains(words, word) {
			words = append(words, word)
		}
	}
	return lead + clip(strings.Join(words, "; "))
}

func count(n, keyword string) string {
	unit := map[string]string{"Length": "character", "Items": "item", "Properties": "key"}[keyword[3:]]
	if n != "1" {
		unit += "s"
	}
	return n + " " + unit
}

func nearValue(m map[string]any, keyword string, value any) string {
	text, ok := value.(string)
	if !ok || keyword != "enum" {
		return ""
	}
	values, _ := m["enum"].([]any)
	var names []string
	for _, v := range values {
		if s, ok := v.(string); ok {
			names = append(names, s)
		}
	}
	return Nearest(text, names)
}

func matchesAny(patterns map[string]any, name string) bool {
	for p := range patterns {
		if re, err := regexp.Compile(p); err == nil && re.MatchString(name) {
			return true
		}
	}
	return false
}

// show is brief for a decoded value.
func show(v any) string {
	return brief(json.RawMessage(compact(v)))
}

func kindWord(v any) string {
	kind := kindOf([]byte(compact(v)))
	if kind == "boolean" {
		return "a boolean"
	}
	return typeWord(kind)
}

func compact(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return "?"
	}
	return strings.TrimSpace(b.String())
}

const clipLength = 200

func clip(s string) string {
	if len(s) <= clipLength {
		return s
	}
	return strings.ToValidUTF8(s[:clipLength], "") + "…"
}
