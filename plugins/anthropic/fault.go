package anthropic

import (
	"errors"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/agentd-host/agentd/core/llm"
	"github.com/agentd-host/agentd/core/llm/wire"
	"github.com/agentd-host/agentd/core/provider"
)

// Explain reads an error of the API.
func (m *model) Explain(err error, req *llm.Request, e *llm.Error) bool {
	var api *anthropic.Error
	if !errors.As(err, &api) {
		return false
	}
	provider.Answered(e, api.Message, api.StatusCode, api.Response)
	e.Kind, e.RequestID = kindOf(api), api.RequestID
	if e.Kind == llm.ErrBadRequest {
		e.ToolIndex, e.ToolName = offender(api.Message, req.Tools, m.defers(req))
	}
	return true
}

func kindOf(api *anthropic.Error) llm.ErrorKind {
	switch string(api.Type()) {
	case "authentication_error", "permission_error", "billing_error":
		return llm.ErrAuth
	case "rate_limit_error":
		return llm.ErrRateLimited
	case "overloaded_error":
		return llm.ErrOverloaded
	case "request_too_large":
		return llm.ErrTooLarge
	}
	if strings.Contains(api.Message, "prompt is too long") || strings.Contains(api.Message, "exceed context limit") {
		return llm.ErrTooLarge
	}
	if api.StatusCode == http.StatusOK { // an error within the stream
		return llm.ErrTransient
	}
	return wire.KindOfStatus(api.StatusCode)
}

var toolPath = regexp.MustCompile(`tools\.(\d+)\.`)

// offender finds the tool that a bad request is about, in the request's own
// numbering.
func offender(message string, tools []llm.Tool, defers bool) (int, string) {
	match := toolPath.FindStringSubmatch(message)
	if match == nil {
		return -1, ""
	}
	sent, _ := wire.Anthropic.Tools(tools, defers)
	n, err := strconv.Atoi(match[1])
	if err != nil || n >= len(sent) {
		return -1, ""
	}
	return sent[n].Index, sent[n].Name
}
