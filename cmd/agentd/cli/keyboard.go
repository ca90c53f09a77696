package cli

import (
	"bytes"
	"context"
	"io"
	"sync"
)

// Keys that the keyboard gives a meaning.
const (
	ctrlC   = 3
	ctrlE   = 5  // the editor goes to the end of the line
	ctrlU   = 21 // the editor erases the line to the left
	sweep   = 31 // ours: take the unfinished line off the screen
	maxAway = 1 << 20
)

// keyboard reads keys all the time and hands them on only while somebody
// listens: what is typed in between waits, but Ctrl-C is heard at once.
type keyboard struct {
	interrupt func()

	mu    sync.Mutex // guards the fields below
	ctx   context.Context
	typed []byte        // not handed on yet; at most maxAway
	more  chan struct{} // closed and replaced when typed grows or input ends
	ended bool
	swept bool // the listener was told to sweep
}

// newKeyboard reads in until it ends, and calls interrupt for each Ctrl-C. A
// blocked read of a terminal cannot be taken back: its goroutine lives as
// long as the process.
func newKeyboard(in io.Reader, interrupt func()) *keyboard {
	k := &keyboard{interrupt: interrupt, more: make(chan struct{}), ctx: context.Background()}
	go k.pump(in)
	return k
}

func (k *keyboard) pump(in io.Reader) {
	buf := make([]byte, 4096)
	for {
		n, err := in.Read(buf)
		for range k.take(buf[:n], err != nil) {
			k.interrupt()
		}
		if err != nil {
			return
		}
	}
}

// take keeps what was typed and counts the Ctrl-C. Each empties the line that
// is being edited and drops what was typed ahead, as a terminal does by itself.
func (k *keyboard) take(b []byte, ended bool) (interrupts int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	interrupts = bytes.Count(b, []byte{ctrlC})
	if interrupts > 0 {
		k.typed = append(k.typed[:0], ctrlE, ctrlU)
		b = b[bytes.LastIndexByte(b, ctrlC)+1:]
	}
	k.typed = append(k.typed, b[:min(len(b), maxAway-len(k.typed))]...)
	k.ended = k.ended || ended
	close(k.more)
	k.more = make(chan struct{})
	return interrupts
}

// listen begins to hand keys to whoever calls Read, until ctx ends.
func (k *keyboard) listen(ctx context.Context) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ctx, k.swept = ctx, false
}

// setAside takes away what was typed so far; putBack gives it back, in front
// of what came later.
func (k *keyboard) setAside() []byte {
	k.mu.Lock()
	defer k.mu.Unlock()
	aside := k.typed
	k.typed = nil
	return aside
}

func (k *keyboard) putBack(b []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.typed = append(bytes.Clone(b), k.typed...)
}

// Read is called by the line editor. It gives at most one line, so that
// nothing of the next one is in the editor's hands when somebody else may be
// the one to read it. When the listener's time is over it gives the key sweep,
// then an error.
func (k *keyboard) Read(p []byte) (int, error) {
	for {
		n, wait, err := k.next(p)
		if n > 0 || err != nil {
			return n, err
		}
		select {
		case <-wait.more:
		case <-wait.ctx.Done():
		}
	}
}

// waiting is what a Read without keys waits for.
type waiting struct {
	ctx  context.Context
	more chan struct{}
}

func (k *keyboard) next(p []byte) (int, waiting, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	wait := waiting{k.ctx, k.more}
	switch {
	case k.ctx.Err() != nil && k.swept:
		return 0, wait, errLineEnded
	case k.ctx.Err() != nil:
		k.swept = true
		p[0] = sweep
		return 1, wait, nil
	case len(k.typed) > 0:
		n := copy(p, k.typed[:lineLength(k.typed)])
		k.typed = k.typed[n:]
		return n, wait, nil
	case k.ended:
		return 0, wait, io.EOF
	}
	return 0, wait, nil
}

// lineLength is how much of b belongs to its first line, with its end.
func lineLength(b []byte) int {
	if i := bytes.IndexAny(b, "\r\n"); i >= 0 {
		return i + 1
	}
	return len(b)
}
