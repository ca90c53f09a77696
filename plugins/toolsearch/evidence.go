package toolsearch

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/agentd-host/agentd/core/llm"
)

// evidence reads from a conversation which tools were found and called, in
// order: the names in answers of the search tool, even if these were cut off,
// and calls that got a result.
func evidence(history []llm.Message) [][]string {
	calls := make(map[string]llm.ToolCall)
	var found [][]string
	for _, m := range history {
		for _, c := range m.Calls() {
			calls[c.ID] = c
		}
		for _, p := range m.Parts {
			if p.Kind == llm.ToolResultPart && p.Result != nil {
				if names := shownBy(calls[p.Result.CallID], p.Result); len(names) > 0 {
					found = append(found, names)
				}
			}
		}
	}
	return found
}

// shownBy names the tools that one result speaks for.
func shownBy(call llm.ToolCall, r *llm.ToolResult) []string {
	name := r.Name
	if name == "" {
		name = call.Name
	}
	switch {
	case isSearch(name):
		return namesIn(llm.PartsText(r.Parts))
	case name == callName:
		return []string{innerName(json.RawMessage(call.Args))}
	case isOwn(name):
		return nil
	}
	return []string{name}
}

var nameMember = regexp.MustCompile(`"name"\s*:\s*"([a-zA-Z0-9_-]{1,64})"`)

// namesIn reads the names of the tools in an answer, which may be cut off
// anywhere. What an answer lists besides its tools is left out.
func namesIn(text string) []string {
	i := strings.Index(text, `"tools":`)
	if i < 0 {
		if i = strings.Index(text, `"matches":`); i < 0 {
			return nil
		}
	}
	var whole struct {
		Tools, Matches []struct{ Name string }
	}
	var names []string
	if json.Unmarshal([]byte(text), &whole) == nil {
		for _, t := range append(whole.Tools, whole.Matches...) {
			names = append(names, t.Name)
		}
		return names
	}
	for _, m := range nameMember.FindAllStringSubmatch(text[i:], -1) {
		names = append(names, m[1])
	}
	return names
}

// innerName is the tool that a call of tool_call is for.
func innerName(args json.RawMessage) string {
	var in struct {
		Name string `json:"name"`
	}
	if json.Unmarshal(args, &in) != nil {
		var text string // arguments as a string of JSON
		if json.Unmarshal(args, &text) == nil {
			_ = json.Unmarshal([]byte(text), &in)
		}
	}
	return in.Name
}

// viaBridge is between the id of a call of tool_call and the inner name.
const viaBridge = ":tool:"

// outerID is the id of the model's own call.
func outerID(id string) string {
	outer, _, _ := strings.Cut(id, viaBridge)
	return outer
}
