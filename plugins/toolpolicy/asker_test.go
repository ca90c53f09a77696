package toolpolicy

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/agentd-host/agentd/core"
)

// answerAs is the variable with which this test program is the command that
// answers, instead of running tests.
const answerAs = "TOOLPOLICY_TEST_ANSWER"

func answerForADaemon() {
	answer, ok := os.LookupEnv(answerAs)
	if !ok {
		return
	}
	var a core.Approval
	if err := json.NewDecoder(os.Stdin).Decode(&a); err != nil || a.Tool != "x" || a.Digest == "" {
		os.Exit(3)
	}
	os.Stdout.WriteString(answer)
	if answer == "fail" {
		os.Stderr.WriteString("no\x1b display")
		os.Exit(1)
	}
	os.Exit(0)
}

func TestRule09_ACommandAnswersForADaemon(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]core.ErrorCode{
		`{"kind":"once"}`:                  "",
		`{"kind":"reject","text":"later"}`: core.CodeDenied,
		`{"kind":"sudo"}`:                  core.CodeNobody,
		`{"kind":"once","root":true}`:      core.CodeNobody,
		`nonsense`:                         core.CodeNobody,
		`[]`:                               core.CodeNobody,
		`{"kind":"once"}{"kind":"reject"}`: core.CodeNobody,
		`{"kind":"once"} and more`:         core.CodeNobody,
		`{"kind":"reject","kind":"once"}`:  core.CodeNobody,
		`{"kind":"reject","KIND":"once"}`:  core.CodeNobody,
		`{"KIND":"once"}`:                  core.CodeNobody,
		`fail`:                             core.CodeNobody,
		strings.Repeat(" ", maxAnswer) + `{"kind":"once"}`: core.CodeNobody,
	}
	for answer, want := range tests {
		t.Setenv(answerAs, answer)
		h := newHouse(t, t.TempDir(), Config{Approval: ApprovalConfig{Command: []string{self}}})
		h.wants(h.call("x", "ls"), want)
	}
}

func TestRule09_AWebhookAnswersForADaemon(t *testing.T) {
	var got core.Approval
	answer, status := `{"kind":"always","by":"alice"}`, http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/away" {
			http.Redirect(w, r, "/", http.StatusTemporaryRedirect)
			return
		}
		body, _ := io.ReadAll(r.Body)
		if err := json.Unmarshal(body, &got); err != nil || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		w.WriteHeader(status)
		io.WriteString(w, answer)
	}))
	defer server.Close()
	house := func(path string) *house {
		return newHouse(t, t.TempDir(), Config{Approval: ApprovalConfig{Webhook: server.URL + path}})
	}
	h := house("")
	h.wants(h.call("x", "ls"), "")
	if string(got.Args) != `{"command":"ls"}` || got.Session != "s1" || got.Saved != h.admin.GrantsFile() {
		t.Errorf("the webhook got %+v", got)
	}
	if grants, err := h.admin.Grants(); err != nil || len(grants) != 1 || grants[0].By != "alice" {
		t.Errorf("got %+v, %v", grants, err)
	}
	h = house("/away")
	h.wants(h.call("x", "ls"), core.CodeNobody)
	status = http.StatusTeapot
	h = house("")
	h.wants(h.call("x", "ls"), core.CodeNobody)
	server.Close()
	r := h.call("x", "ls")
	h.wants(r, core.CodeNobody)
	if strings.Contains(r.Err.Error(), server.URL) {
		t.Errorf("the URL, which may hold a token, is in %q", r.Err)
	}
}

func TestWithoutURLKeepsTheCause(t *testing.T) {
	h := newHouse(t, t.TempDir(), Config{})
	_, err := askWebhook(h.c, &ApprovalConfig{Webhook: "http://127.0.0.1:0/?token=canary"}, core.Approval{})
	if err == nil || strings.Contains(err.Error(), "canary") {
		t.Errorf("got %v", err)
	}
	if _, err = askWebhook(h.c, &ApprovalConfig{Webhook: "::"}, core.Approval{}); err == nil || errors.Unwrap(err) != nil {
		t.Errorf("got %v", err)
	}
}
