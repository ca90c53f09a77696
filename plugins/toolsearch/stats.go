package toolsearch

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/internal/redact"
)

// searchLog remembers searches that led nowhere, to tune groups and words by.
// What it learnt goes into a file of the state folder when a turn ends.
type searchLog struct {
	c    *core.Context
	path string // of the file, "" = none

	mu     sync.Mutex          // guards the fields below
	fresh  searchRecord        // not in the file yet
	broken bool                // the file can't be used; said once
	open   map[string][]string // session -> queries since its last call
}

// FailedSearch is a query that found nothing, or was followed by no call.
type FailedSearch struct {
	Query   string `json:"query"`
	Nothing int    `json:"nothing"` // how often nothing was found
	NoCall  int    `json:"noCall"`  // how often no call followed
}

const (
	sessionsOpen = 500
	queriesOpen  = 50  // of one session
	queryLogged  = 200 // bytes of a query that are kept
)

// asked counts a search.
func (g *searchLog) asked(call core.Call, query string, found bool) {
	query = g.logged(query)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.fresh.Searches++
	session := call.Viewer.Session
	switch {
	case !found:
		g.fresh.add(FailedSearch{Query: query, Nothing: 1})
		if call.Turn == "" {
			g.save() // no turn's end will
		}
	case session == "" || len(g.open[session]) >= queriesOpen:
	case len(g.open) < sessionsOpen || g.open[session] != nil:
		if g.open == nil {
			g.open = make(map[string][]string)
		}
		g.open[session] = append(g.open[session], query)
	}
}

// logged is the beginning of a query, without secrets.
func (g *searchLog) logged(query string) string {
	var secrets []string
	if keeper, ok := core.Secrets.Get(g.c); ok {
		secrets = keeper.Secrets()
	}
	query = redact.New(secrets).Text(query)
	return strings.ToValidUTF8(query[:min(len(query), queryLogged)], "")
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

// ended closes the searches of a session's last turn, no call followed them,
// and has them written.
func (g *searchLog) ended(session string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, query := range g.open[session] {
		g.fresh.add(FailedSearch{Query: query, NoCall: 1})
	}
	delete(g.open, session)
	g.save()
}

// list gives the failed searches, the most frequent first.
func (g *searchLog) list() (searches int, failed []FailedSearch) {
	g.mu.Lock()
	defer g.mu.Unlock()
	r := g.load()
	r.merge(&g.fresh)
	slices.SortFunc(r.Failed, func(a, b FailedSearch) int {
		return cmp.Or(cmp.Compare(b.Nothing+b.NoCall, a.Nothing+a.NoCall), cmp.Compare(a.Query, b.Query))
	})
	return r.Searches, r.Failed
}

// turnEnded closes a turn's searches, and its session may leave.
func (l *layer) turnEnded(_ context.Context, ev core.AgentEvent) error {
	if ev.Kind == core.AgentFinish {
		l.sessions.ended(ev.Session, ev.Turn)
		l.log.ended(ev.Session)
	}
	return nil
}
