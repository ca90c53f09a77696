package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// firstID numbers our first call. The SDK counts from 1 and does not get this
// far; a server that keeps ids in 32 bits has room for as many again.
const firstID = 1 << 30

// ErrNotSent is matched by errors of calls that did not reach the server.
var ErrNotSent = errors.New("the call was not sent")

var (
	errDraining = errors.New("the connection is about to be closed")
	errClosed   = errors.New("the connection was closed during the call")
)

// Call makes a call beside the SDK and returns its result as received. t gets
// the progress; its result is not set. An error of the server's is a
// [*jsonrpc.Error], the end of the connection is what Read returned, and one
// that matches [ErrNotSent] says that the server knows nothing of the call.
// When ctx ends, the server is told so and Call returns ctx's error without
// waiting for that. It may be called concurrently.
func (c *Conn) Call(ctx context.Context, method string, params json.RawMessage, t *Tap) (json.RawMessage, error) {
	req := &jsonrpc.Request{Method: method, Params: params}
	answer := make(chan *jsonrpc.Response, 1)
	if err := c.open(req, pending{method: method, tap: t, answer: answer}); err != nil {
		return nil, err
	}
	defer c.calling.Done()
	if err := c.Connection.Write(ctx, req); err != nil {
		c.take(req.ID)
		return nil, fmt.Errorf("%w: %w", ErrNotSent, err)
	}
	select {
	case res := <-answer:
		return res.Result, res.Error
	case <-ctx.Done():
		c.take(req.ID)
		c.cancel(context.WithoutCancel(ctx), req.ID)
		return nil, ctx.Err()
	}
}

// Drain refuses further calls and waits for those under way. It is no
// business of the SDK's calls, which its own Close waits for.
func (c *Conn) Drain() {
	c.end(errDraining)
	c.calling.Wait()
}

// Close ends the connection; see [mcp.Connection].
func (c *Conn) Close() error {
	c.end(errClosed)
	err := c.Connection.Close()
	c.cancelling.Wait()
	return err
}

// open gives a call its id, unless it is too late for it.
func (c *Conn) open(req *jsonrpc.Request, p pending) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over != nil {
		return fmt.Errorf("%w: %w", ErrNotSent, c.over)
	}
	id, err := jsonrpc.MakeID(float64(firstID + c.made))
	if err != nil {
		return err
	}
	c.made++
	c.calling.Add(1)
	req.ID = id
	c.calls[id] = p
	c.tokens[p.tap.ID] = p.tap
	return nil
}

// end refuses further calls; the first reason stays.
func (c *Conn) end(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over == nil {
		c.over = why
	}
}

// fail ends all calls of ours: nothing more will be read.
func (c *Conn) fail(err error) {
	c.end(err)
	if errors.Is(err, io.EOF) {
		err = errClosed
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, p := range c.calls {
		if p.answer == nil {
			continue
		}
		delete(c.calls, id)
		delete(c.tokens, p.tap.ID)
		p.answer <- &jsonrpc.Response{ID: id, Error: err}
	}
}

// cancel tells the server that nobody waits for a call any more, in a
// goroutine that Close waits for. A connection that ends says it by that.
func (c *Conn) cancel(ctx context.Context, id jsonrpc.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over != nil {
		return
	}
	params := fmt.Appendf(nil, `{"requestId":%d}`, id.Raw())
	c.cancelling.Go(func() {
		_ = c.Connection.Write(ctx, &jsonrpc.Request{Method: "notifications/cancelled", Params: params})
	})
}
