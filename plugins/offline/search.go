package offline

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/agentd-host/agentd/core/llm"
)

// shownHits is how many tools an answer to a search names.
const shownHits = 5

// hit is a tool that a search found.
type hit struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

// searchTool is the name of the request's search tool, "" if it shows none.
func searchTool(tools []llm.Tool) string {
	for _, name := range []string{"tool_search", "search_tools"} {
		if slices.ContainsFunc(tools, func(t llm.Tool) bool { return t.Name == name }) {
			return name
		}
	}
	return ""
}

// rank orders the request's tools by how many words of the query their names
// and descriptions hold; a word of the name counts three times.
func rank(query string, tools []llm.Tool) []hit {
	words := splitWords(query)
	type scored struct {
		hit
		score int
	}
	var found []scored
	for _, t := range tools {
		score := 3*overlap(words, splitWords(t.Name)) + overlap(words, splitWords(t.Description))
		if score > 0 {
			found = append(found, scored{hit{t.Name, t.Description, t.Parameters}, score})
		}
	}
	slices.SortFunc(found, func(a, b scored) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.Name, b.Name))
	})
	hits := make([]hit, 0, shownHits)
	for _, s := range found[:min(len(found), shownHits)] {
		hits = append(hits, s.hit)
	}
	return hits
}

// splitWords gives the lower-case words of s, without plural s and without
// those of one or two letters, which only make noise.
func splitWords(s string) map[string]bool {
	words := map[string]bool{}
	for _, w := range strings.FieldsFunc(strings.ToLower(s), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) {
		if len([]rune(w)) < 3 && w[0] < 0x80 {
			continue
		}
		if len(w) > 3 {
			w = strings.TrimSuffix(w, "s")
		}
		words[w] = true
	}
	return words
}

func overlap(a, b map[string]bool) int {
	n := 0
	for w := range a {
		if b[w] {
			n++
		}
	}
	return n
}

// describeHits is the answer to a search: what was found and how to call it.
func describeHits(query string, hits []hit, tools []llm.Tool) string {
	var b strings.Builder
	if len(hits) == 0 {
		fmt.Fprintf(&b, "No tool fits %q.", query)
		if names := toolNames(tools); names != "" {
			fmt.Fprintf(&b, " Available: %s.", names)
		}
		b.WriteString("\n")
		return b.String()
	}
	b.WriteString("Tools that may fit, and how to call them:\n")
	for _, h := range hits {
		fmt.Fprintf(&b, "\n  %s\n", usage(h))
		if d := firstSentence(h.Description); d != "" {
			fmt.Fprintf(&b, "      %s\n", d)
		}
	}
	return b.String()
}

func toolNames(tools []llm.Tool) string {
	names := make([]string, len(tools))
	for i, t := range tools {
		names[i] = t.Name
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// usage shows a call with its required arguments, optional ones in brackets.
func usage(h hit) string {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
	}
	_ = json.Unmarshal(h.Parameters, &s) // a schema of another shape shows no arguments
	var required, optional []string
	for name := range s.Properties {
		types := schemaTypes(s.Properties[name])
		if len(types) == 0 {
			types = []string{"value"}
		}
		word := name + "=<" + strings.Join(types, "|") + ">"
		if slices.Contains(s.Required, name) {
			required = append(required, word)
		} else {
			optional = append(optional, "["+word+"]")
		}
	}
	slices.Sort(required)
	slices.Sort(optional)
	return strings.Join(append(append([]string{h.Name}, required...), optional...), " ")
}

func firstSentence(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if i := strings.Index(s, ". "); i >= 0 {
		s = s[:i+1]
	}
	return s
}

// readHits reads what a search tool answered. ok is false for an answer of a
// shape that it does not know.
func readHits(answer string) (hits []hit, ok bool) {
	var found struct {
		Tools   *[]hit `json:"tools"`
		Matches *[]hit `json:"matches"`
	}
	if json.Unmarshal([]byte(answer), &found) != nil {
		return nil, false
	}
	if found.Tools != nil {
		return *found.Tools, true
	}
	if found.Matches != nil {
		return *found.Matches, true
	}
	return nil, false
}
