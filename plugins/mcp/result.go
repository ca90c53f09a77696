package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/llm"
)

// block is a content block of any type.
type block struct {
	Type        string    `json:"type"`
	Text        string    `json:"text"`
	Data        []byte    `json:"data"`
	MIME        string    `json:"mimeType"`
	URI         string    `json:"uri"`
	Name        string    `json:"name"`
	Description string    `json:"description"`
	Resource    *resource `json:"resource"`
}

type resource struct {
	URI  string `json:"uri"`
	MIME string `json:"mimeType"`
	Text string `json:"text"`
	Blob []byte `json:"blob"`
}

// readResult turns the raw result of a tool call into ours. Each block
// becomes one part; those of a type unknown here, or that can't be read, are
// kept raw. The raw result stays with it.
func readResult(tool string, raw json.RawMessage) (core.Result, error) {
	var r struct {
		Content    []json.RawMessage `json:"content"`
		Structured json.RawMessage   `json:"structuredContent"`
		IsError    bool              `json:"isError"`
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return core.Result{}, fmt.Errorf("the server's result can't be read: %w", err)
	}
	out := core.Result{Raw: raw, Structured: nonNull(r.Structured)}
	for _, b := range r.Content {
		out.Parts = append(out.Parts, readBlock(b))
	}
	if len(out.Parts) == 0 && len(out.Structured) > 0 {
		out.Parts = []llm.Part{llm.Text(string(out.Structured))}
	}
	if r.IsError {
		text := out.Text()
		if text == "" {
			text = "the tool reported an error without a text"
			out.Parts = append(out.Parts, llm.Text(text))
		}
		out.Err = &core.ToolError{Code: core.CodeFailed, Tool: tool, Message: text, Cause: errReported}
	}
	return out, nil
}

// errReported marks errors that the tool itself reported, as part of a
// result, and not the protocol.
var errReported = errors.New("the tool reported an error")

func readBlock(raw json.RawMessage) llm.Part {
	var b block
	if err := json.Unmarshal(raw, &b); err != nil {
		return llm.Part{Kind: llm.RawPart, Raw: raw}
	}
	switch b.Type {
	case "text":
		return llm.Text(b.Text)
	case "image":
		return llm.Part{Kind: llm.ImagePart, Data: b.Data, MIME: b.MIME}
	case "audio":
		return llm.Part{Kind: llm.AudioPart, Data: b.Data, MIME: b.MIME}
	case "resource":
		if b.Resource != nil {
			return llm.Part{Kind: llm.ResourcePart, URI: b.Resource.URI, MIME: b.Resource.MIME,
				Text: b.Resource.Text, Data: b.Resource.Blob}
		}
	case "resource_link":
		return llm.Part{Kind: llm.ResourcePart, URI: b.URI, MIME: b.MIME, Text: linkText(b)}
	}
	return llm.Part{Kind: llm.RawPart, Raw: raw}
}

func linkText(b block) string {
	return strings.TrimSpace("Link to " + b.URI + ": " + strings.TrimSpace(b.Name+" "+b.Description))
}
