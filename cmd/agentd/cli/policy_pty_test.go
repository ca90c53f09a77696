//go:build unix

package cli_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/agentd-host/agentd/core/llm"
	"github.com/agentd-host/agentd/plugins/toolpolicy"
	"github.com/agentd-host/agentd/plugins/toolpolicy/audit"
)

// results are the tool results that the scripted model was sent with its last
// request, in the order in which it got them.
func results(t *testing.T, w workplace) (texts []string) {
	t.Helper()
	rows := strings.Split(strings.TrimSpace(w.read(t, "requests")), "\n")
	var messages []llm.Message
	if err := json.Unmarshal([]byte(rows[len(rows)-1]), &messages); err != nil {
		t.Fatal(err)
	}
	for _, m := range messages {
		for _, part := range m.Parts {
			if part.Result != nil {
				texts = append(texts, part.Result.Name+": "+llm.PartsText(part.Result.Parts))
			}
		}
	}
	return texts
}

// transcript is what sessions show prints of the last session.
func transcript(t *testing.T, w workplace, program string) string {
	t.Helper()
	out, stderr, code := w.run(t, program, "sessions", "show", "-c", "agent.yml", "last")
	if code != 0 {
		t.Fatalf("sessions show: %s%s", out, stderr)
	}
	return out
}

func grants(t *testing.T, w workplace, program string) (list []toolpolicy.Grant) {
	t.Helper()
	out, stderr, _ := w.run(t, program, "policy", "grants", "-c", "agent.yml", "--json")
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		t.Fatalf("%v in %s%s", err, out, stderr)
	}
	return list
}

// A session at a terminal: three parallel calls that are auto, ask and off in
// each of three turns, answered with s, with n and a reason, and with N.
func TestRule10_H11_H12_ASessionAtATerminal(t *testing.T) {
	three := func(tool, what string) string {
		return `{calls: [{name: look, args: {what: ` + what + `}}, {name: ` + tool + `, args: {what: ` + what + `}}, {name: secret}]}, {text: "turn ` + what + ` over"}`
	}
	w := newWorkplace(t, "agent.yml", `tools:
  policy: {change: ask, launch: ask, secret: off}
plugins:
  scripted: {marks: ran, requests: requests, replies: [`+three("change", "one")+`, `+three("launch", "two")+`, `+three("launch", "three")+`, `+three("change", "one")+`]}
  agent: {model: scripted}
  toolpolicy: {}
  memory: {}
`)
	p := w.sit(t, 100, "agentd-scripted", "chat", "-c", "agent.yml")
	p.sees("> ")
	for _, step := range []struct{ message, question, answer, over string }{
		{"first", "change wants to run", "s", "turn one over"},
		{"second", "launch wants to run", "n not on a Sunday", "turn two over"},
		{"third", "launch wants to run", "N", "turn three over"},
	} {
		p.says(step.message)
		p.sees(step.question, "answer> ")
		p.says(step.answer)
		p.sees(step.over, "> ")
	}
	p.says("fourth") // the answer for the session holds
	p.sees("turn one over", "> ")
	p.types("\x04")
	p.leaves(0)

	if ran, want := w.read(t, "ran"), "launch"; strings.Contains(ran, want) || strings.Contains(ran, "secret") {
		t.Errorf("what was refused ran:\n%s", ran)
	}
	if ran := w.read(t, "ran"); strings.Count(ran, "change one") != 2 || strings.Count(ran, "look") != 4 {
		t.Errorf("what was allowed did not run:\n%s", ran)
	}

	// The transcript: results in call order, each with its own reason.
	got := results(t, w)
	want := []string{
		"look did one", "change did one", "secret",
		"look did two", "not on a Sunday", "secret",
		"look did three", "launch: error: denied", "secret",
		"look did one", "change did one", "secret",
	}
	if len(got) != len(want) {
		t.Fatalf("%d results, want %d:\n%s", len(got), len(want), strings.Join(got, "\n"))
	}
	for i := range want {
		if !strings.Contains(got[i], want[i]) {
			t.Errorf("result %d: %s\nwant %s", i, got[i], want[i])
		}
	}
	if strings.Contains(got[7], "Sunday") {
		t.Errorf("the reason of another call: %s", got[7])
	}

	shown := transcript(t, w, "agentd-scripted")
	for _, text := range []string{"first", "→ change", "← change change did one", "not on a Sunday", "turn three over"} {
		if !strings.Contains(shown, text) {
			t.Errorf("the transcript lacks %q:\n%s", text, shown)
		}
	}

	// The grants: only "never" is saved.
	kept := grants(t, w, "agentd-scripted")
	if len(kept) != 1 || kept[0].Tool != "launch" || kept[0].Allow || kept[0].Session != "" {
		t.Errorf("grants: %+v", kept)
	}

	// The audit: one decision and one outcome for each call, in one chain.
	if _, err := audit.Verify(w.state("audit.jsonl")); err != nil {
		t.Error(err)
	}
	records, err := audit.Tail(w.state("audit.jsonl"), 1000)
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for _, r := range records {
		if r.Kind == audit.Decision {
			counts[r.Tool+" "+r.Decision]++
		}
	}
	for what, n := range map[string]int{"look allow": 4, "change allow": 2, "launch deny": 2} {
		if counts[what] != n {
			t.Errorf("audit: %q %d times, want %d; all: %v", what, counts[what], n, counts)
		}
	}
}

// kill -9 in the middle of a question: afterwards the call was interrupted,
// nothing is asked any more, no grant is left, and the session goes on.
func TestH24_KilledInAQuestion(t *testing.T) {
	w := newWorkplace(t, "agent.yml", `tools:
  policy: {change: ask}
plugins:
  scripted: {marks: ran, requests: requests, replies: [{calls: [{name: change, args: {what: it}}]}, {text: "not played"}]}
  agent: {model: scripted}
  toolpolicy: {}
  memory: {}
`)
	p := w.sit(t, 100, "agentd-scripted", "chat", "-c", "agent.yml")
	p.sees("> ")
	p.says("go")
	p.sees("change wants to run", "answer> ")
	p.types("s")
	p.kill()

	w.write(t, "agent.yml", strings.Replace(w.read(t, "agent.yml"),
		`replies: [{calls: [{name: change, args: {what: it}}]}, {text: "not played"}]`, `replies: [{text: "going on"}]`, 1))
	p = w.sit(t, 100, "agentd-scripted", "chat", "-c", "agent.yml", "--session", "last")
	p.sees("> ")
	p.says("and now?")
	p.sees("going on", "> ")
	p.lacks("May this run?")
	p.types("\x04")
	p.leaves(0)
	if shown := transcript(t, w, "agentd-scripted"); !strings.Contains(shown, "✗ change interrupted") {
		t.Errorf("the transcript:\n%s", shown)
	}
	got := results(t, w)
	if len(got) != 1 || !strings.Contains(got[0], "interrupted") {
		t.Errorf("results: %v", got)
	}
	if kept := grants(t, w, "agentd-scripted"); len(kept) > 0 {
		t.Errorf("grants: %+v", kept)
	}
	if ran := w.read(t, "ran"); ran != "" {
		t.Errorf("ran: %s", ran)
	}
}

// With ~ before toolpolicy, written while a session runs, the next call is
// decided without a policy: what reads runs, all else is refused. Without ~
// the rules, the grants and the record are back.
func TestRule5_PolicyPluginTakenAwayInASession(t *testing.T) {
	w := newWorkplace(t, "agent.yml", plainConfig, "a.txt", "hello from a file\n")
	p := w.sit(t, 100, "agentd", "chat", "-c", "agent.yml", "--log-level", "info")
	p.sees("> ")
	p.says(`run_command {"command":"touch made-a"}`)
	p.sees("answer> ")
	p.says("a")
	p.sees("exit code 0", "> ")
	w.write(t, "agent.yml", strings.Replace(plainConfig, "toolpolicy:", "~toolpolicy:", 1))
	p.sees("configuration applied")
	p.says("read_file path=a.txt")
	p.sees("hello from a file")
	p.says(`run_command {"command":"touch made-b"}`)
	p.sees("✗ run_command")
	p.says(`write_file {"path":"made-c","content":"x"}`)
	p.sees("✗ write_file")
	w.write(t, "agent.yml", plainConfig)
	p.sees("configuration applied")
	p.says(`run_command {"command":"touch made-a"}`) // the grant is back
	p.sees("✓ run_command")
	p.says(`run_command {"command":"touch made-d"}`) // and so is the question
	p.sees("answer> ")
	p.says("y")
	p.sees("✓ run_command")
	p.says("read_file path=a.txt")
	p.sees("hello from a file")
	p.types("\x04")
	p.leaves(0)
	for name, want := range map[string]bool{"made-a": true, "made-b": false, "made-c": false, "made-d": true} {
		if _, err := os.Stat(w.dir + "/" + name); (err == nil) != want {
			t.Errorf("%s is there: %v, want %v", name, err == nil, want)
		}
	}
	if _, err := audit.Verify(w.state("audit.jsonl")); err != nil {
		t.Error(err)
	}
}

// A change of the policy drops no question that waits.
func TestRule4_PolicyChangeKeepsTheQuestion(t *testing.T) {
	w := newWorkplace(t, "agent.yml", plainConfig)
	p := w.sit(t, 100, "agentd", "chat", "-c", "agent.yml", "--log-level", "info")
	p.sees("> ")
	p.says(`run_command {"command":"touch made"}`)
	p.sees("answer> ")
	p.types("y")
	w.write(t, "agent.yml", "tools: {policy: {read_file: ask}}\n"+
		strings.Replace(plainConfig, "toolpolicy: {}", "toolpolicy: {approval: {timeout: 300s}}", 1))
	p.sees("configuration applied", "answer> y")
	p.types("\r")
	p.sees("exit code 0", "> ")
	p.types("\x04")
	p.leaves(0)
	if _, err := os.Stat(w.dir + "/made"); err != nil {
		t.Error("the command did not run")
	}
}
