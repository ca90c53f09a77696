package stdio

import (
	"slices"
	"strings"
	"sync"
)

// A tail remembers the last bytes written to it.
type tail struct {
	mu  sync.Mutex // guards buf
	buf []byte
	max int
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(p)
	if len(p) > t.max {
		p = p[len(p)-t.max:]
	}
	if over := len(t.buf) + len(p) - t.max; over > 0 {
		t.buf = slices.Delete(t.buf, 0, over)
	}
	t.buf = append(t.buf, p...)
	return n, nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.ToValidUTF8(string(t.buf), "\uFFFD")
}

// noise counts the lines that were no messages and remembers the last few.
type noise struct {
	mu    sync.Mutex // guards the fields below
	count int
	last  []string
}

const (
	noiseKept  = 5
	noiseWidth = 200
)

func (n *noise) add(line []byte) {
	text := string(line[:min(len(line), noiseWidth)])
	n.mu.Lock()
	defer n.mu.Unlock()
	n.count++
	n.last = append(n.last, strings.ToValidUTF8(text, "\uFFFD"))
	if len(n.last) > noiseKept {
		n.last = slices.Delete(n.last, 0, len(n.last)-noiseKept)
	}
}

func (n *noise) snapshot() (int, []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.count, slices.Clone(n.last)
}
