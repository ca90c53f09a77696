package command

import (
	"fmt"
	"strings"
	"sync"
)

// capture keeps the beginning and the end of what is written to it, and
// counts what falls between. The last lines of a command say most often what
// went wrong, the first ones what it was about to do.
type capture struct {
	mu    sync.Mutex // guards the fields below
	max   int        // bytes kept; half of it for the end
	head  []byte
	tail  []byte // ring
	at    int    // where the ring's oldest byte is, once it is full
	total int64
}

func newCapture(max int) *capture { return &capture{max: max} }

// Write never fails.
func (c *capture) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(p)
	c.total += int64(n)
	fit := min(c.max-c.max/2-len(c.head), len(p))
	c.head = append(c.head, p[:fit]...)
	c.end(p[fit:])
	return n, nil
}

func (c *capture) end(p []byte) {
	size := c.max / 2
	if len(p) > size {
		p = p[len(p)-size:]
	}
	fit := min(size-len(c.tail), len(p))
	c.tail = append(c.tail, p[:fit]...)
	for rest := p[fit:]; len(rest) > 0; {
		n := copy(c.tail[c.at:], rest)
		rest = rest[n:]
		c.at = (c.at + n) % size
	}
}

// text returns what was kept, as valid UTF-8, with a note where something was
// left out.
func (c *capture) text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	end := string(c.tail[c.at:]) + string(c.tail[:c.at])
	lost := c.total - int64(len(c.head)+len(c.tail))
	if lost == 0 {
		return strings.ToValidUTF8(string(c.head)+end, "\uFFFD")
	}
	head := strings.ToValidUTF8(string(c.head), "\uFFFD")
	end = strings.ToValidUTF8(end, "\uFFFD")
	note := fmt.Sprintf("[... %d bytes left out; to see them, run the command with its output "+
		"sent to a file and read that by pages ...]", lost)
	return head + "\n" + note + "\n" + end
}
