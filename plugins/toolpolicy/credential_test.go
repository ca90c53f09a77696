package toolpolicy

import (
	"math/rand/v2"
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

func TestE26_NoCredentialIsPassedOver(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	found := 0
	for range 200_000 {
		var b strings.Builder
		for range 1 + rng.IntN(6) {
			b.WriteString(credentialParts[rng.IntN(len(credentialParts))])
		}
		text := b.String()
		if !secretText.MatchString(text) {
			continue
		}
		if found++; !mayHoldCredential(text) {
			t.Fatalf("passed over: %q", text)
		}
	}
	if found < 1000 {
		t.Errorf("only %d texts held a credential", found)
	}
}

func TestOrdinaryTextHoldsNoCredential(t *testing.T) {
	for _, text := range []string{
		"", "agent.yml: mcp__forge__list_issues = auto", "toolpolicy.byEffect: read = auto", "task_list", "risk-free", "the bear",
		"the path is outside of the folder: /home/me/docs", "--begin", "a:b", "Azure", "expert",
	} {
		if mayHoldCredential(text) {
			t.Errorf("%q needs the long search", text)
		}
	}
}

func FuzzMayHoldCredential(f *testing.F) {
	for _, part := range credentialParts {
		f.Add(part + strings.Repeat("A0", 20) + ".eyJabcdefgh.x@")
	}
	f.Fuzz(func(t *testing.T, text string) {
		if secretText.MatchString(text) && !mayHoldCredential(text) {
			t.Errorf("passed over: %q", text)
		}
	})
}
