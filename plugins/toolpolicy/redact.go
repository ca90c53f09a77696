package toolpolicy

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
)

const redacted = "[redacted]"

// minSecret is the shortest value of the environment that is taken for a
// secret; shorter ones stand in ordinary text.
const minSecret = 8

// redactor takes secrets out of text: what the environment holds under names
// that speak of secrets, and what looks like a credential. It is immutable.
type redactor struct {
	known *strings.Replacer
}

// newRedactor knows the given secrets and those of the environment of this
// process.
func newRedactor(secrets []string) *redactor {
	values := slices.Clone(secrets)
	for _, entry := range os.Environ() {
		name, value, _ := strings.Cut(entry, "=")
		if namesSecret(name) && len(value) >= minSecret {
			values = append(values, value)
		}
	}
	return redactorOf(values)
}

func redactorOf(values []string) *redactor {
	// The longest first, so that no part of a secret stays.
	slices.SortFunc(values, func(a, b string) int { return len(b) - len(a) })
	pairs := make([]string, 0, 2*len(values))
	for _, v := range values {
		for _, form := range written(v) {
			pairs = append(pairs, form, redacted)
		}
	}
	return &redactor{strings.NewReplacer(pairs...)}
}

// written returns a text as it is and, where they differ, as JSON has it with
// and without the escapes that are only good for HTML.
func written(text string) []string {
	if isPlain(text) {
		return []string{text}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	forms := []string{text}
	for _, html := range []bool{true, false} {
		b.Reset()
		e.SetEscapeHTML(html)
		_ = e.Encode(text) // a text always has a JSON form
		form := strings.TrimSuffix(b.String(), "\"\n")[1:]
		if !slices.Contains(forms, form) {
			forms = append(forms, form)
		}
	}
	return forms
}

// text returns s without the secrets that are known or look like one.
func (r *redactor) text(s string) string {
	s = r.known.Replace(s)
	if !mayHoldCredential(s) {
		return s
	}
	return secretText.ReplaceAllStringFunc(s, func(m string) string {
		if strings.HasPrefix(m, "://") {
			return "://" + redacted + "@"
		}
		return redacted
	})
}

// arguments returns raw without secrets: by text, and by the name of the
// member that holds them. What is no JSON becomes a redacted string.
func (r *redactor) arguments(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return nil
	}
	v, err := decodeOrdered(raw)
	if err != nil {
		return appendCanonical(nil, r.text(string(raw)))
	}
	return appendCanonical(nil, r.value(v))
}

func (r *redactor) value(v any) any {
	switch v := v.(type) {
	case string:
		return r.text(v)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = r.value(e)
		}
		return out
	case object:
		out := make(object, len(v))
		for i, f := range v {
			out[i] = field{r.text(f.key), r.value(f.value)}
			if namesSecret(f.key) && mayBeSecret(f) {
				out[i].value = redacted
			}
		}
		return out
	}
	return v
}

// mayBeSecret reports whether the member of a secret's name may hold one: yes
// and no and nothing are none, nor is a number of tokens.
func mayBeSecret(f field) bool {
	switch f.value.(type) {
	case bool, nil:
		return false
	case json.Number:
		return !strings.Contains(strings.ToLower(f.key), "tokens")
	}
	return true
}
