package cli

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/signal"
	"strings"
	"sync"

	"golang.org/x/term"
)

// terminal is a line editor on the process's terminal. Output written to it
// while a line is being edited goes above that line, whole lines at a time.
//
// Write may be called from any goroutine; readLine from one at a time.
type terminal struct {
	editor *term.Terminal
	keys   *keyboard
	// unfinished is the line that readLine left when its time was over. It
	// belongs to whoever reads lines.
	unfinished string

	writing sync.Mutex // guards the fields below
	editing bool
	midLine bool   // the last thing written did not end its line
	held    []byte // the begin of a line that waits for its end while editing

	closing sync.Once
	close   func() error
}

// errLineEnded is what readLine returns when its time was over.
var errLineEnded = errors.New("no longer asked")

// isTerminal tells whether f is one.
func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// openTerminal puts in into raw mode and edits lines on it; interrupt is
// called for each Ctrl-C, and history keeps the lines. Close gives the
// terminal back.
func openTerminal(in, out *os.File, history term.History, interrupt func()) (*terminal, error) {
	state, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return nil, err
	}
	t := &terminal{keys: newKeyboard(in, interrupt)}
	t.editor = term.NewTerminal(readWriter{t.keys, out}, "")
	t.editor.AutoCompleteCallback = t.key
	if history != nil {
		t.editor.History = history
	}
	t.resize(out)
	t.editor.SetBracketedPasteMode(true)
	stop := t.followSize(out)
	t.close = func() error {
		stop()
		t.editor.SetBracketedPasteMode(false)
		return term.Restore(int(in.Fd()), state)
	}
	return t, nil
}

// readWriter joins the two sides of a terminal.
type readWriter struct {
	*keyboard
	out *os.File
}

func (rw readWriter) Write(b []byte) (int, error) { return rw.out.Write(b) }

// resize tells the editor how wide the window is.
func (t *terminal) resize(out *os.File) {
	if w, h, err := term.GetSize(int(out.Fd())); err == nil && w > 0 {
		t.editor.SetSize(w, h) //nolint:errcheck // the terminal is gone; the next read says so
	}
}

// followSize resizes the editor with the window until stop is called.
func (t *terminal) followSize(out *os.File) (stop func()) {
	if len(resizeSignals) == 0 {
		return func() {}
	}
	resized, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(resized, resizeSignals...)
	go func() {
		for {
			select {
			case <-resized:
				t.resize(out)
			case <-done:
				return
			}
		}
	}()
	return func() {
		signal.Stop(resized)
		close(done)
	}
}

// key is asked by the editor about keys that mean nothing to it.
func (t *terminal) key(line string, _ int, key rune) (string, int, bool) {
	if key != sweep {
		return "", 0, false
	}
	t.unfinished = line
	return "", 0, true
}

// readLine shows the prompt and reads one line. It ends with errLineEnded
// when ctx does, and with io.EOF at Ctrl-D. Pasted lines are one line.
func (t *terminal) readLine(ctx context.Context, prompt string) (string, error) {
	t.unfinished = ""
	t.keys.listen(ctx)
	t.begin(prompt)
	defer t.end()
	var pasted strings.Builder
	for {
		line, err := t.editor.ReadLine()
		pasted.WriteString(line)
		if !errors.Is(err, term.ErrPasteIndicator) {
			return pasted.String(), err
		}
		pasted.WriteByte('\n')
		t.editor.SetPrompt("… ")
	}
}

// begin makes room for a line at the edge of the screen.
func (t *terminal) begin(prompt string) {
	t.writing.Lock()
	defer t.writing.Unlock()
	t.freshLine()
	t.editor.SetPrompt(prompt)
	t.editing = true
}

// end takes what is left of the prompt off the screen.
func (t *terminal) end() {
	t.writing.Lock()
	defer t.writing.Unlock()
	t.editor.SetPrompt("")
	t.editor.Write(nil) //nolint:errcheck // the terminal is gone; the next read says so
	t.editing = false
	t.put(t.held) //nolint:errcheck // as above
	t.held = nil
}

// Write prints text.
func (t *terminal) Write(b []byte) (int, error) {
	t.writing.Lock()
	defer t.writing.Unlock()
	if !t.editing {
		return len(b), t.put(b)
	}
	t.held = append(t.held, b...)
	whole := bytes.LastIndexByte(t.held, '\n') + 1
	err := t.put(t.held[:whole])
	t.held = t.held[whole:]
	return len(b), err
}

// put writes at once. writing is held.
func (t *terminal) put(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	t.midLine = b[len(b)-1] != '\n'
	_, err := t.editor.Write(b)
	return err
}

// fresh ends the line that the screen is in.
func (t *terminal) fresh() {
	t.writing.Lock()
	defer t.writing.Unlock()
	t.freshLine()
}

// freshLine ends the line that the screen is in. writing is held.
func (t *terminal) freshLine() {
	if t.midLine {
		t.put([]byte("\n")) //nolint:errcheck // the terminal is gone; the next read says so
	}
}

// Close gives the terminal back as it was. It is idempotent.
func (t *terminal) Close() (err error) {
	t.closing.Do(func() { err = t.close() })
	return err
}
