package redact

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
)

// credentialParts are what credentials, and texts that are nearly some, are
// made of.
var credentialParts = []string{
	"sk", "pk", "rk", "-", "_", "gho_", "ghp_", "ghs_", "ghu_", "ghr_", "ghx_", "github_pat_", "glpat-", "xox", "xoxb-", "AKIA", "AIza", "eyJ",
	"bearer", "Bearer", "BEARER", "bEaReR", " ", "\t", "\n", ".", "-----", "BEGIN ", "-----BEGIN RSA ", "PRIVATE KEY-----",
	"://", ":", "@", "/", "a", "0", "Z", "é", "\xff", "K", "ſ", "0123456789ABCDEF", "0123456789.0123456789.", "me:word@", "0123456789abcdefghijklmnopqrst",
}

// nameParts are what names of secrets, and names that are nearly some, are
// made of.
var nameParts = []string{
	"pass", "PASS", "paſſ", "word", "wd", "phrase", "secret", "ſecret", "SeCrEt", "token", "to\u212aen", "api", "private", "access", "-", "_",
	"key", "\u212aEY", "auth", "Auth", "orization", "credential", "cookie", "COO\u212aIE", "a", "é", "\xff", "s", "k",
}

// agrees holds a check that goes before a regular expression against it, with
// texts made of parts.
func agrees(t *testing.T, re *regexp.Regexp, check func(string) bool, parts []string) {
	t.Helper()
	rng := rand.New(rand.NewPCG(5, 6))
	found := 0
	for range 40_000 {
		var b strings.Builder
		for range 1 + rng.IntN(6) {
			b.WriteString(parts[rng.IntN(len(parts))])
		}
		text := b.String()
		if !re.MatchString(text) {
			continue
		}
		if found++; !check(text) {
			t.Fatalf("passed over: %q", text)
		}
	}
	if found < 500 {
		t.Errorf("only %d texts were to be found", found)
	}
}

func TestE26_NoCredentialIsPassedOver(t *testing.T) {
	agrees(t, secretText, mayHoldCredential, credentialParts)
	agrees(t, secretName, NamesSecret, nameParts)
}

func TestOrdinaryTextHoldsNoCredential(t *testing.T) {
	for _, text := range []string{
		"", "agent.yml: mcp__forge__list_issues = auto", "toolpolicy.byEffect: read = auto", "task_list", "risk-free", "the bear",
		"the path is outside of the folder: /home/me/docs", "--begin", "a:b", "Azure", "expert",
	} {
		if mayHoldCredential(text) {
			t.Errorf("%q needs the long search", text)
		}
		if NamesSecret(text) {
			t.Errorf("%q names a secret", text)
		}
	}
}

func FuzzCredential(f *testing.F) {
	for _, part := range credentialParts {
		f.Add(part + strings.Repeat("A0", 20) + ".eyJabcdefgh.x@")
	}
	for _, part := range nameParts {
		f.Add(part)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if secretText.MatchString(text) && !mayHoldCredential(text) || secretName.MatchString(text) != NamesSecret(text) {
			t.Errorf("passed over: %q", text)
		}
	})
}
