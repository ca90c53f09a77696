package toolsearch

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/agentd-host/agentd/core"
)

const mostRelated = 20

// pagination says which part of all matches an answer is.
type pagination struct {
	Total      int  `json:"total"`
	Offset     int  `json:"offset"`
	Returned   int  `json:"returned"`
	NextOffset *int `json:"nextOffset,omitempty"`
}

// The answers, with their members in a fixed order.
type (
	unifiedAnswer struct {
		Query      string       `json:"query"`
		Mode       string       `json:"mode"`
		Found      string       `json:"found"`
		Total      int          `json:"total"`
		Tools      []unifiedRow `json:"tools"`
		Pagination *pagination  `json:"pagination,omitempty"`
		Related    []string     `json:"related,omitempty"`
		Available  []GroupCount `json:"available,omitempty"`
		Hint       string       `json:"hint,omitempty"`
	}
	unifiedRow struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Group       string          `json:"group,omitempty"`
		Parameters  json.RawMessage `json:"parameters,omitempty"`
		State       string          `json:"state"`
	}
	aalisAnswer struct {
		Found      string      `json:"found"`
		Pagination *pagination `json:"pagination,omitempty"`
		Tools      []aalisRow  `json:"tools"`
		Related    string      `json:"related,omitempty"`
		Hint       string      `json:"hint,omitempty"`
	}
	aalisRow struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters,omitempty"`
	}
	dshAnswer struct {
		Matches []dshRow `json:"matches"`
		Mode    string   `json:"mode"`
		Hint    string   `json:"hint,omitempty"`
	}
	dshRow struct {
		Name        string  `json:"name"`
		Description string  `json:"description"`
		Group       string  `json:"group,omitempty"`
		Score       float64 `json:"score"`
	}
)

// encode writes the answer as JSON of at most max bytes (0 = any): schemas are
// left out from the end, then rows, and it is said. It fails with ctx.
func (p *page) encode(ctx context.Context, max int) (json.RawMessage, error) {
	text := p.format(len(p.rows))
	if max <= 0 || len(text) <= max {
		return text, nil
	}
	rows, hints := p.rows, p.hints
	note := func(format string, args ...any) {
		p.hints = append(slices.Clone(hints), fmt.Sprintf("The answer was too long: "+format, args...))
	}
	fewerSchemas := func(n int) json.RawMessage {
		note("parameters are shown for %d of %d tools; %s.", n, len(rows), p.howToRead())
		return p.format(n)
	}
	fewerRows := func(n int) json.RawMessage {
		p.rows = rows[:n]
		note("%d of %d tools are shown, without parameters; ask with a smaller limit.", n, len(rows))
		return p.format(0)
	}
	for _, write := range []func(int) json.RawMessage{fewerSchemas, fewerRows} {
		text := longest(len(rows), max, func(n int) json.RawMessage {
			if ctx.Err() != nil {
				return nil // nobody reads it
			}
			return write(n)
		})
		if text != nil || ctx.Err() != nil {
			return text, ctx.Err()
		}
	}
	return json.RawMessage(`{"tools":[],"hint":"no room"}`), nil
}

// longest writes as much as fits max bytes: n of something, n smaller than
// below. It returns nil where even 0 is too much.
func longest(below, max int, write func(n int) json.RawMessage) json.RawMessage {
	fits, tooMuch := -1, below
	for tooMuch-fits > 1 {
		if n := (fits + tooMuch) / 2; len(write(n)) <= max {
			fits = n
		} else {
			tooMuch = n
		}
	}
	if fits < 0 {
		return nil
	}
	return write(fits)
}

// howToRead says how to get a schema that was left out.
func (p *page) howToRead() string {
	if p.v.split.offers(describeName) {
		return "read the others with " + describeName
	}
	return "search for the others with a smaller limit"
}

// format writes the first n rows with their schemas and the others without.
func (p *page) format(n int) json.RawMessage {
	switch p.v.split.s.resultFormat {
	case formatAalis:
		return encode(p.aalis(n))
	case formatDSH:
		return encode(p.dsh())
	}
	return encode(p.unified(n))
}

func (p *page) unified(n int) unifiedAnswer {
	sp := p.v.split
	a := unifiedAnswer{
		Query: strings.Join(p.queries, "; "), Mode: p.mode, Found: p.found(), Total: len(sp.found),
		Tools: []unifiedRow{}, Pagination: p.pagination(), Related: p.related(),
		Hint: strings.Join(p.hints, " "),
	}
	for i, r := range p.rows {
		out := unifiedRow{
			Name: r.tool.Name, Description: r.tool.Description,
			Group: sp.groups.label(r.tool.Name), State: p.v.state(r.tool.Name),
		}
		if i < n {
			out.Parameters = r.tool.Parameters
		}
		a.Tools = append(a.Tools, out)
	}
	if p.matched == 0 {
		a.Available = sp.groups.counts
	}
	return a
}

func (p *page) aalis(n int) aalisAnswer {
	a := aalisAnswer{
		Found: p.found(), Pagination: p.pagination(), Tools: []aalisRow{},
		Hint: strings.Join(p.hints, " "),
	}
	for i, r := range p.rows {
		out := aalisRow{Name: r.tool.Name, Description: r.tool.Description}
		if i < n {
			out.Parameters = r.tool.Parameters
		}
		a.Tools = append(a.Tools, out)
	}
	if related := p.related(); len(related) > 0 {
		a.Related = "Other tools of the same groups: " + strings.Join(related, ", ") + "."
	}
	return a
}

func (p *page) dsh() dshAnswer {
	sp := p.v.split
	a := dshAnswer{Matches: []dshRow{}, Mode: modeKeyword, Hint: strings.Join(p.hints, " ")}
	if p.mode == modeRerank {
		a.Mode = modeRerank
	}
	if sp.s.matcher == nil {
		setup := "No rerank matcher is set up; the skill " + sp.s.skillName() + " tells how."
		a.Hint = strings.TrimSpace(a.Hint + " " + setup)
	}
	for _, r := range p.rows {
		a.Matches = append(a.Matches, dshRow{
			Name: r.tool.Name, Description: r.tool.Description, Group: sp.groups.label(r.tool.Name), Score: r.score,
		})
	}
	return a
}

// found is how many tools an answer has, of all that can be searched.
func (p *page) found() string {
	return fmt.Sprintf("%d/%d", len(p.rows), len(p.v.split.found))
}

// pagination is nil when the answer holds all matches.
func (p *page) pagination() *pagination {
	if p.matched <= len(p.rows) {
		return nil
	}
	g := &pagination{Total: p.matched, Offset: p.offset, Returned: len(p.rows)}
	if next := p.offset + len(p.rows); len(p.rows) > 0 && next < p.matched {
		g.NextOffset = &next
	}
	return g
}

// related names other tools of the groups in the answer.
func (p *page) related() []string {
	g := p.v.split.groups
	var names []string
	var seen []int
	shown := make(map[string]bool, len(p.rows))
	for _, r := range p.rows {
		shown[r.tool.Name] = true
	}
	for _, r := range p.rows {
		group := g.place(r.tool.Name)
		if group < 0 || g.names[group] == ungrouped || slices.Contains(seen, group) {
			continue
		}
		seen = append(seen, group)
		for _, name := range g.members(group) {
			if len(names) == mostRelated {
				return names
			}
			if !shown[name] {
				names = append(names, name)
			}
		}
	}
	return names
}

// encode writes JSON without escaping HTML: descriptions are text for models.
func encode(v any) json.RawMessage {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return encode(map[string]string{"hint": "the answer has no JSON form: " + err.Error()})
	}
	return json.RawMessage(strings.TrimSuffix(b.String(), "\n"))
}

// nearNames are names that can be found and are like one that is not there;
// the last part of an MCP name counts as a name.
func (sp *split) nearNames(name string, n int) []string {
	var near []string
	for _, t := range sp.found {
		if t.Source.Kind == core.FromMCP && strings.HasSuffix(t.Name, "__"+name) {
			near = append(near, t.Name)
		}
	}
	for _, other := range nearest(name, sp.found.names(), n) {
		if !slices.Contains(near, other) {
			near = append(near, other)
		}
	}
	return near[:min(n, len(near))]
}
