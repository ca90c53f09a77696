package toolsearch

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/agentd-host/agentd/core"
)

// searchLog remembers searches that led nowhere, to tune groups and words by.
type searchLog struct {
	mu       sync.Mutex // guards the fields below
	searches int
	failed   map[string]*FailedSearch
	open     map[string][]string // session -> queries since its last call
}

// FailedSearch is a query that found nothing, or was followed by no call.
type FailedSearch struct {
	Query   string `json:"query"`
	Nothing int    `json:"nothing"` // how often nothing was found
	NoCall  int    `json:"noCall"`  // how often no call followed
}

const (
	failedKept  = 500
	queryLogged = 200 // bytes of a query that are kept
)

// asked counts a search.
func (g *searchLog) asked(session, query string, found bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.searches++
	query = query[:min(len(query), queryLogged)]
	if !found {
		if f := g.entry(query); f != nil {
			f.Nothing++
		}
		return
	}
	if session != "" {
		if g.open == nil {
			g.open = make(map[string][]string)
		}
		if len(g.open) < failedKept || g.open[session] != nil {
			g.open[session] = append(g.open[session], query)
		}
	}
}

// outcome notes what a finished call says about the searches before it: a
// call of a found tool is what they were for. The session's mu is held.
func (g *searchLog) outcome(ses *session, o core.ToolOutcome) {
	switch {
	case !o.Entered || isBridge(o.Call.Name) && !isSearch(o.Call.Name):
	case isSearch(o.Call.Name):
		ses.streak++
	default:
		ses.streak = 0
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.open, ses.id)
	}
}

// ended closes the searches of a session's last turn: no call followed them.
func (g *searchLog) ended(session string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, query := range g.open[session] {
		if f := g.entry(query); f != nil {
			f.NoCall++
		}
	}
	delete(g.open, session)
}

// entry is the record of a query, nil if there are too many.
func (g *searchLog) entry(query string) *FailedSearch {
	f := g.failed[query]
	if f == nil {
		if len(g.failed) >= failedKept {
			return nil
		}
		if g.failed == nil {
			g.failed = make(map[string]*FailedSearch)
		}
		f = &FailedSearch{Query: query}
		g.failed[query] = f
	}
	return f
}

// list gives the failed searches, the most frequent first.
func (g *searchLog) list() (searches int, failed []FailedSearch) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, f := range g.failed {
		failed = append(failed, *f)
	}
	slices.SortFunc(failed, func(a, b FailedSearch) int {
		return cmp.Or(cmp.Compare(b.Nothing+b.NoCall, a.Nothing+a.NoCall), cmp.Compare(a.Query, b.Query))
	})
	return g.searches, failed
}

// turnEnded closes the searches of a turn.
func (l *layer) turnEnded(_ context.Context, ev core.AgentEvent) error {
	if ev.Kind == core.AgentFinish {
		l.log.ended(ev.Session)
	}
	return nil
}
