package schema

import (
	"encoding/json"
	"fmt"
	"time"
)

// durationPattern is what the schemas of durations carry.
const durationPattern = `^-?(0|([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+)$`

// durationWant says in an issue what a duration looks like.
const durationWant = `a duration such as "10s" or "1m30s"`

// parseDuration reads a JSON string such as "1m30s". Numbers are refused: their
// unit would be a guess.
func parseDuration(raw json.RawMessage) (time.Duration, error) {
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return 0, fmt.Errorf("want %s, got %s", durationWant, brief(raw))
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("want %s, got %s", durationWant, brief(raw))
	}
	return d, nil
}
