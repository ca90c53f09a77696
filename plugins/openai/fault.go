package openai

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/openai/openai-go/v3"

	"github.com/agentd-host/agentd/core/llm"
	"github.com/agentd-host/agentd/core/llm/wire"
)

// fault says what an error means. Nothing of the request and no dump of the
// answer gets into it.
func (m *model) fault(ctx context.Context, err error, req *llm.Request) error {
	e := &llm.Error{Kind: llm.ErrTransient, Provider: m.p.name, ToolIndex: -1}
	var api *openai.Error
	switch {
	case ctx.Err() != nil:
		e.Kind, e.Message, e.Cause = llm.ErrCancelled, "cancelled", ctx.Err()
	case errors.As(err, &api):
		m.apiFault(e, api, req)
	default:
		e.Message = plain(err)
	}
	return e
}

// cutOff is the error of a stream that ended before the answer did.
func (m *model) cutOff(ctx context.Context) error {
	if ctx.Err() != nil {
		return m.fault(ctx, ctx.Err(), nil)
	}
	return &llm.Error{
		Kind: llm.ErrTransient, Provider: m.p.name, ToolIndex: -1, Message: "the stream ended before the answer did",
	}
}

// plain is an error's text without the address, which may hold credentials.
func plain(err error) string {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	return err.Error()
}

func (m *model) apiFault(e *llm.Error, api *openai.Error, req *llm.Request) {
	e.Message = cmp.Or(api.Message, http.StatusText(api.StatusCode), "error "+strconv.Itoa(api.StatusCode))
	e.Kind = kindOf(api)
	if api.Response != nil {
		e.RequestID = api.Response.Header.Get("X-Request-Id")
		e.RetryAfter = wire.RetryAfter(api.Response.Header)
	}
	if e.Kind == llm.ErrBadRequest && req != nil {
		e.ToolIndex, e.ToolName = offender(api, req)
	}
}

func kindOf(api *openai.Error) llm.ErrorKind {
	switch {
	case api.Code == "context_length_exceeded", strings.Contains(api.Message, "maximum context length"):
		return llm.ErrTooLarge
	case api.Code == "insufficient_quota":
		return llm.ErrAuth // waiting does not help, only the account does
	case api.Code == "content_filter", api.Code == "content_policy_violation":
		return llm.ErrRefused
	}
	return wire.KindOfStatus(api.StatusCode)
}

var (
	toolParam = regexp.MustCompile(`tools\[(\d+)\]`)
	toolText  = regexp.MustCompile(`schema for function '([^']+)'`)
)

// offender finds the tool that a bad request is about, in the request's own
// numbering.
func offender(api *openai.Error, req *llm.Request) (int, string) {
	sent := make([]int, 0, len(req.Tools)) // those that were left out count not
	for i, t := range req.Tools {
		if _, err := wire.OpenAI.Parameters(t.Parameters); err == nil && !t.Deferred {
			sent = append(sent, i)
		}
	}
	if match := toolParam.FindStringSubmatch(api.Param); match != nil {
		if n, err := strconv.Atoi(match[1]); err == nil && n < len(sent) {
			return sent[n], req.Tools[sent[n]].Name
		}
	}
	if match := toolText.FindStringSubmatch(api.Message); match != nil {
		names := wire.NewNames(wire.Common)
		for i, t := range req.Tools {
			if names.Wire(t.Name) == match[1] {
				return i, t.Name
			}
		}
	}
	return -1, ""
}
