package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/plugins/toolpolicy"
)

// lineReader reads lines from a person.
type lineReader interface {
	// hold makes the caller the only one who reads, and takes care that only
	// what is typed from now on answers it, until release is called.
	hold() (release func())
	// readLine reads one line. It fails when ctx ends.
	readLine(ctx context.Context, prompt string) (string, error)
	// width is that of the window in columns; 0 = not known.
	width() int
}

// terminalAsker puts questions to the person at this process's terminal, one
// at a time.
type terminalAsker struct {
	lines lineReader
	out   io.Writer
	style style
}

// Name says through what an answer came.
func (a *terminalAsker) Name() string { return "terminal" }

// Takes any session: all of them were begun at this terminal.
func (a *terminalAsker) Takes(string) bool { return true }

// Ask shows a call and reads the answer. An empty line is no answer: nothing
// is allowed by accident.
func (a *terminalAsker) Ask(ctx context.Context, q core.Approval) (core.Answer, error) {
	defer a.lines.hold()()
	if ctx.Err() != nil {
		return core.Answer{}, context.Cause(ctx)
	}
	fmt.Fprint(a.out, a.style.yellow("? ")+a.style.bold("May this run?")+"\n"+
		a.approval(q, "e shows everything")+a.style.dim(wrap(toolpolicy.AnswerPrompt(q), a.lines.width()))+"\n")
	for {
		line, err := a.lines.readLine(ctx, "answer> ")
		if err != nil {
			return a.gone(ctx, err)
		}
		if strings.TrimSpace(line) == "e" {
			fmt.Fprint(a.out, a.approval(q, ""))
			continue
		}
		answer, err := toolpolicy.ParseAnswer(line, q)
		if err == nil {
			answer.By = userName() + " at the terminal"
			return answer, nil
		}
		fmt.Fprintln(a.out, a.style.dim(err.Error()))
	}
}

// approval is the question as text that fits the window.
func (a *terminalAsker) approval(q core.Approval, more string) string {
	return wrap(toolpolicy.ShowApproval(q, more), a.lines.width())
}

// gone tells a question that was settled elsewhere from a person who left.
func (a *terminalAsker) gone(ctx context.Context, err error) (core.Answer, error) {
	if ctx.Err() != nil {
		fmt.Fprintln(a.out, a.style.dim("(no longer asked)"))
		return core.Answer{}, context.Cause(ctx)
	}
	if errors.Is(err, io.EOF) {
		return core.Answer{Kind: core.AnswerReject, Text: "nobody answered", By: "terminal"}, nil
	}
	return core.Answer{}, err
}

// Question puts a free question: with numbered choices if it has some, or as
// a form.
func (a *terminalAsker) Question(ctx context.Context, q core.Question) (core.Reply, error) {
	defer a.lines.hold()()
	if ctx.Err() != nil {
		return core.Reply{}, context.Cause(ctx)
	}
	fmt.Fprint(a.out, a.style.yellow("? ")+a.style.bold(toolpolicy.VisibleLine(q.From)+" asks:")+"\n"+
		wrap(questionText(q), a.lines.width()))
	if len(q.Schema) > 0 {
		return a.form(ctx, q)
	}
	line, err := a.lines.readLine(ctx, "answer> ")
	if ctx.Err() != nil {
		return core.Reply{}, context.Cause(ctx)
	}
	line = strings.TrimSpace(line)
	if err != nil || line == "" {
		return core.Reply{Declined: true}, nil
	}
	if n, err := strconv.Atoi(line); err == nil && n >= 1 && n <= len(q.Choices) {
		line = q.Choices[n-1]
	}
	return core.Reply{Text: line}, nil
}

// questionText is a free question behind a gutter, with its choices numbered.
func questionText(q core.Question) string {
	var b strings.Builder
	for line := range strings.SplitSeq(toolpolicy.Visible(q.Text), "\n") {
		fmt.Fprintf(&b, "  %s %s\n", gutter, line)
	}
	for i, choice := range q.Choices {
		fmt.Fprintf(&b, "  %d %s %s\n", i+1, gutter, toolpolicy.VisibleLine(choice))
	}
	return b.String()
}

var _ core.Questioner = (*terminalAsker)(nil)
