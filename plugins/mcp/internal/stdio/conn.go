package stdio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/agentd-host/agentd/plugins/mcp/internal/wire"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// writeTimeout bounds one write. A server that does not read its stdin for
// that long is stuck.
const writeTimeout = 20 * time.Second

// A Conn is a running server and the line to it.
type Conn struct {
	opts   Options
	proc   *process
	stdin  *os.File
	stdout *os.File
	lines  *lineReader
	queue  []jsonrpc.Message // rest of a batch; used by the reader only
	noise  noise
	stderr *tail

	writeMu sync.Mutex // serialises writes to stdin

	closeOnce sync.Once
	closed    chan struct{} // closed when Close begins
	itself    bool          // the server was gone by then; set before closed is closed
}

// Start runs the command. The error names the program and, where it can be
// told, what to change.
func Start(cmd Command, opts *Options) (*Conn, error) {
	o := opts.withDefaults()
	c := &Conn{opts: o, stderr: &tail{max: o.Stderr}, closed: make(chan struct{})}
	childIn, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out, childOut, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, childIn.Close(), in.Close())
	}
	logs := io.MultiWriter(c.stderr, &lineLogger{log: o.Logger, redact: o.Redact})
	c.proc, err = startProcess(cmd, childIn, childOut, logs, o)
	_, _ = childIn.Close(), childOut.Close()
	if err != nil {
		_, _ = in.Close(), out.Close()
		return nil, err
	}
	c.stdin, c.stdout = in, out
	c.lines = newLineReader(out, o.MaxLine)
	return c, nil
}

// Read returns the next message, skipping whatever is none. It is called by
// one goroutine at a time. Its error says how the server ended.
func (c *Conn) Read(context.Context) (jsonrpc.Message, error) {
	for {
		if len(c.queue) > 0 {
			msg := c.queue[0]
			c.queue = c.queue[1:]
			return msg, nil
		}
		l, err := c.lines.next()
		if err != nil {
			return nil, c.ended()
		}
		if l.tooLong {
			if msg := tooLong(l, c.opts.MaxLine); msg != nil {
				return msg, nil
			}
			c.noise.add(fmt.Appendf(nil, "(a line of %d bytes without an id)", l.size))
			continue
		}
		msgs, err := wire.Decode(l.text)
		if err != nil {
			if len(l.text) > 0 {
				c.noise.add(l.text)
			}
			continue
		}
		c.queue = msgs
	}
}

// tooLong answers, in the server's place, the call whose answer did not fit.
func tooLong(l line, max int) jsonrpc.Message {
	if len(l.id) == 0 {
		return nil
	}
	id, err := wire.ResponseID(l.id)
	if err != nil {
		return nil
	}
	return &jsonrpc.Response{ID: id, Error: &jsonrpc.Error{
		Code:    jsonrpc.CodeInternalError,
		Message: fmt.Sprintf("the server's answer of %d bytes is over the limit of %d", l.size, max),
	}}
}

// Write sends one message. It may be called concurrently.
func (c *Conn) Write(ctx context.Context, msg jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	c.writeMu.Lock()
	defer c.writeMu.Unlock()
	// Pipes have deadlines on every system that we know; without one a stuck
	// server would hold this lock for good.
	_ = c.stdin.SetWriteDeadline(time.Now().Add(writeTimeout))
	if _, err := c.stdin.Write(append(data, '\n')); err != nil {
		return fmt.Errorf("%w: %v", mcp.ErrConnectionClosed, err)
	}
	return nil
}

// SessionID is empty: a process has no session but itself.
func (c *Conn) SessionID() string { return "" }

// Close ends the server and all that it started: it closes stdin, then asks
// it to terminate, then kills it, each after the grace of the options. It
// returns when nothing of it is left.
func (c *Conn) Close() error {
	c.closeOnce.Do(func() {
		c.itself = c.gone()
		close(c.closed)
		_ = c.stdin.Close()
		c.proc.stop(c.opts.Grace)
		_ = c.stdout.Close()
	})
	<-c.proc.gone
	return nil
}

// Done is closed when the server's process is gone, for whatever reason.
func (c *Conn) Done() <-chan struct{} { return c.proc.gone }

// EndedItself tells whether the server's process is gone and was not asked to.
func (c *Conn) EndedItself() bool {
	select {
	case <-c.closed:
		return c.itself
	default:
		return c.gone()
	}
}

func (c *Conn) gone() bool {
	select {
	case <-c.proc.gone:
		return true
	default:
		return false
	}
}

// PID is the process's id, which is also that of its process group.
func (c *Conn) PID() int { return c.proc.pid }

// Stderr returns the last of what the server wrote to stderr, redacted.
func (c *Conn) Stderr() string { return c.opts.Redact(c.stderr.String()) }

// Noise returns how many lines on stdout were no messages, and the last few,
// redacted.
func (c *Conn) Noise() (int, []string) {
	n, last := c.noise.snapshot()
	for i, text := range last {
		last[i] = c.opts.Redact(text)
	}
	return n, last
}

// An ExitError says how a server ended that was not asked to.
type ExitError struct {
	// State is the program's end, e.g. "exit status 1".
	State string
	// Stderr is the last of what it wrote there.
	Stderr string
}

func (e *ExitError) Error() string {
	text := "the server ended: " + e.State
	if e.Stderr != "" {
		text += "; its stderr ends with: " + e.Stderr
	}
	return text
}

// ended explains why there is nothing more to read. A server that closed its
// stdout but still runs is given a moment to end by itself.
func (c *Conn) ended() error {
	select {
	case <-c.closed:
		return io.EOF
	case <-c.proc.gone:
	case <-time.After(c.opts.Grace / 2):
	}
	return c.Exit()
}

// Exit says how the server ended, or that it closed its output.
func (c *Conn) Exit() *ExitError {
	state := "it closed its output"
	select {
	case <-c.proc.gone:
		state = c.proc.state()
	default:
	}
	return &ExitError{State: state, Stderr: lastLines(c.Stderr(), 6, 600)}
}

// lastLines cuts text to its last lines and bytes.
func lastLines(text string, lines, width int) string {
	text = strings.TrimSpace(text)
	parts := strings.Split(text, "\n")
	if len(parts) > lines {
		parts = parts[len(parts)-lines:]
	}
	text = strings.Join(parts, "\n")
	if len(text) > width {
		text = "…" + strings.ToValidUTF8(text[len(text)-width:], "")
	}
	return text
}

var _ mcp.Connection = (*Conn)(nil)
