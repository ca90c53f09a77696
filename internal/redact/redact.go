// Package redact takes secrets out of text that is kept or shown: values that
// are known to be secret, what the environment holds under names that speak of
// secrets, and what looks like a credential.
//
//	r := redact.New(keeper.Secrets())
//	line := r.Text(line)
//
// A [Redactor] is immutable and safe for concurrent use.
package redact

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
)

// Mark stands in place of what was taken out.
const Mark = "[redacted]"

// minSecret is the shortest value of the environment that is taken for a
// secret; shorter ones stand in ordinary text.
const minSecret = 8

// Redactor takes secrets out of text.
type Redactor struct {
	known *strings.Replacer
}

// New knows the given secrets and those of the environment of this process.
func New(secrets []string) *Redactor {
	values := slices.Clone(secrets)
	for _, entry := range os.Environ() {
		name, value, _ := strings.Cut(entry, "=")
		if NamesSecret(name) && len(value) >= minSecret {
			values = append(values, value)
		}
	}
	return Of(values)
}

// Of knows the given secrets alone, and the forms of credentials.
func Of(values []string) *Redactor {
	values = slices.Clone(values)
	// The longest first, so that no part of a secret stays.
	slices.SortFunc(values, func(a, b string) int { return len(b) - len(a) })
	pairs := make([]string, 0, 2*len(values))
	for _, v := range values {
		for _, form := range written(v) {
			pairs = append(pairs, form, Mark)
		}
	}
	return &Redactor{strings.NewReplacer(pairs...)}
}

// written returns a text as it is and, where they differ, as JSON has it with
// and without the escapes that are only good for HTML.
func written(text string) []string {
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

// Known returns s without the secrets that are known.
func (r *Redactor) Known(s string) string { return r.known.Replace(s) }

// Text returns s without the secrets that are known or look like one.
func (r *Redactor) Text(s string) string {
	s = r.known.Replace(s)
	if !mayHoldCredential(s) {
		return s
	}
	return secretText.ReplaceAllStringFunc(s, func(m string) string {
		if strings.HasPrefix(m, "://") {
			return "://" + Mark + "@"
		}
		return Mark
	})
}
