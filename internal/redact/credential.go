package redact

import (
	"regexp"
	"slices"
	"strings"
)

// secretName finds names that speak of secrets. Each has one of secretWords in
// it.
var secretName = regexp.MustCompile(`(?i)(pass(word|wd|phrase)?$|secret|token|api[-_]?key|auth(orization)?$|credential|cookie|private[-_]?key|access[-_]?key)`)

var secretWords = []string{"pass", "secret", "token", "key", "auth", "credential", "cookie"}

// NamesSecret reports whether a name speaks of a secret. Most names are
// dismissed by the words alone.
func NamesSecret(name string) bool {
	folded := strings.ReplaceAll(strings.ToLower(name), "ſ", "s") // as (?i) does
	return slices.ContainsFunc(secretWords, func(word string) bool { return strings.Contains(folded, word) }) &&
		secretName.MatchString(name)
}

// secretText finds credentials by their form: keys of well-known services,
// bearer tokens, JSON web tokens, private keys, user names with passwords in
// URLs. Each alternative begins with one of the beginnings below.
var secretText = regexp.MustCompile(`\b(sk|pk|rk)[-_][A-Za-z0-9_-]{16,}|\bgh[opsur]_[A-Za-z0-9]{20,}|\bgithub_pat_\w{20,}` +
	`|\bglpat-[\w-]{16,}|\bxox[a-z]-[A-Za-z0-9-]{10,}|\bAKIA[0-9A-Z]{16}\b|\bAIza[\w-]{30,}` +
	`|\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*|(?i:\bbearer\s+)[\w.~+/=-]{12,}` +
	`|-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(-----END [A-Z ]*PRIVATE KEY-----|\z)|://[^/\s:@]+:[^/\s@]+@`)

// beginnings are the literal beginnings of what secretText finds, by their
// first character. Those that are words stand where a word begins.
var beginnings = [256][]string{
	's': {"sk-", "sk_"}, 'p': {"pk-", "pk_"}, 'r': {"rk-", "rk_"},
	'g': {"gho_", "ghp_", "ghs_", "ghu_", "ghr_", "github_pat_", "glpat-"},
	'x': {"xox"}, 'A': {"AKIA", "AIza"}, 'e': {"eyJ"},
	'-': {"-----BEGIN "}, ':': {"://"},
}

// mayHoldCredential reports whether secretText could find something. It is
// never false where it would, and much cheaper.
func mayHoldCredential(text string) bool {
	inWord := false
	for i := range len(text) {
		word := isWord(text[i])
		if !(word && inWord) && credentialBegins(text[i:]) {
			return true
		}
		inWord = word
	}
	return false
}

// credentialBegins reports whether text begins as secretText's finds do.
func credentialBegins(text string) bool {
	for _, beginning := range beginnings[text[0]] {
		if strings.HasPrefix(text, beginning) {
			return true
		}
	}
	const bearer = "bearer"
	return text[0]|0x20 == bearer[0] && len(text) > len(bearer) && strings.EqualFold(text[:len(bearer)], bearer)
}

// isWord reports whether c is a word's character to a regular expression.
func isWord(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_'
}
