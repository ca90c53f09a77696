package wire

import (
	"fmt"
	"strings"

	"github.com/agentd-host/agentd/core/llm"
)

// Sent is a tool that is sent, its parameters in the provider's dialect.
type Sent struct {
	llm.Tool
	Index int // among the request's tools
}

// Tools gives the tools that are sent, in order. Those that cannot be expressed
// are left out and named in the warnings; deferred ones are only for a provider
// that defers by itself.
func (d Dialect) Tools(tools []llm.Tool, defers bool) (sent []Sent, warnings []string) {
	for i, t := range tools {
		if t.Deferred && !defers {
			continue
		}
		parameters, err := d.Parameters(t.Parameters)
		if err != nil {
			warnings = append(warnings, fmt.Sprintf("tool %s is left out: %v", t.Name, err))
			continue
		}
		t.Parameters = parameters
		sent = append(sent, Sent{t, i})
	}
	return sent, warnings
}

// Placeholder is a word in place of a part that the provider cannot carry.
func Placeholder(p llm.Part) string {
	return strings.TrimSpace(fmt.Sprintf("[%s %s %s]", p.Kind, p.MIME, p.URI))
}
