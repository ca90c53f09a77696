//go:build unix

package cli_test

import (
	"encoding/json"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/agentd-host/agentd/core"
)

// daemon starts agentd run and waits until it is ready.
func daemon(t *testing.T, w workplace, program string) *person {
	t.Helper()
	d := w.sit(t, 200, program, "run", "-c", "agent.yml")
	d.sees("msg=ready")
	return d
}

func (p *person) stops() {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Fatal(err)
	}
	p.leaves(0)
}

// A call that is made in the daemon asks the person who made it, at his own
// terminal.
func TestDaemon_QuestionReachesTheCaller(t *testing.T) {
	w := newWorkplace(t, "agent.yml", plainConfig)
	d := daemon(t, w, "agentd")

	p := w.sit(t, 100, "agentd", "tools", "call", "-c", "agent.yml", "run_command", `{"command":"echo did; touch made"}`)
	p.sees("using the daemon", `May this run\?`, "touch made", "answer> ")
	p.says("y")
	p.sees("did")
	p.leaves(0)
	if _, err := os.Stat(w.dir + "/made"); err != nil {
		t.Error("the command did not run")
	}

	p = w.sit(t, 100, "agentd", "tools", "call", "-c", "agent.yml", "run_command", `{"command":"touch again"}`)
	p.sees("answer> ")
	p.says("n not today")
	p.sees("not today")
	p.leaves(1)

	p = w.sit(t, 100, "agentd", "tools", "call", "-c", "agent.yml", "ask_user", `{"question":"which one?","choices":["red","blue"]}`)
	p.sees("which one", "2 │ blue", "answer> ")
	p.says("2")
	p.sees("blue")
	p.leaves(0)

	// Ctrl-C and a closed terminal withdraw the question.
	for _, leave := range []func(*person){
		func(p *person) { p.types("\x03"); p.leaves(130) },
		func(p *person) { p.kill() },
	} {
		p = w.sit(t, 100, "agentd", "tools", "call", "-c", "agent.yml", "run_command", `{"command":"touch again"}`)
		p.sees("answer> ")
		leave(p)
		eventually(t, "no question waits", func() bool {
			out, _, _ := w.run(t, "agentd", "approvals", "list", "-c", "agent.yml")
			return strings.Contains(out, "no questions")
		})
	}
	if _, err := os.Stat(w.dir + "/again"); err == nil {
		t.Error("the refused command ran")
	}

	// Without a terminal nobody can be asked.
	_, stderr, code := w.run(t, "agentd", "tools", "call", "-c", "agent.yml", "run_command", `{"command":"touch again"}`)
	if code != 3 || !strings.Contains(stderr, "run_command") {
		t.Errorf("exit code %d, want 3:\n%s", code, stderr)
	}
	d.stops()
}

// With an inbox the daemon's questions wait for agentd approvals answer from
// another process.
func TestDaemon_InboxIsAnsweredFromAnotherProcess(t *testing.T) {
	w := newWorkplace(t, "agent.yml", strings.ReplaceAll(plainConfig, "toolpolicy: {}", "toolpolicy: {approval: {inbox: true}}"))
	d := daemon(t, w, "agentd")
	pending := func() core.Approval {
		var open []core.Approval
		eventually(t, "a question waits", func() bool {
			out, _, _ := w.run(t, "agentd", "approvals", "list", "-c", "agent.yml", "--json")
			return json.Unmarshal([]byte(out), &open) == nil && len(open) == 1
		})
		return open[0]
	}
	call := func(command string) *person {
		args, _ := json.Marshal(map[string]string{"command": command})
		return sit(t, w.command(t, "sh", "-c", `agentd tools call -c agent.yml run_command '`+string(args)+`' </dev/null`), 100)
	}

	p := call("echo did")
	q := pending()
	if out, stderr, code := w.run(t, "agentd", "approvals", "answer", "-c", "agent.yml", q.ID, "perhaps"); code != 2 {
		t.Errorf("a wrong answer: exit code %d\n%s%s", code, out, stderr)
	}
	out, stderr, code := w.run(t, "agentd", "approvals", "answer", "-c", "agent.yml", q.ID, "once")
	if code != 0 {
		t.Fatalf("%s%s", out, stderr)
	}
	p.sees("did")
	p.leaves(0)
	if _, stderr, code := w.run(t, "agentd", "approvals", "answer", "-c", "agent.yml", q.ID, "once"); code != 1 {
		t.Errorf("answered twice: exit code %d\n%s", code, stderr)
	}

	p = call("touch made")
	w.run(t, "agentd", "approvals", "answer", "-c", "agent.yml", pending().ID, "reject", "not", "here")
	p.sees("not here")
	p.leaves(1)
	if _, err := os.Stat(w.dir + "/made"); err == nil {
		t.Error("the refused command ran")
	}
	d.stops()
}
