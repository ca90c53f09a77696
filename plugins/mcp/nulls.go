package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"

	"github.com/agentd-host/agentd/core"
)

// leaveOutNulls drops arguments that are null where that only means that they
// are not given: models write it for options that they do not use, and few
// servers' schemas allow it.
func (h *hub) leaveOutNulls(_ context.Context, call *core.Call) error {
	if !bytes.Contains(call.Args, []byte("null")) {
		return nil
	}
	for _, p := range h.all() {
		if d := p.definitionOf(call.Name); d != nil {
			call.Args = withoutNulls(call.Args, modelSchema(d.Input))
			return nil
		}
	}
	return nil
}

func withoutNulls(args, schema json.RawMessage) json.RawMessage {
	var s struct {
		Properties map[string]struct {
			Type json.RawMessage   `json:"type"`
			Enum []json.RawMessage `json:"enum"`
			Any  []json.RawMessage `json:"anyOf"`
			One  []json.RawMessage `json:"oneOf"`
		} `json:"properties"`
		Required []string `json:"required"`
	}
	f, err := readFields(args)
	if err != nil || json.Unmarshal(schema, &s) != nil {
		return args
	}
	kept := f.without(func(e field) bool {
		p, known := s.Properties[e.name]
		if string(e.value) != "null" || !known || slices.Contains(s.Required, e.name) {
			return false
		}
		// Only where the type alone rules null out can it mean nothing else.
		return len(p.Type) > 0 && !bytes.Contains(p.Type, []byte(`"null"`)) && len(p.Any)+len(p.One) == 0
	})
	if len(kept) == len(f) {
		return args
	}
	return kept.raw()
}
