package cli

import (
	"io"
	"sync"
)

// console is where the log goes without a file: stderr, or the screen of a
// conversation while there is one, which keeps log lines and the line that is
// being typed apart.
type console struct {
	mu  sync.Mutex // guards out, and is held while writing
	out io.Writer
}

// Write prints to what is in use.
func (c *console) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.out.Write(b)
}

// use redirects what is written until restore is called.
func (c *console) use(w io.Writer) (restore func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.out
	c.out = w
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.out = was
	}
}
