package core

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
)

// A uriTemplate matches URIs of one form: a subset of RFC 6570, {x} and {+x}.
type uriTemplate struct {
	pattern *regexp.Regexp
	names   []string // of the pattern's groups
}

var (
	scheme      = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9+.-]*:`)
	uriVariable = regexp.MustCompile(`\{(\+?)([a-zA-Z0-9_]+)\}`)
)

func hasScheme(uri string) bool { return scheme.MatchString(uri) }

// parseURITemplate reads a template.
func parseURITemplate(text string) (*uriTemplate, error) {
	t := &uriTemplate{}
	var pattern strings.Builder
	pattern.WriteString(`^`)
	at := 0
	for _, m := range uriVariable.FindAllStringSubmatchIndex(text, -1) {
		pattern.WriteString(regexp.QuoteMeta(text[at:m[0]]))
		if m[2] == m[3] {
			pattern.WriteString(`([^/?#]+)`)
		} else {
			pattern.WriteString(`(.+)`)
		}
		t.names = append(t.names, text[m[4]:m[5]])
		at = m[1]
	}
	if rest := uriVariable.ReplaceAllString(text, ""); strings.ContainsAny(rest, "{}") {
		return nil, fmt.Errorf("a variable is written {name} or {+name}")
	}
	pattern.WriteString(regexp.QuoteMeta(text[at:]) + `$`)
	var err error
	t.pattern, err = regexp.Compile(pattern.String())
	return t, err
}

// match gives the values of the variables, decoded, if the URI has the form.
func (t *uriTemplate) match(uri string) (map[string]string, bool) {
	m := t.pattern.FindStringSubmatch(uri)
	if m == nil {
		return nil, false
	}
	vars := make(map[string]string, len(t.names))
	for i, name := range t.names {
		value, err := url.PathUnescape(m[i+1])
		if err != nil {
			return nil, false
		}
		vars[name] = value
	}
	return vars, true
}
