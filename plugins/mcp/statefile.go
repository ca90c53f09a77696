package mcp

import (
	"encoding/json"
	"fmt"

	"github.com/agentd-host/agentd/internal/statefile"
)

// readState decodes a JSON file that we wrote. One that is missing leaves v
// as it is.
func readState(file string, v any) error {
	data, err := statefile.Read(file)
	if err != nil || data == nil {
		return err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

// writeState replaces a JSON file for the owner's eyes only.
func writeState(file string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return statefile.Write(file, data)
}
