package mcp

import (
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// A noAnswer is an error that holds one of the protocol which is not the
// answer to the call at hand: of the handshake, or of the SDK's own. Nobody
// finds that one in it.
type noAnswer struct{ err error }

// codeRejected is the SDK's own: the transport did not take the message.
const codeRejected = -32005

// Error leaves out what the SDK says when its transport did not take a
// message: the cause comes with it.
func (e *noAnswer) Error() string {
	text := e.err.Error()
	var rpc *jsonrpc.Error
	if errors.As(e.err, &rpc) && rpc.Code == codeRejected {
		text = strings.ReplaceAll(text, rpc.Message+": ", "")
	}
	return text
}

func (e *noAnswer) Is(target error) bool { return errors.Is(e.err, target) }

func (e *noAnswer) As(target any) bool {
	if _, ok := target.(**jsonrpc.Error); ok {
		return false
	}
	return errors.As(e.err, target)
}

// A serverError is an error that names its server.
type serverError struct {
	server string
	err    error
}

func (e *serverError) Error() string { return fmt.Sprintf("MCP server %s: %s", e.server, e.err) }
func (e *serverError) Unwrap() error { return e.err }

// nameServer says whose an error is, unless it says so itself or is a server's
// answer.
func nameServer(server string, err error) error {
	var named *serverError
	var rpc *jsonrpc.Error
	if err == nil || errors.As(err, &named) || errors.As(err, &rpc) {
		return err
	}
	return &serverError{server, err}
}
