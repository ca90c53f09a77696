package mcp

import (
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/agentd-host/agentd/core"
)

// secrets are the values in the configuration that must not be shown.
func (c ServerConfig) secrets() []string {
	var out []string
	add := func(name, value string) {
		// Short or plain values would blank out innocent text.
		if len(value) >= 8 || (len(value) >= 4 && looksSecret(name)) {
			out = append(out, value)
		}
	}
	for name, value := range c.Env {
		if !isPath(name, value) {
			add(name, value)
		}
	}
	for name, value := range c.Headers {
		add(name, value)
		if _, token, ok := strings.Cut(value, " "); ok {
			add(name, token)
		}
	}
	if c.OAuth != nil {
		add("secret", c.OAuth.ClientSecret)
	}
	if u, err := url.Parse(c.URL); err == nil {
		if pw, ok := u.User.Password(); ok {
			add("password", pw)
		}
		for name, values := range u.Query() {
			for _, v := range values {
				add(name, v)
			}
		}
	}
	return out
}

// isPath tells whether a variable's value is a path, which is no secret and
// stands in many texts. One that only begins like it is none.
func isPath(name, value string) bool { return strings.HasPrefix(value, "/") && !looksSecret(name) }

func looksSecret(name string) bool {
	name = strings.ToLower(name)
	for _, word := range []string{"key", "token", "secret", "pass", "auth", "credential", "cookie"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}

// redactor returns a function that takes the secrets of the entry out of a
// text, and those that others know, as they are at the time.
func (c ServerConfig) redactor(known func() []string) func(string) string {
	own := c.secrets()
	return func(text string) string {
		secrets := slices.Concat(own, known())
		// The longest first, so that no part of a secret stays.
		slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) })
		for _, secret := range secrets {
			for _, form := range writtenForms(secret) {
				text = strings.ReplaceAll(text, form, "***")
			}
		}
		return text
	}
}

// writtenForms are a text as it is, in an address, and between quotes.
func writtenForms(text string) []string {
	quoted := strconv.Quote(text)
	forms := []string{text, url.QueryEscape(text), url.PathEscape(text), (&url.URL{Path: text}).EscapedPath(), quoted[1 : len(quoted)-1]}
	slices.Sort(forms)
	return slices.Compact(forms)
}

// secrets are the values that the program took from variables and files. Paths
// among them are none.
func (h *hub) secrets() []string {
	keeper, ok := core.Secrets.Get(h.c)
	if !ok {
		return nil
	}
	return withoutPaths(keeper.Secrets())
}

func withoutPaths(secrets []string) []string {
	return slices.DeleteFunc(slices.Clone(secrets), func(s string) bool { return isPath(variableOf(s), s) })
}

// variableOf is the name of the variable of this process that holds a value,
// and says of it more than another one does.
func variableOf(value string) (name string) {
	for _, entry := range os.Environ() {
		if n, v, _ := strings.Cut(entry, "="); v == value && (name == "" || looksSecret(n)) {
			name = n
		}
	}
	return name
}
