package toolsearch

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/plugins/toolsearch/index"
)

// mostReranked is how many tools are sent to a rerank service; of larger
// catalogues the best by words first.
const mostReranked = 300

// rerankRequest is what Cohere, Jina, vLLM and their like take.
type rerankRequest struct {
	Model     string   `json:"model,omitempty"`
	Query     string   `json:"query"`
	Documents []string `json:"documents"`
	TopN      int      `json:"top_n,omitempty"`
}

// rerankAnswer takes both forms in which services answer: results with
// relevance_score, and data with score.
type rerankAnswer struct {
	Results, Data []rerankResult
}

type rerankResult struct {
	Index     *int
	Relevance *float64 `json:"relevance_score"`
	Score     *float64
}

// UnmarshalJSON also takes the bare list that some services answer.
func (a *rerankAnswer) UnmarshalJSON(data []byte) error {
	if json.Unmarshal(data, &a.Data) == nil {
		return nil
	}
	type plain rerankAnswer
	a.Data = nil
	return json.Unmarshal(data, (*plain)(a))
}

var errNoRanking = errors.New("its answer holds no ranking")

// scores checks an answer about n documents: each result must name one of
// them, once, with a score.
func (a *rerankAnswer) scores(n int) (map[int]float64, error) {
	scores := make(map[int]float64)
	for _, r := range append(a.Results, a.Data...) {
		score := cmp.Or(r.Relevance, r.Score)
		if r.Index == nil || score == nil || *r.Index < 0 || *r.Index >= n {
			return nil, errNoRanking
		}
		if _, twice := scores[*r.Index]; twice {
			return nil, errNoRanking
		}
		scores[*r.Index] = *score
	}
	if len(scores) == 0 {
		return nil, errNoRanking
	}
	return scores, nil
}

// rerank ranks by the service and fills up with what the words find.
func (l *layer) rerank(ctx context.Context, sp *split, query string, want int) (ranking, error) {
	m := sp.s.matcher
	ctx, cancel := context.WithTimeout(ctx, m.Timeout)
	defer cancel()
	tools := sp.candidates(query, mostReranked)
	req := rerankRequest{Model: m.Model, Query: query, TopN: cmp.Or(m.TopN, min(want, len(tools)))}
	for i := range tools {
		req.Documents = append(req.Documents, document(tools[i]))
	}
	var answer rerankAnswer
	if err := (remote{l.client, m.Endpoint, m.APIKey}).post(ctx, &req, &answer); err != nil {
		return ranking{}, err
	}
	scores, err := answer.scores(len(tools))
	if err != nil {
		return ranking{}, err
	}
	r := ranking{mode: modeRerank}
	for i, score := range scores {
		r.hits = append(r.hits, index.Hit{Document: &index.Document{Name: tools[i].Name}, Score: score})
	}
	slices.SortFunc(r.hits, compareHits)
	r.fill(sp.local(query).hits)
	return r, nil
}

func compareHits(a, b index.Hit) int {
	return cmp.Or(cmp.Compare(b.Exact, a.Exact), cmp.Compare(b.Score, a.Score),
		cmp.Compare(a.Document.Name, b.Document.Name))
}

// fill appends hits of the next matcher that are not there yet.
func (r *ranking) fill(more []index.Hit) {
	have := make(map[string]bool, len(r.hits))
	for _, h := range r.hits {
		have[h.Document.Name] = true
	}
	for _, h := range more {
		if !have[h.Document.Name] {
			r.hits = append(r.hits, h)
		}
	}
}

// candidates are the tools to send away: all, or of many the best by words,
// filled up with others by name.
func (sp *split) candidates(query string, most int) toolList {
	if len(sp.found) <= most {
		return sp.found
	}
	tools := make(toolList, 0, most)
	taken := make(map[string]bool, most)
	for _, h := range sp.index().Search(query, &index.SearchOptions{Limit: most}) {
		if t, ok := sp.found.find(h.Document.Name); ok {
			tools = append(tools, t)
			taken[t.Name] = true
		}
	}
	for _, t := range sp.found {
		if len(tools) == most {
			break
		}
		if !taken[t.Name] {
			tools = append(tools, t)
		}
	}
	return tools
}

// documentBytes bounds what is sent of a description.
const documentBytes = 1500

// document is a tool as text.
func document(t *core.Tool) string {
	return t.Name + ": " + t.Description[:min(len(t.Description), documentBytes)]
}
