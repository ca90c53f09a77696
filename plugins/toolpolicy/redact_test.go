package toolpolicy

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/internal/redact"
)

func TestE26_SecretsAreRedacted(t *testing.T) {
	r := &redactor{redact.Of([]string{"canary-4711-value", "canary-4711-value-longer"})}
	secret := []string{
		"canary-4711-value", "canary-4711-value-longer",
		"sk-abcdefghijklmnopqrstuvwx", "ghp_0123456789abcdefghijABCD", "AKIAIOSFODNN7EXAMPLE",
		"Bearer abcdef0123456789", "eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.c2ln",
		"-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----", "xoxb-1234567890-abc",
	}
	for _, s := range secret {
		args, _ := json.Marshal(map[string]any{"text": "before " + s + " after", "list": []string{s}, s: 1})
		for _, got := range []string{r.Text("x " + s), string(r.arguments(args)), string(r.arguments([]byte("no json " + s)))} {
			if strings.Contains(got, s) || strings.Contains(got, "longer") {
				t.Errorf("%s is left in %s", s, got)
			}
		}
	}
	if got := r.Text("https://me:hunter22@example.com/x"); strings.Contains(got, "hunter22") || !strings.Contains(got, "example.com/x") {
		t.Errorf("got %s", got)
	}
	got := string(r.arguments([]byte(`{"password":"p","apiKey":"k","Authorization":"a","path":"docs/a","n":1,"tokens":5}`)))
	want := `{"Authorization":"[redacted]","apiKey":"[redacted]","n":1,"password":"[redacted]","path":"docs/a","tokens":5}`
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	got = string(r.arguments([]byte(`{"a":{"secret":1234,"x":{"token":["a1"],"password":{"value":"b2"},"auth":true,"cookie":null,"maxTokens":7}}}`)))
	want = `{"a":{"secret":"[redacted]","x":{"auth":true,"cookie":null,"maxTokens":7,"password":"[redacted]","token":"[redacted]"}}}`
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// The option full keeps arguments as they were written, which may hold a secret
// in another form, or as what is no text.
func TestE26_SecretsAreRedactedInFullArgumentsToo(t *testing.T) {
	p := &policing{}
	p.config.Store(&Config{Audit: AuditConfig{Arguments: "full"}})
	p.redact.Store(&redactor{redact.Of([]string{`quo"ted&secret`, "12345678"})})
	for args, want := range map[string]string{
		`{"a": "x quo\"ted&secret"}`:      `{"a": "x [redacted]"}`,
		`{"a": "x quo\"ted\u0026secret"}`: `{"a": "x [redacted]"}`,
		`{"n": 12345678}`:                 `"{\"n\": [redacted]}"`,
		`no json 12345678`:                `"no json [redacted]"`,
		`{"b": 1, "a": 2}`:                `{"b": 1, "a": 2}`,
	} {
		if got := string(p.shownArguments(json.RawMessage(args))); got != want {
			t.Errorf("%s: got %s, want %s", args, got, want)
		}
	}
}

func TestE26_ACanaryReachesNoFile(t *testing.T) {
	const canary = "canary-0815-secret"
	t.Setenv("TEST_API_TOKEN", canary)
	const other = "canary-0816-configured"
	for _, arguments := range []string{"redacted", "full", "none"} {
		h := newHouse(t, t.TempDir(), Config{Audit: AuditConfig{Arguments: arguments}})
		h.secrets = []string{other} // known from the next reload on
		h.set("x(" + canary + ") = off")
		h.call("r", "print "+other)
		h.must(h.broker.AddAsker(h.c, &person{answers: []core.Answer{{Kind: core.AnswerReject, Text: "not " + canary}}}))
		h.call("x", canary)
		h.call("x", "echo "+canary)
		h.call("r", canary)
		h.call("nothing-"+canary, canary)
		h.close()
		state := filepath.Join(h.state, "state")
		entries, err := os.ReadDir(state)
		h.must(err)
		lines := 0
		for _, e := range entries {
			data, err := os.ReadFile(filepath.Join(state, e.Name()))
			h.must(err)
			lines += strings.Count(string(data), "\n")
			if strings.Contains(string(data), canary) || strings.Contains(string(data), other) {
				t.Errorf("%s: %s holds the canary:\n%s", arguments, e.Name(), data)
			}
		}
		if lines < 10 {
			t.Errorf("%s: only %d lines were written", arguments, lines)
		}
	}
}

func TestAuditArgumentsByOption(t *testing.T) {
	for option, want := range map[string]string{"none": "", "full": `{"command":"ghp_0123456789abcdefghijABCD"}`, "redacted": `{"command":"[redacted]"}`} {
		h := newHouse(t, t.TempDir(), Config{Audit: AuditConfig{Arguments: option}})
		h.call("r", "ghp_0123456789abcdefghijABCD")
		data, err := os.ReadFile(h.admin.AuditFile())
		h.must(err)
		first, _, _ := strings.Cut(string(data), "\n")
		var line struct {
			Arguments json.RawMessage
			Digest    string
		}
		h.must(json.Unmarshal([]byte(first), &line))
		if string(line.Arguments) != want || line.Digest == "" {
			t.Errorf("%s: got %s, digest %q", option, line.Arguments, line.Digest)
		}
	}
}
