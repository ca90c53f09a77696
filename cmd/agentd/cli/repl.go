package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// screen is a conversation at a terminal: one line editor that both the
// messages and the answers to questions go through.
type screen struct {
	*terminal
	style   style
	history *history
	leave   context.CancelFunc
	floor   sync.Mutex // held by whoever reads a line

	mu        sync.Mutex         // guards the fields below
	cancel    context.CancelFunc // of the running turn; nil between turns
	cancelled bool               // the running turn was
	pressed   time.Time          // the last Ctrl-C since the turn began
	questions int                // that want the floor
	quiet     chan struct{}      // closed when there are none
	yield     context.CancelFunc // ends the reading of a message
}

// openScreen takes over the terminal. Whatever ends ctx gives it back, so
// that a turn that does not end can still be interrupted.
func openScreen(ctx context.Context, h *history, leave context.CancelFunc) (*screen, error) {
	s := &screen{style: styleOf(os.Stdout), history: h, leave: leave, yield: func() {}}
	t, err := openTerminal(os.Stdin, os.Stdout, h, s.interrupt)
	if err != nil {
		return nil, err
	}
	s.terminal = t
	context.AfterFunc(ctx, func() { s.Close() }) //nolint:errcheck // Close says it again
	return s, nil
}

// leaveWithin is how soon a second Ctrl-C must follow the first to leave.
const leaveWithin = 2 * time.Second

// interrupt is called for each Ctrl-C: it cancels the turn; the second
// leaves.
func (s *screen) interrupt() {
	if hint := s.interrupted(time.Now()); hint != "" {
		fmt.Fprintln(s, s.style.dim(hint))
	}
}

func (s *screen) interrupted(now time.Time) (hint string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.cancel != nil && !s.cancelled:
		s.cancelled, s.pressed = true, now
		s.cancel()
		return ""
	case s.cancel != nil || now.Sub(s.pressed) < leaveWithin:
		s.leave()
		return ""
	}
	s.pressed = now
	return "Ctrl-C again leaves"
}

// during makes Ctrl-C cancel the context that work gets.
func (s *screen) during(ctx context.Context, work func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.mu.Lock()
	s.cancel, s.cancelled, s.pressed = cancel, false, time.Time{}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.cancel = nil
	}()
	return work(ctx)
}

// hold gives the floor to a question. A message that is being typed, and what
// was typed ahead, waits until the question is settled: it answers nothing.
func (s *screen) hold() (release func()) {
	s.mu.Lock()
	if s.questions++; s.questions == 1 {
		s.quiet = make(chan struct{})
	}
	s.yield()
	s.mu.Unlock()
	s.floor.Lock()
	s.history.pause()
	aside := s.keys.setAside()
	s.fresh()
	return func() {
		s.keys.putBack(aside)
		s.history.resume()
		s.floor.Unlock()
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.questions--; s.questions == 0 {
			close(s.quiet)
		}
	}
}

// readMessage reads a message. Questions come first.
func (s *screen) readMessage(ctx context.Context, prompt string) (string, error) {
	for {
		reading, quiet := s.mayRead(ctx)
		if quiet == nil {
			line, err := s.readUntilYield(reading, prompt)
			if !errors.Is(err, errLineEnded) || ctx.Err() != nil {
				return line, err
			}
			continue
		}
		select {
		case <-quiet:
		case <-ctx.Done():
			return "", errLineEnded
		}
	}
}

// mayRead gives the context to read a message in, or what to wait for.
func (s *screen) mayRead(ctx context.Context) (context.Context, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.questions > 0 {
		return nil, s.quiet
	}
	ctx, s.yield = context.WithCancel(ctx)
	return ctx, nil
}

// readUntilYield reads a line, and puts one that had to yield back in front
// of the keys that follow.
func (s *screen) readUntilYield(ctx context.Context, prompt string) (string, error) {
	s.floor.Lock()
	defer s.floor.Unlock()
	line, err := s.readLine(ctx, prompt)
	if errors.Is(err, errLineEnded) {
		s.keys.putBack([]byte(s.unfinished))
	}
	return line, err
}

func (s *screen) width() int { return windowWidth(os.Stdout) }

// repl reads messages at a terminal until the person leaves.
func repl(ctx context.Context, t *conversation) error {
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	s, err := openScreen(ctx, openHistory(filepath.Join(t.h.env.State, "history")), leave)
	if err != nil {
		return err
	}
	defer s.Close()
	defer t.h.settings.console.use(s)()
	p := &printer{out: s, notes: s, style: s.style, width: s.width}
	t.watch = p.show
	stop, err := t.h.addAsker(&terminalAsker{lines: s, out: s, style: s.style})
	if err != nil {
		return err
	}
	defer stop()
	fmt.Fprintln(s, s.style.dim("agentd: /help lists commands, Ctrl-C cancels a turn, Ctrl-D leaves"))
	for {
		line, err := s.readMessage(ctx, "> ")
		if errors.Is(err, io.EOF) || ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		err = t.line(ctx, s, strings.TrimSpace(line))
		if errors.Is(err, errLeave) || ctx.Err() != nil {
			return nil
		}
		if err != nil && !errors.Is(err, context.Canceled) {
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

var (
	_ io.Writer  = (*screen)(nil)
	_ lineReader = (*screen)(nil)
)
