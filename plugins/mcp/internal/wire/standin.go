package wire

import (
	"bytes"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// empty are the smallest results that the SDK decodes, by method.
var empty = map[string]string{
	"tools/call":               `{"content":[]}`,
	"prompts/list":             `{"prompts":[]}`,
	"prompts/get":              `{"messages":[]}`,
	"resources/list":           `{"resources":[]}`,
	"resources/templates/list": `{"resourceTemplates":[]}`,
	"resources/read":           `{"contents":[]}`,
	"completion/complete":      `{"completion":{"values":[]}}`,
}

// standIn is what the SDK gets in place of a result that a tap took. It has
// no time to live, so that the SDK's cache never answers without the tap.
func standIn(method string, result json.RawMessage, relay bool) json.RawMessage {
	if !relay && NeedsInput(result) {
		return result
	}
	if method == "tools/list" {
		return soundTools(result)
	}
	if e, ok := empty[method]; ok {
		return json.RawMessage(e)
	}
	return result
}

// NeedsInput reports whether a result asks for input. Nearly all results are
// told apart without being parsed.
func NeedsInput(result json.RawMessage) bool {
	if !bytes.Contains(result, []byte(`"inputRequests"`)) && !bytes.Contains(result, []byte(`"input_required"`)) {
		return false
	}
	var r struct {
		ResultType    string          `json:"resultType"`
		InputRequests json.RawMessage `json:"inputRequests"`
	}
	return json.Unmarshal(result, &r) == nil && (r.ResultType == "input_required" || len(r.InputRequests) > 0)
}

// soundTools keeps the tools that the SDK can decode: it needs them to send
// the headers that their schemas ask for.
func soundTools(result json.RawMessage) json.RawMessage {
	var page struct {
		Tools []json.RawMessage `json:"tools"`
	}
	if err := json.Unmarshal(result, &page); err != nil {
		return json.RawMessage(`{"tools":[]}`)
	}
	sound := struct {
		Tools []json.RawMessage `json:"tools"`
	}{Tools: []json.RawMessage{}}
	for _, raw := range page.Tools {
		var t mcp.Tool
		if json.Unmarshal(raw, &t) == nil && t.Name != "" {
			sound.Tools = append(sound.Tools, raw)
		}
	}
	out, err := json.Marshal(sound)
	if err != nil {
		return json.RawMessage(`{"tools":[]}`)
	}
	return out
}
