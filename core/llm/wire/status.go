package wire

import (
	"net/http"
	"strconv"
	"time"

	"github.com/agentd-host/agentd/core/llm"
)

// KindOfStatus says what an HTTP status means, where a provider's own code
// says no more.
func KindOfStatus(status int) llm.ErrorKind {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusPaymentRequired:
		return llm.ErrAuth
	case http.StatusRequestEntityTooLarge:
		return llm.ErrTooLarge
	case http.StatusTooManyRequests:
		return llm.ErrRateLimited
	case http.StatusServiceUnavailable, 529:
		return llm.ErrOverloaded
	case http.StatusRequestTimeout, http.StatusConflict:
		return llm.ErrTransient
	}
	if status >= 400 && status < 500 {
		return llm.ErrBadRequest
	}
	return llm.ErrTransient
}

// RetryAfter reads how long a provider wants to be left alone: retry-after-ms,
// else Retry-After in seconds or as a date. 0 = not said.
func RetryAfter(h http.Header) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 {
		return time.Duration(ms * float64(time.Millisecond))
	}
	value := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(value, 64); err == nil && s > 0 {
		return time.Duration(s * float64(time.Second))
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}
