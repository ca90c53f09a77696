package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentd-host/agentd/core/config"
)

func TestExpand(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"key": "s3cret\n", "bad": "a\x00b"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	environ := []string{"A=x", "EMPTY=", "NEST=${A}", "BELL=\a"}
	tests := []struct{ in, want, problem string }{
		{in: "plain", want: "plain"},
		{in: "${A}-${env:A}", want: "x-x"},
		{in: "${B:-d}${B:-}", want: "d"},
		{in: "[${EMPTY}][${EMPTY:-d}]", want: "[][d]"},
		{in: "$$ $${A} $ $A 5$", want: "$ ${A} $ $A 5$"},
		{in: "${NEST}", want: "${A}"},
		{in: "${A:-${B}}", problem: "a variable inside a variable"},
		{in: "${B}", problem: "the variable B is not set"},
		{in: "${A", problem: "${ without }"},
		{in: "${}", problem: "${} is no variable"},
		{in: "${A B}", problem: "${A B} is no variable"},
		{in: "${1A}", problem: "is no variable"},
		{in: "${BELL}", problem: "holds a control character"},
		{in: "${file:key}", want: "s3cret"},
		{in: "${file:" + dir + "/key}", want: "s3cret"},
		{in: "${file:none:-d}", want: "d"},
		{in: "${file:none}", problem: "no such file"},
		{in: "${file:bad}", problem: "a NUL byte"},
		{in: "${file:}", problem: "names no file"},
		{in: "${file:.}", problem: "this is a folder"},
	}
	for _, tt := range tests {
		got, err := config.Expand(tt.in, dir, environ...)
		switch {
		case tt.problem != "" && (err == nil || !strings.Contains(err.Error(), tt.problem)):
			t.Errorf("%q: error %v, want %q", tt.in, err, tt.problem)
		case tt.problem == "" && (err != nil || got != tt.want):
			t.Errorf("%q: got %q, %v, want %q", tt.in, got, err, tt.want)
		case err != nil && strings.Contains(err.Error(), "s3cret"):
			t.Errorf("%q: the error holds a value: %v", tt.in, err)
		}
	}
}

func TestM49_VariablesWorkInEveryFieldOfAServer(t *testing.T) {
	const text = `plugins:
  mcp:
    servers:
      s:
        command: "${C}"
        args: ["${C}", "$${C}", "${D:-d}"]
        env: {K: "${env:C}"}
        url: "${C}/x"
        headers: {Authorization: "Bearer ${C}"}
`
	doc := mustLoad(t, text, "C=val")
	want := `{"servers":{"s":{"args":["val","${C}","d"],"command":"val","env":{"K":"val"},` +
		`"headers":{"Authorization":"Bearer val"},"url":"val/x"}}}`
	if got := string(doc.Entry("mcp").Config); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	_, problem := load(t, text)
	if got := strings.Count(problem, "the variable C is not set"); got != 5 {
		t.Errorf("%d fields are named, want 5:\n%s", got, problem)
	}
	for _, field := range []string{"command", "args[0]", "env.K", "url", "headers.Authorization"} {
		if !strings.Contains(problem, "plugins.mcp.servers.s."+field+":") {
			t.Errorf("%s is not named:\n%s", field, problem)
		}
	}
}

func TestVariablesTakeTheTypeThatIsWanted(t *testing.T) {
	doc := mustLoad(t, `
tools: {policy: {a: "${P}", b: "${Q}"}}
plugins: {agent: {model: "${N}", budgets: {steps: "${N}"}}, toolsearch: {on: "${B}"}}
`, "N=7", "B=true", "P=off", "Q=false")
	if got, want := string(doc.Entry("agent").Config), `{"budgets":{"steps":7},"mode":"fast","model":"7"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := string(doc.Entry("toolsearch").Config); !strings.Contains(got, `"on":true`) {
		t.Errorf("got %s", got)
	}
	if doc.Policy[0].Value != "off" || doc.Policy[1].Value != "off" {
		t.Errorf("policy = %v", doc.Policy)
	}
}

func TestE26_ValuesOfVariablesAreNotInErrors(t *testing.T) {
	const secret = "canary-4711"
	texts := []string{
		`plugins: {agent: {budgets: {steps: "${S}"}}}`,
		`plugins: {agent: {mode: "${S}"}}`,
		`plugins: {agent: {budgets: {wall: "${S}"}}}`,
		`tools: {policy: {a: "${S}"}}`,
		`version: "${S}"`,
		`plugins: {agent: "${S}"}`,
		`plugins: {mcp: {servers: {a: "${S}"}}}`,
		`plugins: {"group:a": {filter: {include: ["${S}/x"]}}}`,
		`plugins: {"group:a": {filter: "${S}", plugins: "${S}"}}`,
	}
	for _, text := range texts {
		_, problem := load(t, text, "S="+secret)
		if problem == "" || strings.Contains(problem, secret) {
			t.Errorf("%s: %q", text, problem)
		}
	}
	_, problem := load(t, "plugins: {}", "AGENTD_PLUGINS__AGENT__MODE="+secret, "AGENTD_PLUGINS__AGENT__BUDGETS__STEPS="+secret)
	if strings.Contains(problem, secret) || strings.Count(problem, "\n") != 1 {
		t.Errorf("environment: %q", problem)
	}
	_, problem = loadSources(t, config.Sources{Set: []string{"plugins.openai.apiKey={x: " + secret + "}"}})
	if strings.Contains(problem, secret) || problem == "" {
		t.Errorf("--set: %q", problem)
	}
}

func FuzzExpand(f *testing.F) {
	for _, s := range []string{"${A}", "${A:-x}", "$$", "$${A}", "${file:x:-y}", "${", "$", "${env:A}}", "${A:-$$}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if !strings.Contains(s, "file:") {
			config.Expand(s, "", "A=b")
		}
		// What was escaped comes out as it went in.
		if got, err := config.Expand(config.EscapeDollars(s), ""); err != nil || got != s {
			t.Errorf("%q: got %q, %v", s, got, err)
		}
	})
}

func FuzzCheckPattern(f *testing.F) {
	for _, s := range []string{"a", "mcp__*", "effect:read", "server:x", "group:y", "run(git *)", "w(path=docs/**)", "", "(", "a()", "*", "effect:", "x:y"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		err := config.CheckPattern(s)
		if err == nil && (s == "" || strings.ContainsAny(s, "\x00\n")) {
			t.Errorf("%q was accepted", s)
		}
		if err != nil && strings.ContainsAny(err.Error(), "\x00\n") {
			t.Errorf("%q: the error does not fit on a line: %q", s, err)
		}
	})
}
