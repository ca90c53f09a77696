package toolsearch

import (
	"context"
	"slices"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/llm"
	"github.com/agentd-host/agentd/plugins/toolsearch/index"
)

// Search is the plugin's search for other plugins and the command line. It
// may be used from any goroutine while the plugin is active.
type Search struct{ l *layer }

// Found is one tool that Find found.
type Found struct {
	Name        string             `json:"name"`
	Description string             `json:"description,omitempty"`
	Group       string             `json:"group,omitempty"`
	Score       float64            `json:"score"`
	Explanation *index.Explanation `json:"explanation,omitempty"`
}

// Query is what [Search.Find] searches for.
type Query struct {
	Text    string
	Limit   int  // how many at most; 0 = all
	Explain bool // take the scores apart
}

// Find searches the tools that a viewer can see now, by the index that models
// search, and touches no session.
func (s *Search) Find(ctx context.Context, v core.Viewer, q Query) ([]Found, error) {
	sp, err := s.split(ctx, v, llm.Info{})
	if err != nil {
		return nil, err
	}
	r := sp.ranked(q.Text, index.SearchOptions{Limit: q.Limit, Admit: true, Explain: q.Explain})
	found := make([]Found, 0, len(r.hits))
	for _, h := range r.hits {
		found = append(found, Found{
			Name: h.Document.Name, Description: h.Document.Description,
			Group: sp.groups.label(h.Document.Name), Score: h.Score, Explanation: h.Explanation,
		})
	}
	return found, nil
}

// split is that of a viewer outside of any step.
func (s *Search) split(ctx context.Context, v core.Viewer, m llm.Info) (*split, error) {
	v.Session = ""
	view, err := s.l.view(ctx, core.Call{Viewer: v})
	if err != nil {
		return nil, err
	}
	return s.l.split(view.split.cat, view.split.s, m.MaxTools), nil
}

// Stats says what tools cost in tokens, by estimate, and how searches went.
type Stats struct {
	Tools       int            `json:"tools"`
	TokensAll   int            `json:"tokensAll"`   // all definitions
	Shown       int            `json:"shown"`       // tools in a first request
	TokensShown int            `json:"tokensShown"` // their definitions and the listing
	Groups      []GroupCount   `json:"groups"`
	Searches    int            `json:"searches"`
	Failed      []FailedSearch `json:"failed,omitempty"` // the most frequent first
}

// Stats measures what a viewer's model is shown in a session's first request.
func (s *Search) Stats(ctx context.Context, v core.Viewer, m llm.Info) (Stats, error) {
	v.Session = ""
	registry := s.l.c.Tools()
	start := core.Surface{Viewer: v, Model: m, Tools: slices.Clone(registry.List(v)), DryRun: true}
	out, err := core.ToolSurface.Run(ctx, start, unchanged)
	if err != nil {
		return Stats{}, err
	}
	sp, err := s.split(ctx, v, m)
	if err != nil {
		return Stats{}, err
	}
	var st Stats
	st.Tools, st.Shown = len(sp.found), len(out.Tools)
	for _, t := range sp.found {
		st.TokensAll += toolTokens(t)
	}
	for i := range out.Tools {
		st.TokensShown += toolTokens(&out.Tools[i])
	}
	st.TokensShown += llm.EstimateTokens(llm.PartsText(out.Context))
	st.Groups = sp.groups.counts
	st.Searches, st.Failed = s.l.log.list()
	return st, nil
}
