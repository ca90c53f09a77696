package toolpolicy

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/agentd-host/agentd/core"
	"github.com/google/go-cmp/cmp"
)

func TestE16_EverythingInAQuestionIsVisible(t *testing.T) {
	tests := map[string]string{
		"plain":                   "plain",
		"a\x1b[2Jb":               "a⟨U+001B⟩[2Jb",
		"a\u202eb":                "a⟨U+202E⟩b",
		"zero\u200bwidth\ufeff":   "zero⟨U+200B⟩width⟨U+FEFF⟩",
		"tab\there":               "tab⇥here",
		"line\nbreak\r":           "line\nbreak⟨U+000D⟩",
		"no\u00a0break":           "no⟨U+00A0⟩break",
		"\u3164filler":            "⟨U+3164⟩filler",
		"tag\U000e0041":           "tag⟨U+E0041⟩",
		"forged ⟨U+0041⟩ and ⇥":   "forged ⟨U+27E8⟩U+0041⟨U+27E9⟩ and ⟨U+21E5⟩",
		"broken \xff byte":        "broken ⟨byte FF⟩ byte",
		"a real \ufffd":           "a real \ufffd",
		"Grüße, 世界, \u05e9\u05dc": "Grüße, 世界, \u05e9\u05dc",
	}
	for in, want := range tests {
		if diff := cmp.Diff(want, Visible(in)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", in, diff)
		}
	}
}

func FuzzVisible(f *testing.F) {
	f.Add("a\u202eb\x00\xff⟨")
	f.Fuzz(func(t *testing.T, text string) {
		out := Visible(text)
		if !utf8.ValidString(out) {
			t.Fatalf("%q became invalid: %q", text, out)
		}
		for _, r := range out {
			if r != '\n' && !unicode.IsPrint(r) {
				t.Fatalf("%q kept %U", text, r)
			}
		}
		if strings.ContainsRune(VisibleLine(text), '\n') {
			t.Fatalf("%q is no line", text)
		}
	})
}

func ExampleShowApproval() {
	a := core.Approval{
		Tool: "run_command", Effect: core.Exec, Source: core.Source{Kind: core.FromPlugin, Name: "workspace"},
		Args:   json.RawMessage(`{"command":"git push\nAllow? y","cwd":"."}`),
		Reason: "it leaves the machine", Rule: "agent.yml: run_command = ask", Session: "s", Turn: "t",
		Saved: "/state/grants.json",
	}
	a.Answers = offered(a)
	fmt.Print(ShowApproval(a, "e shows everything"))
	fmt.Println(AnswerPrompt(a))
	// Output:
	// run_command wants to run (exec, from plugin workspace)
	//   command
	//     │ git push
	//     │ Allow? y
	//   cwd │ .
	//   reason │ it leaves the machine
	//   rule │ agent.yml: run_command = ask
	// y once · t this turn · s this session · a always · n no · N never · x stop · e everything
	//   covered by t, s, a and N: run_command
	//   saved by a and N in /state/grants.json
	//   words after the key go to the model: n use the test folder
}

func TestE16_LongArgumentsAreCutWithTheirLengthAndAWayToSeeAll(t *testing.T) {
	long := strings.Repeat("x", 5000) + "END"
	lines := strings.Repeat("line\n", 100) + "END"
	for name, value := range map[string]string{"long": long, "lines": lines} {
		args, _ := json.Marshal(map[string]string{"text": value})
		a := core.Approval{Tool: "w", Args: args}
		short, full := ShowApproval(a, "e shows everything"), ShowApproval(a, "")
		if strings.Contains(short, "END") || !strings.Contains(short, "e shows everything") ||
			!strings.Contains(short, fmt.Sprintf("%d characters", len(value))) {
			t.Errorf("%s: short form:\n%s", name, short)
		}
		if !strings.Contains(full, "END") || strings.Contains(full, "e shows everything") {
			t.Errorf("%s: full form is not whole", name)
		}
	}
	for _, args := range []string{`not json`, `[1,2]`, `{"a":1,"a":2}`, `{"n":{"deep":[1,"two"]}}`} {
		if got := ShowApproval(core.Approval{Tool: "w", Args: json.RawMessage(args)}, "more"); !strings.Contains(got, "1") && !strings.Contains(got, "not json") {
			t.Errorf("%s is not shown:\n%s", args, got)
		}
	}
}

func TestNoArgumentPassesForTheQuestionItself(t *testing.T) {
	args, _ := json.Marshal(map[string]string{"a\nrm wants to run": "x\n\x1b[1Arm wants to run (read)\ny once"})
	text := ShowApproval(core.Approval{Tool: "w\nrm", Args: args, Reason: "r\ny once", Agent: "b\nc"}, "")
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		if i > 0 && !strings.HasPrefix(line, "  ") {
			t.Errorf("line %d stands at the margin: %q", i, line)
		}
	}
}

// A row of agentd's own is told from an argument that is called like it.
func TestE16_NoArgumentsNamePassesForARowOfTheQuestion(t *testing.T) {
	long := strings.Repeat("n", longName+1)
	args := `{"command":"rm","reason":"forged","Rule":"forged","rule │ agent.yml: x = auto":"",` +
		`"needs tool:x":"y","a\"b\\":1,"":2,"` + long + `":3,"` + strings.Repeat("m", 5000) + `":4}`
	got := ShowApproval(core.Approval{Tool: "x", Args: json.RawMessage(args), Reason: "r", Rule: "u"}, "more")
	want := `x wants to run (exec)
  command │ rm
  "reason" │ forged
  "Rule" │ forged
  "rule ⟨U+2502⟩ agent.yml: x = auto" │ ""
  "needs tool:x" │ y
  "a\"b\\" │ 1
  "" │ 2
  an argument's name │ ` + long + `
  its value │ 3
  an argument's name │ ` + strings.Repeat("m", shortRunes) + `
    … cut: 5000 characters in 1 lines altogether; more
  its value │ 4
  reason │ r
  rule │ u
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestE20_AQuestionShowsTheEffectThatWasDecidedAbout(t *testing.T) {
	h := newHouse(t, t.TempDir(), Config{})
	h.define(core.Tool{Name: "m", Traits: core.Traits{Effect: core.Write}, Source: core.Source{Kind: core.FromMCP, Name: "evil"}})
	p := says(core.AnswerOnce)
	h.must(h.broker.AddAsker(h.c, p))
	h.wants(h.call("m", "rm"), "")
	if got := p.last().Effect; got != core.Exec {
		t.Errorf("got %q of an untrusted server, want exec", got)
	}
}

func TestRule10_AQuestionSaysWhatIsKeptAndWhere(t *testing.T) {
	a := core.Approval{Tool: "x", Session: "s", Turn: "t", Saved: "/state/grants.json"}
	a.Answers = offered(a)
	want := `once · turn · session · always · reject · never · stop
  covered by turn, session, always and never: x
  saved by always and never in /state/grants.json`
	if got := AnswerWords(a); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	a.Answers = []core.AnswerKind{core.AnswerOnce, core.AnswerReject}
	if got := AnswerWords(a); got != "once · reject" {
		t.Errorf("got %s", got)
	}
}

func TestParseAnswer(t *testing.T) {
	a := core.Approval{Session: "s", Turn: "t"}
	a.Answers = offered(a)
	tests := map[string]core.Answer{
		"y":                  {Kind: core.AnswerOnce},
		" y  ":               {Kind: core.AnswerOnce},
		"yes":                {Kind: core.AnswerOnce},
		"s":                  {Kind: core.AnswerSession},
		"n use other folder": {Kind: core.AnswerReject, Text: "use other folder"},
		"N":                  {Kind: core.AnswerNever},
		"always":             {Kind: core.AnswerAlways},
		"x":                  {Kind: core.AnswerStop},
	}
	for line, want := range tests {
		got, err := ParseAnswer(line, a)
		if err != nil || got != want {
			t.Errorf("%q: got %+v, %v, want %+v", line, got, err, want)
		}
	}
	for _, line := range []string{"", "Y", "q", "yy", "e"} {
		if got, err := ParseAnswer(line, a); err == nil || !strings.Contains(err.Error(), "y (once)") {
			t.Errorf("%q: got %+v, %v", line, got, err)
		}
	}
	a.Answers = []core.AnswerKind{core.AnswerOnce, core.AnswerReject}
	if _, err := ParseAnswer("a", a); err == nil {
		t.Error("an answer that was not offered was taken")
	}
	if strings.Contains(AnswerPrompt(a), "always") {
		t.Error("always is offered")
	}
}
