package core

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/agentd-host/agentd/core/schema"
)

// normalArgs reads the arguments of a call as models write them: nothing,
// null, "" and a JSON string that holds an object mean what they plainly mean.
// The result is a JSON object.
func normalArgs(raw json.RawMessage) (json.RawMessage, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) > 0 && raw[0] == '"' {
		var inner string
		if err := json.Unmarshal(raw, &inner); err != nil {
			return nil, fmt.Errorf("the arguments are not valid JSON: %w", err)
		}
		raw = bytes.TrimSpace([]byte(inner))
	}
	if len(raw) == 0 || string(raw) == "null" {
		return json.RawMessage("{}"), nil
	}
	if !json.Valid(raw) {
		var v any
		return nil, fmt.Errorf("the arguments are not valid JSON: %w", json.Unmarshal(raw, &v))
	}
	if raw[0] != '{' {
		return nil, errors.New("the arguments are not a JSON object")
	}
	return raw, nil
}

// tellable makes a JSON string of arguments that are no JSON, so that those who
// are told of the call can write them down.
func tellable(raw json.RawMessage) json.RawMessage {
	switch {
	case len(raw) == 0:
		return nil // which is written as null
	case json.Valid(raw):
		return raw
	}
	quoted, _ := json.Marshal(string(raw)) // a string always has a JSON form
	return quoted
}

// argsDigest hashes the tool's name and the canonical form of the arguments:
// keys sorted, no spaces, numbers as they were written.
func argsDigest(name string, args json.RawMessage) string {
	if !isCanonical(args) {
		args = canonical(args)
	}
	text := append(append(make([]byte, 0, len(name)+1+len(args)), name...), 0)
	sum := sha256.Sum256(append(text, args...))
	return hex.EncodeToString(sum[:])
}

func canonical(args json.RawMessage) []byte {
	d := json.NewDecoder(bytes.NewReader(args))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return args
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return args
	}
	return bytes.TrimSpace(b.Bytes())
}

// isCanonical recognises the common case of a flat object that is in canonical
// form already: printable ASCII, no space between, keys in order.
func isCanonical(args []byte) bool {
	n := len(args)
	if n < 2 || args[0] != '{' || args[n-1] != '}' {
		return false
	}
	var last []byte
	inKey, keys := true, 0
	for i := 1; i < n-1; i++ {
		switch c := args[i]; {
		case c == '"':
			end := plainEnd(args, i)
			if end < 0 {
				return false
			}
			if inKey {
				key := args[i+1 : end]
				if keys > 0 && bytes.Compare(last, key) >= 0 {
					return false
				}
				last, keys = key, keys+1
			}
			i = end
		case c == ':':
			inKey = false
		case c == ',':
			inKey = true
		case inKey || c <= ' ' || c == '{' || c == '[':
			return false
		}
	}
	return true
}

// plainEnd returns the index of the quote that ends the string at i, -1 if
// there is anything but printable ASCII before.
func plainEnd(args []byte, i int) int {
	for i++; i < len(args)-1; i++ {
		switch c := args[i]; {
		case c == '"':
			return i
		case c < ' ' || c >= 0x7f || c == '\\':
			return -1
		}
	}
	return -1
}

// checkArgs holds the arguments against the tool's schema.
func (d *definition) checkArgs(args json.RawMessage) *ToolError {
	s := d.checker()
	if s == nil {
		return nil
	}
	issues := s.Validate(args)
	if len(issues) == 0 {
		return nil
	}
	return argsError(d, issues)
}

// argsError carries the first issue's place and the parameter's schema, and
// all issues in its message.
func argsError(d *definition, issues schema.Issues) *ToolError {
	first := issues[0]
	parameters := first.Schema
	if parameters == nil {
		parameters = d.tool.Parameters
	}
	return &ToolError{
		Code: CodeArguments, Tool: d.tool.Name, Message: "invalid arguments: " + issues.Error(),
		Path: first.Path, Constraint: first.Want, Parameters: parameters, Cause: issues,
	}
}

// badArgs is the error of arguments that are no JSON object.
func badArgs(d *definition, err error) *ToolError {
	return &ToolError{
		Code: CodeArguments, Tool: d.tool.Name, Message: err.Error(),
		Constraint: "a JSON object", Parameters: d.tool.Parameters, Cause: err,
	}
}
