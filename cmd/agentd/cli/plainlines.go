package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"sync"
)

// plainLines reads answers from a terminal in its ordinary mode, for a single
// turn or a single question.
type plainLines struct {
	in  *os.File
	out io.Writer

	floor sync.Mutex // held by whoever asks
	once  sync.Once
	lines chan string // closed at the end of input
}

// hold drops what was typed before there was a question: nothing is allowed
// by accident.
func (p *plainLines) hold() (release func()) {
	p.floor.Lock()
	dropTyped(p.in)
	for p.lines != nil {
		select {
		case _, ok := <-p.lines:
			if ok {
				continue
			}
		default:
		}
		break
	}
	return p.floor.Unlock
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

func (p *plainLines) width() int { return windowWidth(p.out) }

// pump lives as long as the process: a blocked read of a terminal cannot be
// taken back.
func (p *plainLines) pump() {
	defer close(p.lines)
	scanner := bufio.NewScanner(p.in)
	for scanner.Scan() {
		p.lines <- scanner.Text()
	}
}

var _ lineReader = (*plainLines)(nil)
