package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Marshal writes v as JSON on one line, with <, > and & as they are: they are
// many in descriptions, and longer otherwise.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(b.Bytes()), nil
}

// Body writes a request as [Marshal] does and lays own, the request's options
// for its provider, over the members; nil is none.
func Body(request any, own json.RawMessage) ([]byte, error) {
	raw, err := Marshal(request)
	if err != nil || own == nil {
		return raw, err
	}
	var body map[string]json.RawMessage
	if err := json.Unmarshal(raw, &body); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(own, &body); err != nil {
		return nil, fmt.Errorf("options of the request: %w", err)
	}
	return Marshal(body)
}
