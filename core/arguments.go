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

// argsDigest hashes the tool's name and the canonical form of the arguments:
// keys sorted, no spaces, numbers as they were written.
func argsDigest(name string, args json.RawMessage) string {
	h := sha256.New()
	h.Write([]byte(name))
	h.Write([]byte{0})
	h.Write(canonical(args))
	return hex.EncodeToString(h.Sum(nil))
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
