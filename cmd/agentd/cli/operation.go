package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
)

// An operation is something that the commands ask of a host. The same value
// serves both ways: against a host in this process, and, over the socket,
// against the daemon's.
type operation[In, Out any] struct {
	name string
	run  func(ctx context.Context, h *running, in In) (Out, error)
}

// served is an operation with its types erased.
type served interface {
	path() string
	serve(ctx context.Context, h *running, body []byte) (any, error)
}

func (o operation[In, Out]) path() string { return "/v1/" + o.name }

func (o operation[In, Out]) serve(ctx context.Context, h *running, body []byte) (any, error) {
	var in In
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, fmt.Errorf("%s: %w", o.name, err)
	}
	return o.run(ctx, h, in)
}

// do runs the operation where target says.
func (o operation[In, Out]) do(ctx context.Context, t target, in In) (Out, error) {
	if t.local != nil {
		return o.run(ctx, t.local, in)
	}
	var out Out
	body, err := json.Marshal(in)
	if err != nil {
		return out, err
	}
	return out, t.remote.post(ctx, o.path(), body, &out)
}

// target is the host that a command works with: the daemon of the same config
// if one runs, else one of its own.
type target struct {
	local  *running
	remote *remote
}

// remote talks to a daemon over its socket.
type remote struct {
	socket string
	client *http.Client
}

// remoteError is an error that the daemon answered with.
type remoteError struct {
	Message string `json:"error"`
	Code    int    `json:"code,omitempty"` // the exit code that it asks for
}

func (e *remoteError) Error() string { return e.Message }

// dialDaemon finds the daemon that listens on socket; nil if none does.
func dialDaemon(socket string) *remote {
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return nil
	}
	conn.Close()
	r := &remote{socket: socket}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) { return r.dial(ctx) }
	r.client = &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}
	return r
}

func (r *remote) dial(ctx context.Context) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "unix", r.socket)
}

func (r *remote) post(ctx context.Context, path string, body []byte, out any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://agentd"+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := r.client.Do(req)
	if err != nil {
		return fmt.Errorf("the daemon does not answer: %w", errors.Unwrap(err))
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return fmt.Errorf("the daemon broke off: %w", err)
	}
	if resp.StatusCode == http.StatusOK {
		return json.Unmarshal(answer, out)
	}
	var re remoteError
	if json.Unmarshal(answer, &re) != nil || re.Message == "" {
		return fmt.Errorf("the daemon answered %s", resp.Status)
	}
	return &re
}
