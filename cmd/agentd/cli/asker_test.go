package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentd-host/agentd/core"
)

// scriptLines answers with given lines, then with an error.
type scriptLines struct {
	lines []string
	end   error
	cols  int
	held  int
}

func (s *scriptLines) hold() func() {
	s.held++
	return func() { s.held-- }
}

func (s *scriptLines) readLine(ctx context.Context, _ string) (string, error) {
	switch {
	case s.held != 1:
		return "", errors.New("read without holding the floor")
	case ctx.Err() != nil:
		return "", errLineEnded
	case len(s.lines) == 0:
		return "", s.end
	}
	line := s.lines[0]
	s.lines = s.lines[1:]
	return line, nil
}

func (s *scriptLines) width() int { return s.cols }

var allAnswers = []core.AnswerKind{
	core.AnswerOnce, core.AnswerTurn, core.AnswerSession, core.AnswerAlways,
	core.AnswerReject, core.AnswerNever, core.AnswerStop,
}

func question(command string, answers ...core.AnswerKind) core.Approval {
	args, _ := json.Marshal(map[string]string{"command": command})
	return core.Approval{ID: "q", Tool: "run_command", Effect: core.Exec, Args: args, Answers: answers, Saved: "/state/grants.json"}
}

func TestAsker_Answers(t *testing.T) {
	for _, tc := range []struct {
		lines []string
		want  core.Answer
	}{
		{[]string{"y"}, core.Answer{Kind: core.AnswerOnce}},
		{[]string{"t"}, core.Answer{Kind: core.AnswerTurn}},
		{[]string{"s"}, core.Answer{Kind: core.AnswerSession}},
		{[]string{"a"}, core.Answer{Kind: core.AnswerAlways}},
		{[]string{"n use the other folder"}, core.Answer{Kind: core.AnswerReject, Text: "use the other folder"}},
		{[]string{"N"}, core.Answer{Kind: core.AnswerNever}},
		{[]string{"x"}, core.Answer{Kind: core.AnswerStop}},
		{[]string{"", "  ", "what?", "e", "y"}, core.Answer{Kind: core.AnswerOnce}},
	} {
		t.Run(strings.Join(tc.lines, "_"), func(t *testing.T) {
			t.Setenv("USER", "ada")
			var out bytes.Buffer
			a := &terminalAsker{lines: &scriptLines{lines: tc.lines}, out: &out}
			got, err := a.Ask(t.Context(), question("make", allAnswers...))
			if err != nil {
				t.Fatal(err)
			}
			tc.want.By = "ada at the terminal"
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
			if !strings.Contains(out.String(), "command │ make") {
				t.Errorf("what was asked: %s", out.String())
			}
		})
	}
}

func TestAsker_TakesOnlyWhatTheQuestionTakes(t *testing.T) {
	var out bytes.Buffer
	a := &terminalAsker{lines: &scriptLines{lines: []string{"a", "s", "n"}}, out: &out}
	got, err := a.Ask(t.Context(), question("make", core.AnswerOnce, core.AnswerReject))
	if err != nil || got.Kind != core.AnswerReject {
		t.Fatalf("%v, %v", got, err)
	}
	if n := strings.Count(out.String(), "want y (once)"); n != 2 {
		t.Errorf("said %d times what it takes, want 2:\n%s", n, out.String())
	}
}

func TestAsker_APersonWhoLeftRefuses(t *testing.T) {
	a := &terminalAsker{lines: &scriptLines{end: io.EOF}, out: io.Discard}
	got, err := a.Ask(t.Context(), question("make", allAnswers...))
	if err != nil || got.Kind != core.AnswerReject {
		t.Errorf("%v, %v", got, err)
	}
	a = &terminalAsker{lines: &scriptLines{end: errors.New("broken")}, out: io.Discard}
	if got, err := a.Ask(t.Context(), question("make", allAnswers...)); err == nil {
		t.Errorf("a broken terminal answered %v", got)
	}
}

func TestAsker_SettledElsewhereAnswersNothing(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	settled := errors.New("settled elsewhere")
	cancel(settled)
	lines := &scriptLines{lines: []string{"y"}}
	a := &terminalAsker{lines: lines, out: io.Discard}
	if got, err := a.Ask(ctx, question("make", allAnswers...)); !errors.Is(err, settled) {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := a.Question(ctx, core.Question{Text: "?"}); !errors.Is(err, settled) {
		t.Errorf("%v", err)
	}
	if lines.held != 0 {
		t.Error("the floor is still held")
	}
}

func TestAsker_FreeQuestions(t *testing.T) {
	q := core.Question{From: "ask_user", Text: "Which\none?", Choices: []string{"red", "blue"}}
	for _, tc := range []struct {
		line string
		end  error
		want core.Reply
	}{
		{"2", nil, core.Reply{Text: "blue"}},
		{"7", nil, core.Reply{Text: "7"}},
		{"green, please", nil, core.Reply{Text: "green, please"}},
		{"", nil, core.Reply{Declined: true}},
	} {
		var out bytes.Buffer
		a := &terminalAsker{lines: &scriptLines{lines: []string{tc.line}, end: tc.end}, out: &out}
		got, err := a.Question(t.Context(), q)
		if diff := cmp.Diff(tc.want, got); err != nil || diff != "" {
			t.Errorf("%q: %v %s", tc.line, err, diff)
		}
		if !strings.Contains(out.String(), "  │ Which\n  │ one?\n  1 │ red\n") {
			t.Errorf("asked:\n%s", out.String())
		}
	}
	a := &terminalAsker{lines: &scriptLines{end: io.EOF}, out: io.Discard}
	if got, err := a.Question(t.Context(), q); err != nil || !got.Declined {
		t.Errorf("%v, %v", got, err)
	}
}
