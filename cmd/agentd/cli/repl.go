package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

// screen is a conversation at a terminal: one line editor that both the
// messages and the answers to questions go through.
type screen struct {
	*terminal
	style style

	mu      sync.Mutex
	cancel  context.CancelFunc // of the running turn; nil between turns
	pressed time.Time          // the last Ctrl-C between turns
	leave   context.CancelFunc
}

// openScreen takes over the terminal.
func openScreen(leave context.CancelFunc) (*screen, error) {
	s := &screen{style: styleOf(os.Stdout), leave: leave}
	t, err := openTerminal(os.Stdin, os.Stdout, s.interrupt)
	if err != nil {
		return nil, err
	}
	s.terminal = t
	return s, nil
}

// leaveWithin is how soon a second Ctrl-C must follow the first to leave.
const leaveWithin = 2 * time.Second

// interrupt is called for each Ctrl-C: it cancels the turn; without one the
// second leaves.
func (s *screen) interrupt() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cancel != nil {
		s.cancel()
		s.cancel = nil
		return
	}
	if time.Since(s.pressed) < leaveWithin {
		s.leave()
		return
	}
	s.pressed = time.Now()
}

// during makes Ctrl-C cancel the context that work gets.
func (s *screen) during(ctx context.Context, work func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.setCancel(cancel)
	defer s.setCancel(nil)
	return work(ctx)
}

func (s *screen) setCancel(cancel context.CancelFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cancel, s.pressed = cancel, time.Time{}
}

// repl reads messages at a terminal until the person leaves.
func repl(ctx context.Context, t *conversation) error {
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	s, err := openScreen(leave)
	if err != nil {
		return err
	}
	defer s.Close()
	p := &printer{out: s, notes: s, style: s.style}
	t.watch = p.show
	stop, err := t.h.addAsker(&terminalAsker{lines: s, out: s, style: s.style})
	if err != nil {
		return err
	}
	defer stop()
	fmt.Fprintln(s, s.style.dim("agentd: /help lists commands, Ctrl-C cancels a turn, Ctrl-D leaves"))
	for {
		line, err := s.readLine(ctx, "> ")
		if errors.Is(err, io.EOF) || ctx.Err() != nil {
			fmt.Fprintln(s)
			return nil
		}
		if err != nil {
			return err
		}
		err = t.line(ctx, s, strings.TrimSpace(line))
		if errors.Is(err, errLeave) || ctx.Err() != nil {
			return nil
		}
		if err != nil {
			fmt.Fprintln(s, s.style.red("error: ")+visibleText(err.Error()))
		}
	}
}

// errLeave is what /quit answers.
var errLeave = errors.New("leave")

// line acts upon one line: a slash command or a message.
func (t *conversation) line(ctx context.Context, s *screen, line string) error {
	switch {
	case line == "":
		return nil
	case strings.HasPrefix(line, "/"):
		return s.during(ctx, func(ctx context.Context) error { return t.slash(ctx, s, line) })
	}
	return s.during(ctx, func(ctx context.Context) error {
		_, err := t.turn(ctx, line)
		return err
	})
}

var _ io.Writer = (*screen)(nil)
