package openai

import (
	"errors"
	"regexp"
	"strconv"
	"strings"

	"github.com/openai/openai-go/v3"

	"github.com/agentd-host/agentd/core/llm"
	"github.com/agentd-host/agentd/core/llm/wire"
	"github.com/agentd-host/agentd/core/provider"
)

// Explain reads an error of the API.
func (m *model) Explain(err error, req *llm.Request, e *llm.Error) bool {
	var api *openai.Error
	if !errors.As(err, &api) {
		return false
	}
	provider.Answered(e, api.Message, api.StatusCode, api.Response)
	e.Kind = kindOf(api)
	if api.Response != nil {
		e.RequestID = api.Response.Header.Get("X-Request-Id")
	}
	if e.Kind == llm.ErrBadRequest {
		e.ToolIndex, e.ToolName = offender(api, req)
	}
	return true
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
	sent, _ := wire.OpenAI.Tools(req.Tools, false)
	if match := toolParam.FindStringSubmatch(api.Param); match != nil {
		if n, err := strconv.Atoi(match[1]); err == nil && n < len(sent) {
			return sent[n].Index, sent[n].Name
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
