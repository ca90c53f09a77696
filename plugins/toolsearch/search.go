package toolsearch

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/agentd-host/agentd/core"
)

// searchParameters takes what models write; shownSearchParameters is what
// they are told to write.
var (
	searchParameters = json.RawMessage(`{"type":"object","properties":{` +
		`"query":{"type":"string"},"queries":{"type":"array","items":{"type":"string"},"maxItems":7},` +
		`"limit":{},"offset":{}}}`)
	shownSearchParameters = json.RawMessage(`{"type":"object","properties":{` +
		`"query":{"type":"string",` +
		`"description":"What the tool should do, in a few words. Empty lists all tools."},` +
		`"queries":{"type":"array","items":{"type":"string"},"maxItems":7,` +
		`"description":"Several queries at once, instead of query."},` +
		`"limit":{"type":"integer","description":"How many tools to return."},` +
		`"offset":{"type":"integer","description":"How many tools to skip, to page."}}}`)
)

const (
	searchDescription   = "Search for tools by what they do. Returns matching tools with their parameters."
	callableNextStep    = "Found tools can be called from the next step on."
	callableByTheBridge = "Found tools are called through " + callName + "."
)

// searchArgs are the arguments of the search tool.
type searchArgs struct {
	Query   string          `json:"query"`
	Queries []string        `json:"queries"`
	Limit   json.RawMessage `json:"limit"`
	Offset  json.RawMessage `json:"offset"`
}

// all lists the queries; one empty query if there is none.
func (a *searchArgs) all() []string {
	queries := make([]string, 0, len(a.Queries)+1)
	for _, q := range append([]string{a.Query}, a.Queries...) {
		if q = strings.TrimSpace(q); q != "" && !slices.Contains(queries, q) {
			queries = append(queries, q)
		}
	}
	if len(queries) == 0 {
		return []string{""}
	}
	return queries
}

// number reads a count as models write it: a number, or a string of one,
// rounded down. Senseless is 0.
func number(raw json.RawMessage) int {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return 0
	}
	x, ok := v.(float64)
	if text, isText := v.(string); isText {
		var err error
		x, err = strconv.ParseFloat(strings.TrimSpace(text), 64)
		ok = err == nil
	}
	if !ok || math.IsNaN(x) || x < 1 {
		return 0
	}
	return int(math.Floor(min(x, math.MaxInt32)))
}

// limit is the page size for what was asked.
func (s *settings) limit(raw json.RawMessage) int {
	n := number(raw)
	if n == 0 {
		return s.maxResults
	}
	if s.maxLimit > 0 {
		n = min(n, s.maxLimit)
	}
	return n
}

// runSearch is the search tool.
func (l *layer) runSearch(ctx context.Context, inv *core.Invocation) (core.Result, error) {
	if l.runtime.settings().enabled == EnabledOff {
		const off = "tool search is off: all tools are shown, call them by name"
		return core.ErrorResult(core.CodeFailed, inv.Name, off), nil
	}
	var args searchArgs
	if err := json.Unmarshal(inv.Args, &args); err != nil {
		return core.Result{}, err
	}
	v, err := l.view(ctx, inv.Call)
	if err != nil {
		return core.Result{}, err
	}
	if text, refused := v.streakRefusal(); refused {
		return core.ErrorResult(core.CodeDenied, inv.Name, text), nil
	}
	p := l.page(ctx, v, &args)
	l.log.asked(inv.Call, strings.Join(p.queries, "; "), p.matched > 0)
	p.hint(v.streakHint())
	answer, err := p.encode(ctx, inv.MaxResult)
	if err != nil {
		return core.Result{}, err
	}
	return v.reveal(answer, p.names()), nil
}

// page is one answer of a search, before it has a format.
type page struct {
	v       *view
	queries []string
	mode    string
	rows    []row
	matched int // hits of all pages
	offset  int
	hints   []string
}

type row struct {
	tool  *core.Tool
	score float64
}

func (p *page) hint(text string) {
	if text != "" && !slices.Contains(p.hints, text) {
		p.hints = append(p.hints, text)
	}
}

// page runs the queries and cuts out what was asked for.
func (l *layer) page(ctx context.Context, v *view, args *searchArgs) *page {
	limit, offset := v.split.s.limit(args.Limit), number(args.Offset)
	p := &page{v: v, queries: args.all(), offset: offset}
	rows := l.hits(ctx, p, offset+limit)
	p.matched = len(rows)
	rows = rows[min(offset, len(rows)):]
	if limit > 0 {
		rows = rows[:min(limit, len(rows))]
	}
	p.rows = rows
	p.advise()
	return p
}

// hits merges the hits of all queries, turn by turn, so that each query has
// its best first. want is how far the order matters.
func (l *layer) hits(ctx context.Context, p *page, want int) []row {
	lists := make([][]row, len(p.queries))
	longest := 0
	for i, q := range p.queries {
		r := l.rank(ctx, p.v.split, q, want)
		p.mode = r.mode
		p.hint(r.note)
		for _, h := range r.hits {
			if t, ok := p.v.split.found.find(h.Document.Name); ok {
				lists[i] = append(lists[i], row{t, h.Score})
			}
		}
		longest = max(longest, len(lists[i]))
	}
	if len(lists) == 1 {
		return lists[0]
	}
	var merged []row
	seen := make(map[string]bool)
	for rank := range longest {
		for _, list := range lists {
			if rank < len(list) && !seen[list[rank].tool.Name] {
				seen[list[rank].tool.Name] = true
				merged = append(merged, list[rank])
			}
		}
	}
	return merged
}

// advise adds what the model should do now.
func (p *page) advise() {
	deferred, visible := 0, 0
	for _, r := range p.rows {
		if p.v.state(r.tool.Name) == "visible" {
			visible++
		} else {
			deferred++
		}
	}
	switch {
	case len(p.rows) == 0 && p.matched > 0:
		p.hint(fmt.Sprintf("There are only %d matches: use a smaller offset.", p.matched))
	case len(p.rows) == 0:
		p.hint("Nothing fits. Try other words, fewer words, or an empty query to list all tools.")
	case deferred == 0:
		p.hint("These tools are in your list already: call them directly.")
	case p.v.split.bridged:
		p.hint("Call a tool through " + callName + " with its name and arguments.")
	case visible > 0:
		p.hint("Tools with state visible are in your list already: call them directly.")
	}
}
