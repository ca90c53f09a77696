//go:build unix

package cli_test

import (
	"os"
	"strings"
	"testing"
)

const plainConfig = `plugins:
  offline: {}
  agent: {}
  toolpolicy: {}
  toolsearch: {}
  workspace: {}
`

func TestREPL_AnswersAndLeavesAtCtrlD(t *testing.T) {
	w := newWorkplace(t, "agent.yml", plainConfig, "a.txt", "hello from a file\n")
	p := w.shell(t, 80, "agentd chat -c agent.yml")
	p.sees("> ")
	p.says("read_file path=a.txt")
	p.sees("✓ read_file", "hello from a file", "> ")
	p.types("\x04")
	p.sees("code=0", "icanon", "over")
	p.lacks("-icanon")
	if v := screenOf(p.raw(), 80); len(v.unknown) > 0 {
		t.Errorf("sequences that no terminal of ours knows: %q", v.unknown)
	}
}

func TestREPL_CtrlCCancelsTheTurnAndTwiceLeaves(t *testing.T) {
	w := newWorkplace(t, "agent.yml", playing(`marks: ran, replies: [{calls: [{name: block}]}, {text: "after that"}]`))
	p := w.shell(t, 80, "agentd-scripted chat -c agent.yml")
	p.sees("> ")
	p.says("go")
	waitForFile(t, w, "ran", "block")
	p.types("\x03")
	p.sees("cancelled", "> ")
	p.says("again")
	p.sees("after that", "> ")
	p.types("\x03")
	p.sees("Ctrl-C again leaves")
	p.types("\x03")
	p.sees("code=0", "icanon", "over")
	p.lacks("-icanon")
}

func TestREPL_CtrlCTwiceInATurnLeaves(t *testing.T) {
	w := newWorkplace(t, "agent.yml", playing(`marks: ran, replies: [{calls: [{name: block}]}]`))
	p := w.shell(t, 80, "agentd-scripted chat -c agent.yml")
	p.sees("> ")
	p.says("go")
	waitForFile(t, w, "ran", "block")
	p.types("\x03\x03")
	p.sees("over")
	p.lacks("-icanon")
}

func TestREPL_QuestionTakesEachAnswer(t *testing.T) {
	for _, tc := range []struct {
		name, answer, sees string
		ran                bool
	}{
		{"y runs it", "y", "exit code 0", true},
		{"t runs it", "t", "exit code 0", true},
		{"s runs it", "s", "exit code 0", true},
		{"a runs it", "a", "exit code 0", true},
		{"n refuses it", "n", "✗ run_command", false},
		{"n with a reason tells the model", "n not in this folder", "not in this folder", false},
		{"N refuses it", "N", "✗ run_command", false},
		{"x stops the turn", "x", "✗ run_command", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newWorkplace(t, "agent.yml", plainConfig)
			p := w.sit(t, 80, "agentd", "chat", "-c", "agent.yml")
			p.sees("> ")
			p.says(`run_command {"command":"touch made"}`)
			p.sees(`May this run\?`, "touch made", "answer> ")
			p.says(tc.answer)
			p.sees(tc.sees, "> ")
			p.types("\x04")
			p.leaves(0)
			if _, err := os.Stat(w.dir + "/made"); (err == nil) != tc.ran {
				t.Errorf("the command ran: %v, want %v", err == nil, tc.ran)
			}
		})
	}
}

func TestREPL_QuestionShowsEverythingAndTakesNothingElse(t *testing.T) {
	w := newWorkplace(t, "agent.yml", plainConfig)
	p := w.sit(t, 80, "agentd", "chat", "-c", "agent.yml")
	p.sees("> ")
	p.says(`run_command {"command":"echo ` + strings.Repeat("long ", 120) + `the-end"}`)
	p.sees("cut: ", "answer> ")
	p.says("maybe")
	p.sees(`want y \(once\)`, "answer> ")
	p.says("")
	p.sees("answer> ")
	p.says("e")
	p.sees("the-end", "answer> ")
	p.types("\x04") // leaves the question unanswered: refused
	p.sees("✗ run_command", "> ")
	p.types("\x04")
	p.leaves(0)
}

// What was typed before a question stood there answers nothing: it is the
// next message.
func TestREPL_TypeAheadIsKeptAndAnswersNoQuestion(t *testing.T) {
	w := newWorkplace(t, "a.txt", "hello from a file\n", "agent.yml", playing(`marks: ran, replies: [{calls: [{name: look}, {name: change}]}, {text: "first done"}, {text: "second done"}]`))
	p := w.sit(t, 80, "agentd-scripted", "chat", "-c", "agent.yml")
	p.sees("> ")
	p.types("go\ry\r")
	p.sees(`May this run\?`, "answer> ")
	if ran := w.read(t, "ran"); strings.Contains(ran, "change") {
		t.Fatalf("what was typed ahead answered the question: %q ran", ran)
	}
	p.says("n")
	p.sees("first done", "second done", "> ")
	if ran := w.read(t, "ran"); strings.Contains(ran, "change") {
		t.Fatalf("%q ran", ran)
	}
	p.types("\x04")
	p.leaves(0)
}

func TestREPL_CtrlCWithdrawsTheQuestion(t *testing.T) {
	w := newWorkplace(t, "agent.yml", plainConfig)
	p := w.sit(t, 80, "agentd", "chat", "-c", "agent.yml")
	p.sees("> ")
	p.says(`run_command {"command":"touch made"}`)
	p.sees("answer> ")
	p.types("y but\x03")
	p.sees("cancelled", "> ")
	p.says("/cost")
	p.sees("1 turns", "> ")
	p.types("\x04")
	p.leaves(0)
	if _, err := os.Stat(w.dir + "/made"); err == nil {
		t.Error("the command ran")
	}
}

func TestREPL_SlashCommands(t *testing.T) {
	w := newWorkplace(t, "agent.yml", plainConfig, "a.txt", "hello from a file\n")
	p := w.sit(t, 120, "agentd", "chat", "-c", "agent.yml")
	p.sees("> ")
	for _, step := range []struct{ line, sees string }{
		{"/help", `/quit +leave`},
		{"/tools", "read_file +read +auto"},
		{"/search", "what for"},
		{"/search find text in files", "search_files"},
		{"/call", "which tool"},
		{"/call read_file nonsense", "no JSON"},
		{`/call read_file {"path":"a.txt"}`, "hello from a file"},
		{`/call no_such_tool`, "error: .*no_such_tool"},
		{"/policy read_file", "usage: /policy TOOL"},
		{"/policy read_file sometimes", "want auto, ask"},
		{"/policy read_file off", "read_file is off"},
		{`/call read_file {"path":"a.txt"}`, "error: .*read_file"},
		{"/policy read_file auto", "read_file is auto"},
		{"/cost", "0 turns, 0 tokens in"},
		{"read_file path=a.txt", "hello from a file"},
		{"/cost", "1 turns"},
		{"/clear", "forgotten"},
		{"/nonsense", "unknown command /nonsense; /help lists them"},
	} {
		p.says(step.line)
		p.sees(step.sees, "> ")
	}
	p.says("/quit")
	p.leaves(0)
}

// In a narrow window nothing that a call brings stands at the left edge,
// where it could pass for a line of the question.
func TestE16_NarrowWindowKeepsTheGutter(t *testing.T) {
	w := newWorkplace(t, "agent.yml", plainConfig)
	p := w.sit(t, 40, "agentd", "chat", "-c", "agent.yml")
	p.sees("> ")
	p.says(`run_command {"command":"echo ` + strings.Repeat("word ", 20) + `answer> y"}`)
	p.sees(`May this run\?`, "answer> ")
	before := p.screen()
	p.says("n")
	p.sees("✗", "> ")
	_, question, _ := strings.Cut(before, "May this run?")
	for line := range strings.Lines(question) {
		if strings.Contains(line, "word") && !strings.HasPrefix(strings.TrimLeft(line, " "), "│") &&
			!strings.Contains(line, " │ ") && !strings.HasPrefix(line, "  ") {
			t.Errorf("an argument at the left edge: %q in\n%s", line, before)
		}
	}
}

func TestREPL_EditsInANarrowWindowAndAfterAResize(t *testing.T) {
	w := newWorkplace(t, "agent.yml", plainConfig, "a.txt", "hello from a file\n")
	p := w.sit(t, 40, "agentd", "chat", "-c", "agent.yml")
	p.sees("> ")
	p.types("read_file path=a.txt " + strings.Repeat("x", 60))
	p.sees("xxxxx")
	p.resizes(100)
	p.types(strings.Repeat("\x7f", 61) + "\r")
	p.sees("hello from a file", "> ")
	p.types("\x04")
	p.leaves(0)
}

func TestREPL_NoColour(t *testing.T) {
	w := newWorkplace(t, "agent.yml", plainConfig, "a.txt", "hello from a file\n")
	cmd := w.command(t, "agentd", "chat", "-c", "agent.yml")
	cmd.Env = append(cmd.Env, "NO_COLOR=1")
	p := sit(t, cmd, 80)
	p.sees("> ")
	p.says("read_file path=a.txt")
	p.sees("hello from a file", "> ")
	p.types("\x04")
	p.leaves(0)
	if found := colours.FindString(p.raw()); found != "" {
		t.Errorf("a colour: %q", found)
	}
}

func TestREPL_HistoryOutlivesTheConversation(t *testing.T) {
	w := newWorkplace(t, "agent.yml", plainConfig, "a.txt", "hello from a file\n")
	p := w.sit(t, 80, "agentd", "chat", "-c", "agent.yml")
	p.sees("> ")
	p.says("read_file path=a.txt")
	p.sees("hello from a file", "> ")
	p.says(`run_command {"command":"true"}`)
	p.sees("answer> ")
	p.says("y")
	p.sees("exit code 0", "> ")
	p.types("\x04")
	p.leaves(0)

	info, err := os.Stat(w.state("history"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("history: %v, %v", info, err)
	}
	p = w.sit(t, 80, "agentd", "chat", "-c", "agent.yml")
	p.sees("> ")
	p.types("\x1b[A\x1b[A") // the answer is not in it
	p.sees("read_file path=a.txt")
	p.types("\r")
	p.sees("hello from a file", "> ")
	p.types("\x04")
	p.leaves(0)
}

func TestREPL_PastedLinesAreOneMessage(t *testing.T) {
	w := newWorkplace(t, "agent.yml", playing(`replies: [{text: "got it"}]`))
	p := w.sit(t, 80, "agentd-scripted", "chat", "-c", "agent.yml")
	p.sees("> ")
	p.types("\x1b[200~one\rtwo\rthree\x1b[201~\r")
	p.sees("got it", "> ")
	p.says("/cost")
	p.sees("1 turns", "> ")
	p.types("\x04")
	p.leaves(0)
}

// A log line while a line is being typed stands above it, from the left edge.
func TestREPL_LogLinesLeaveTheLineIntact(t *testing.T) {
	w := newWorkplace(t, "agent.yml", plainConfig, "a.txt", "hello from a file\n")
	p := w.sit(t, 200, "agentd", "chat", "-c", "agent.yml")
	p.sees("> ")
	p.types("read_file pa")
	p.sees("read_file pa")
	w.write(t, "agent.yml", "plugins: [\n")
	p.sees("not taken", "> read_file pa")
	p.types("th=a.txt\r")
	p.sees("hello from a file", "> ")
	p.types("\x04")
	p.leaves(0)
	for line := range strings.Lines(p.screen()) {
		if strings.Contains(line, "not taken") && !strings.HasPrefix(line, "time=") {
			t.Errorf("a log line not at the left edge: %q", line)
		}
	}
}

func TestChat_OneMessageAsksAtTheTerminal(t *testing.T) {
	w := newWorkplace(t, "agent.yml", plainConfig)
	p := w.sit(t, 80, "agentd", "chat", "-c", "agent.yml", `run_command {"command":"touch made"}`)
	p.sees("touch made", "answer> ")
	p.says("y")
	p.leaves(0)
	if _, err := os.Stat(w.dir + "/made"); err != nil {
		t.Error("the command did not run")
	}
}

func TestChat_CtrlCEndsOneMessageWith130(t *testing.T) {
	w := newWorkplace(t, "agent.yml", playing(`marks: ran, replies: [{calls: [{name: block}]}]`))
	p := w.sit(t, 80, "agentd-scripted", "chat", "-c", "agent.yml", "go")
	waitForFile(t, w, "ran", "block")
	p.types("\x03")
	p.leaves(130)
}

// playing is an agent.yml with the scripted model of these options.
func playing(options string) string {
	return "plugins:\n  scripted: {" + options + "}\n  agent: {model: scripted}\n  toolpolicy: {}\n"
}

// waitForFile waits until a file of the workplace holds text.
func waitForFile(t *testing.T, w workplace, name, text string) {
	t.Helper()
	eventually(t, name+" holds "+text, func() bool { return strings.Contains(w.read(t, name), text) })
}

func TestChat_CtrlCEndsTheReadingOfLinesAtATerminal(t *testing.T) {
	w := newWorkplace(t, "agent.yml", plainConfig)
	p := w.sit(t, 100, "agentd", "-v", "chat", "-c", "agent.yml", "--json")
	p.sees("msg=started")
	p.types("\x03")
	p.leaves(130)
}
