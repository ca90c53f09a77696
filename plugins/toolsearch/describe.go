package toolsearch

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/schema"
)

const (
	mostDescribed = 10
	nearCount     = 3
	nameShown     = 100 // bytes of a name that no tool has
)

var describeParameters = json.RawMessage(`{"type":"object","properties":{` +
	`"name":{"type":"string","description":"The tool to read."},` +
	`"names":{"type":"array","items":{"type":"string"},"maxItems":10,` +
	`"description":"Several tools at once."}}}`)

const describeDescription = "Read the description and the parameters of tools by their names."

// described is the answer of the describe tool.
type described struct {
	Tools    []describedTool `json:"tools"`
	NotFound []missing       `json:"not_found,omitempty"`
	Hint     string          `json:"hint,omitempty"`
}

type describedTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
}

type missing struct {
	Name string   `json:"name"`
	Near []string `json:"near,omitempty"`
}

// runDescribe is the describe tool.
func (l *layer) runDescribe(ctx context.Context, inv *core.Invocation) (core.Result, error) {
	var args struct {
		Name  string
		Names []string
	}
	if err := json.Unmarshal(inv.Args, &args); err != nil {
		return core.Result{}, err
	}
	names := args.Names
	if args.Name != "" {
		names = append([]string{args.Name}, names...)
	}
	if len(names) == 0 {
		return core.ErrorResult(core.CodeArguments, inv.Name, "name or names: say which tools to read"), nil
	}
	v, err := l.view(ctx, inv.Call)
	if err != nil {
		return core.Result{}, err
	}
	answer := v.describe(names[:min(len(names), mostDescribed)])
	return v.reveal(answer.encode(inv.MaxResult), answer.names()), nil
}

func (v *view) describe(names []string) *described {
	d := &described{Tools: []describedTool{}}
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			continue
		}
		t, ok := v.split.found.find(name)
		if !ok {
			d.NotFound = append(d.NotFound, missing{beginning(name, nameShown), v.split.nearNames(name, nearCount)})
			continue
		}
		d.Tools = append(d.Tools, describedTool{t.Name, t.Description, t.Parameters})
	}
	return d
}

// encode leaves schemas out from the end, then tools, where max bytes are not
// enough.
func (d *described) encode(max int) json.RawMessage {
	text := encode(d)
	all := len(d.Tools)
	for i := all - 1; i >= 0 && max > 0 && len(text) > max; i-- {
		d.Tools[i].Parameters = nil
		d.Hint = fmt.Sprintf("The answer was too long: parameters are shown for %d of %d tools.", i, all)
		text = encode(d)
	}
	for len(d.Tools) > 0 && max > 0 && len(text) > max {
		d.Tools = d.Tools[:len(d.Tools)-1]
		d.Hint = fmt.Sprintf("The answer was too long: %d of %d tools are shown, without parameters.",
			len(d.Tools), all)
		text = encode(d)
	}
	return text
}

// nearest names candidates like a name.
func nearest(name string, candidates []string, n int) []string {
	return schema.Near(name, candidates, n)
}
