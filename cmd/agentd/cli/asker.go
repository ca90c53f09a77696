package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/plugins/toolpolicy"
)

// lineReader reads one line from a person. It fails when ctx ends.
type lineReader interface {
	readLine(ctx context.Context, prompt string) (string, error)
}

// terminalAsker puts questions to the person at this process's terminal, one
// at a time.
type terminalAsker struct {
	lines lineReader
	out   io.Writer
	style style

	mu sync.Mutex // held while a question is on the screen
}

// Name says through what an answer came.
func (a *terminalAsker) Name() string { return "terminal" }

// Takes any session: all of them were begun at this terminal.
func (a *terminalAsker) Takes(string) bool { return true }

// Ask shows a call and reads the answer. An empty line is no answer: nothing
// is allowed by accident.
func (a *terminalAsker) Ask(ctx context.Context, q core.Approval) (core.Answer, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if ctx.Err() != nil {
		return core.Answer{}, context.Cause(ctx)
	}
	fmt.Fprint(a.out, a.style.yellow("? ")+a.style.bold("May this run?")+"\n"+toolpolicy.ShowApproval(q, false))
	fmt.Fprintln(a.out, a.style.dim(toolpolicy.AnswerPrompt(q)))
	for {
		line, err := a.lines.readLine(ctx, "answer> ")
		if err != nil {
			return a.gone(ctx, err)
		}
		if strings.TrimSpace(line) == "e" {
			fmt.Fprint(a.out, toolpolicy.ShowApproval(q, true))
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

// Question puts a free question, with numbered choices if it has some.
func (a *terminalAsker) Question(ctx context.Context, q core.Question) (core.Reply, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if ctx.Err() != nil {
		return core.Reply{}, context.Cause(ctx)
	}
	fmt.Fprintln(a.out, a.style.yellow("? ")+a.style.bold(toolpolicy.VisibleLine(q.From)+" asks: ")+toolpolicy.Visible(q.Text))
	for i, choice := range q.Choices {
		fmt.Fprintf(a.out, "  %d %s\n", i+1, toolpolicy.VisibleLine(choice))
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

// plainLines reads answers from a terminal in its ordinary mode, for a single
// turn.
type plainLines struct {
	in  *os.File
	out io.Writer

	once  sync.Once
	lines chan string // closed at the end of input
}

func (p *plainLines) readLine(ctx context.Context, prompt string) (string, error) {
	p.once.Do(func() {
		p.lines = make(chan string)
		go p.pump()
	})
	fmt.Fprint(p.out, prompt)
	select {
	case line, ok := <-p.lines:
		if !ok {
			return "", io.EOF
		}
		return line, nil
	case <-ctx.Done():
		fmt.Fprintln(p.out)
		return "", errLineEnded
	}
}

// pump lives as long as the process: a blocked read of a terminal cannot be
// taken back.
func (p *plainLines) pump() {
	defer close(p.lines)
	scanner := bufio.NewScanner(p.in)
	for scanner.Scan() {
		p.lines <- scanner.Text()
	}
}

var _ core.Questioner = (*terminalAsker)(nil)
