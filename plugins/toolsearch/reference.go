package toolsearch

import (
	"encoding/json"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/llm"
)

// reveal makes the result of a search or a description. Where the provider
// holds deferred tools back by itself it refers to those that were found, so
// that the model may call them from now on.
func (v *view) reveal(answer json.RawMessage, names []string) core.Result {
	r := core.Result{Structured: answer}
	if v.mode != revealNative || len(names) == 0 {
		return r
	}
	r.Parts = append(r.Parts, llm.Text(string(answer)))
	for _, name := range names {
		r.Parts = append(r.Parts, llm.Part{Kind: llm.ToolReferencePart, Name: name})
	}
	return r
}

// referredTo adds the tools that the results of a conversation refer to: those
// a model can call that was not sent their definitions.
func referredTo(history []llm.Message, names map[string]bool) {
	for i := range history {
		for _, p := range history[i].Parts {
			if p.Kind != llm.ToolResultPart || p.Result == nil {
				continue
			}
			for _, q := range p.Result.Parts {
				if q.Kind == llm.ToolReferencePart {
					names[q.Name] = true
				}
			}
		}
	}
}

// names lists the tools on this page.
func (p *page) names() []string {
	names := make([]string, len(p.rows))
	for i, r := range p.rows {
		names[i] = r.tool.Name
	}
	return names
}

// names lists the tools that were described.
func (d *described) names() []string {
	names := make([]string, len(d.Tools))
	for i, t := range d.Tools {
		names[i] = t.Name
	}
	return names
}
