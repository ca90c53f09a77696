package toolpolicy

import (
	"encoding/json"
	"strings"

	"github.com/agentd-host/agentd/internal/redact"
)

// redactor takes secrets out of text and arguments. It is immutable.
type redactor struct{ *redact.Redactor }

// arguments returns raw without secrets: by text, and by the name of the
// member that holds them. What is no JSON becomes a redacted string.
func (r *redactor) arguments(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return nil
	}
	v, err := decodeOrdered(raw)
	if err != nil {
		return appendCanonical(nil, r.Text(string(raw)))
	}
	return appendCanonical(nil, r.value(v))
}

func (r *redactor) value(v any) any {
	switch v := v.(type) {
	case string:
		return r.Text(v)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = r.value(e)
		}
		return out
	case object:
		out := make(object, len(v))
		for i, f := range v {
			out[i] = field{r.Text(f.key), r.value(f.value)}
			if redact.NamesSecret(f.key) && mayBeSecret(f) {
				out[i].value = redact.Mark
			}
		}
		return out
	}
	return v
}

// mayBeSecret reports whether the member of a secret's name may hold one: yes
// and no and nothing are none, nor is a number of tokens.
func mayBeSecret(f field) bool {
	switch f.value.(type) {
	case bool, nil:
		return false
	case json.Number:
		return !strings.Contains(strings.ToLower(f.key), "tokens")
	}
	return true
}
