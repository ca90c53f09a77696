package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"

	"golang.org/x/term"
)

// terminal is a line editor on the process's terminal. Output written to it
// while a line is being edited leaves that line intact. While nobody reads a
// line, what is typed waits, but Ctrl-C is heard at once.
//
// Write may be called from any goroutine; readLine from one at a time.
type terminal struct {
	*term.Terminal
	keys    *keyboard
	restore func() error
	reading sync.Mutex // held by whoever reads a line
}

// errInterrupted is what readLine returns after Ctrl-C on an empty line, and
// errLineEnded after its context ended.
var (
	errInterrupted = errors.New("interrupted")
	errLineEnded   = errors.New("no longer asked")
)

// isTerminal tells whether f is one.
func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// openTerminal puts in into raw mode and edits lines on it; interrupt is
// called for each Ctrl-C. Close gives the terminal back.
func openTerminal(in, out *os.File, interrupt func()) (*terminal, error) {
	state, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return nil, err
	}
	keys := newKeyboard(in, interrupt)
	t := &terminal{
		Terminal: term.NewTerminal(struct {
			io.Reader
			io.Writer
		}{keys, out}, ""),
		keys:    keys,
		restore: func() error { return term.Restore(int(in.Fd()), state) },
	}
	t.resize(out)
	return t, nil
}

// resize tells the editor how wide the window is.
func (t *terminal) resize(out *os.File) {
	if w, h, err := term.GetSize(int(out.Fd())); err == nil && w > 0 {
		_ = t.SetSize(w, h)
	}
}

// readLine shows the prompt and reads one line. It ends with errLineEnded
// when ctx does, and with io.EOF at Ctrl-D.
func (t *terminal) readLine(ctx context.Context, prompt string) (string, error) {
	t.reading.Lock()
	defer t.reading.Unlock()
	t.keys.listen(ctx)
	defer t.keys.listen(nil)
	t.SetPrompt(prompt)
	defer t.SetPrompt("")
	line, err := t.ReadLine()
	if errors.Is(err, term.ErrPasteIndicator) {
		err = nil
	}
	return line, err
}

// Close gives the terminal back as it was.
func (t *terminal) Close() error { return t.restore() }

const (
	ctrlC = 3
	ctrlU = 21
)

// keyboard reads keys all the time and hands them on only while somebody
// listens.
type keyboard struct {
	chunks    chan []byte // closed at the end of input
	interrupt func()

	mu   sync.Mutex
	ctx  context.Context // of the present listener; nil = nobody
	rest []byte
}

func newKeyboard(in io.Reader, interrupt func()) *keyboard {
	k := &keyboard{chunks: make(chan []byte, 64), interrupt: interrupt}
	go k.pump(in)
	return k
}

// pump lives as long as the process: a blocked read of a terminal cannot be
// taken back.
func (k *keyboard) pump(in io.Reader) {
	defer close(k.chunks)
	for {
		buf := make([]byte, 256)
		n, err := in.Read(buf)
		if n > 0 {
			k.chunks <- k.filter(buf[:n])
		}
		if err != nil {
			return
		}
	}
}

// filter takes Ctrl-C out: it empties the line that is being edited.
func (k *keyboard) filter(b []byte) []byte {
	for i := range b {
		if b[i] == ctrlC {
			k.interrupt()
			b[i] = ctrlU
		}
	}
	return b
}

func (k *keyboard) listen(ctx context.Context) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ctx = ctx
}

// Read is called by the line editor, in readLine only.
func (k *keyboard) Read(p []byte) (int, error) {
	k.mu.Lock()
	ctx := k.ctx
	k.mu.Unlock()
	if len(k.rest) == 0 {
		select {
		case b, ok := <-k.chunks:
			if !ok {
				return 0, io.EOF
			}
			k.rest = b
		case <-ctx.Done():
			return 0, errLineEnded
		}
	}
	n := copy(p, k.rest)
	k.rest = k.rest[n:]
	return n, nil
}
