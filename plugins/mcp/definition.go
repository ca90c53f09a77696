package mcp

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
)

// A definition is one tool as its server described it. It is not changed
// after it was read.
type definition struct {
	Name        string
	Title       string
	Description string
	Input       json.RawMessage // as received, nil if there was none
	Output      json.RawMessage
	Annotations annotations
	Raw         json.RawMessage // the whole object as received
	Pinned      json.RawMessage // see pinnedPart
	Hash        string          // SHA-256 of Pinned, in hex
	Hidden      int             // invisible characters in its texts
}

// annotations are a server's claims about a tool.
type annotations struct {
	Title       string `json:"title"`
	ReadOnly    *bool  `json:"readOnlyHint"`
	Destructive *bool  `json:"destructiveHint"`
}

// readDefinition reads one entry of a tools list. What can be left out may
// be missing, null or of the wrong type; only a tool without a name is
// hopeless.
func readDefinition(raw json.RawMessage) (*definition, error) {
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(raw, &fields); err != nil || fields == nil {
		return nil, errors.New("the entry is not an object")
	}
	d := &definition{Raw: raw, Input: nonNull(fields["inputSchema"]), Output: nonNull(fields["outputSchema"])}
	if err := json.Unmarshal(fields["name"], &d.Name); err != nil || d.Name == "" {
		return nil, errors.New("the entry has no name")
	}
	if len(d.Name) > 1024 {
		return nil, fmt.Errorf("the name has %d bytes", len(d.Name))
	}
	_ = json.Unmarshal(orNull(fields["title"]), &d.Title)
	_ = json.Unmarshal(orNull(fields["description"]), &d.Description)
	if json.Unmarshal(orNull(fields["annotations"]), &d.Annotations) != nil {
		d.Annotations = annotations{}
	}
	if d.Title == "" {
		d.Title = d.Annotations.Title
	}
	d.Pinned = pinnedPart(fields)
	d.Hash = fmt.Sprintf("%x", sha256.Sum256(d.Pinned))
	d.Hidden = countHidden(d.Name) + countHidden(d.Title) + countHidden(d.Description) + countHiddenJSON(d.Input)
	return d, nil
}

// pinned are the fields of a tool that matter to who allowed it.
var pinned = []string{"name", "title", "description", "inputSchema", "outputSchema", "annotations"}

// pinnedPart is the pinned fields in canonical form: sorted keys, no blanks. A
// server that sends the same in another order did not change it.
func pinnedPart(fields map[string]json.RawMessage) json.RawMessage {
	b := []byte{'{'}
	for _, name := range pinned {
		v, ok := fields[name]
		if !ok {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(append(append(append(b, '"'), name...), `":`...), canonical(v)...)
	}
	return append(b, '}')
}

// canonical rewrites JSON with sorted keys. Numbers stay as they were written.
func canonical(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("null")
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return raw
	}
	out, err := json.Marshal(v)
	if err != nil {
		return raw
	}
	return out
}

func countHiddenJSON(raw json.RawMessage) int {
	// Only escapes and bytes above ASCII can hide anything.
	plain := bytes.IndexFunc(raw, func(r rune) bool { return r > 127 }) < 0
	if plain && !bytes.Contains(raw, []byte(`\u`)) {
		return 0
	}
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return 0
	}
	return countHiddenValue(v)
}

func countHiddenValue(v any) int {
	n := 0
	switch v := v.(type) {
	case string:
		n = countHidden(v)
	case []any:
		for _, e := range v {
			n += countHiddenValue(e)
		}
	case map[string]any:
		for k, e := range v {
			n += countHidden(k) + countHiddenValue(e)
		}
	}
	return n
}

// readDefinitions reads a whole list. Entries that are hopeless, and the
// second of a name, are left out with the reason.
func readDefinitions(entries []json.RawMessage) (defs []*definition, problems []string) {
	seen := map[string]bool{}
	for i, raw := range entries {
		d, err := readDefinition(raw)
		switch {
		case err != nil:
			problems = append(problems, fmt.Sprintf("tool %d of the list was left out: %v", i+1, err))
		case seen[d.Name]:
			problems = append(problems, fmt.Sprintf("%q is listed twice; the first stays", printable(d.Name)))
		default:
			seen[d.Name] = true
			defs = append(defs, d)
		}
	}
	return defs, problems
}

func nonNull(raw json.RawMessage) json.RawMessage {
	if string(raw) == "null" {
		return nil
	}
	return raw
}

func orNull(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("null")
	}
	return raw
}

func printable(s string) string {
	const width = 80
	if len(s) > width {
		s = s[:width] + "…"
	}
	return visible(s)
}
