package provider

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"

	"github.com/agentd-host/agentd/core/llm"
	"github.com/agentd-host/agentd/core/llm/wire"
)

// fault says what an error means. Nothing of the request and no dump of the
// answer gets into it.
func fault(ctx context.Context, provider string, err error, explain func(*llm.Error) bool) error {
	e := &llm.Error{Kind: llm.ErrTransient, Provider: provider, ToolIndex: -1}
	var elsewhere redirect
	switch {
	case ctx.Err() != nil:
		e.Kind, e.Message, e.Cause = llm.ErrCancelled, "cancelled", ctx.Err()
	case errors.As(err, &elsewhere):
		e.Kind, e.Message = llm.ErrBadRequest, elsewhere.Error()
	case !explain(e):
		e.Message = plain(err)
	}
	return e
}

// plain is an error's text without the address, which may hold credentials.
func plain(err error) string {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	return err.Error()
}

// Answered completes e with what every API says in the same way: the message,
// or what its status means, and from the response, if there is one, when to
// come again.
func Answered(e *llm.Error, message string, status int, resp *http.Response) {
	e.Message = cmp.Or(message, http.StatusText(status), "error "+strconv.Itoa(status))
	if resp != nil {
		e.RetryAfter = wire.RetryAfter(resp.Header)
	}
}
