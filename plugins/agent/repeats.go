package agent

import (
	"bytes"
	"encoding/json"

	"github.com/agentd-host/agentd/core/llm"
)

// repeats notices a model that goes round in circles: it counts how often the
// same call came since the last call that was new to the turn. Running the
// same test after each of many different edits is therefore no repetition,
// while A, B, A, B, ... is.
type repeats struct {
	limit int // 0 = do not watch
	seen  map[string]int
}

func newRepeats(limit int) *repeats {
	return &repeats{limit: limit, seen: map[string]int{}}
}

// add counts the calls of one answer and tells which one reached the limit.
func (r *repeats) add(calls []llm.ToolCall) (tool string, reached bool) {
	for _, c := range calls {
		key := c.Name + "\x00" + canonical(c.Args)
		if _, known := r.seen[key]; !known {
			for k := range r.seen {
				r.seen[k] = 0
			}
		}
		r.seen[key]++
		if r.limit > 0 && r.seen[key] >= r.limit {
			tool, reached = c.Name, true
		}
	}
	return tool, reached
}

// canonical makes equal arguments equal text: keys sorted, no white space.
// What is no JSON stands for itself.
func canonical(args string) string {
	dec := json.NewDecoder(bytes.NewReader([]byte(args)))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil || dec.More() {
		return args
	}
	out, err := json.Marshal(v)
	if err != nil {
		return args
	}
	return string(out)
}
