package toolsearch

import (
	"context"
	"fmt"
	"strings"

	"github.com/agentd-host/agentd/plugins/toolsearch/index"
)

// The modes that an answer names: which matcher ranked it.
const (
	modeRerank    = "rerank"
	modeHybrid    = "hybrid"
	modeLexical   = "lexical"
	modeKeyword   = "keyword"
	modeSubstring = "substring"
)

// ranking is what the matchers made of a query.
type ranking struct {
	hits []index.Hit
	mode string
	note string // why a better matcher did not answer
}

// rankingsKept is how many answers of services are kept for a catalogue.
const rankingsKept = 64

// rank asks the matchers, the best first, and returns all hits; the first
// want of them should be in the best order there is. It never fails: what a
// matcher can't do the next one does.
func (l *layer) rank(ctx context.Context, sp *split, query string, want int) ranking {
	s := sp.s
	if query == "" || len(sp.found) == 0 || s.matcher == nil && s.embeddings == nil {
		return sp.local(query)
	}
	key := rankingKey{query, want}
	if r, ok := sp.remembered(key); ok {
		return r
	}
	var notes []string
	if s.matcher != nil {
		r, err := l.rerank(ctx, sp, query, want)
		if err == nil {
			sp.remember(key, r)
			return r
		}
		notes = append(notes, l.failed("matcher", err))
	}
	if s.embeddings != nil {
		r, err := l.hybrid(ctx, sp, query)
		if err == nil {
			r.note = strings.Join(notes, " ")
			if r.note == "" {
				sp.remember(key, r)
			}
			return r
		}
		notes = append(notes, l.failed("embeddings service", err))
	}
	r := sp.local(query)
	r.note = strings.Join(notes, " ")
	return r
}

// failed says that a service did not answer, to the log and to the model.
func (l *layer) failed(what string, err error) string {
	l.c.Logger().Warn("a service that ranks tools failed", "service", what, "err", err)
	return fmt.Sprintf("The %s failed (%v), so the next way of ranking was used.", what, err)
}

type rankingKey struct {
	query string
	want  int
}

func (sp *split) remembered(k rankingKey) (ranking, bool) {
	sp.mu.Lock()
	defer sp.mu.Unlock()
	r, ok := sp.rankings[k]
	return r, ok
}

func (sp *split) remember(k rankingKey, r ranking) {
	sp.mu.Lock()
	defer sp.mu.Unlock()
	if sp.rankings == nil || len(sp.rankings) >= rankingsKept {
		sp.rankings = make(map[rankingKey]ranking)
	}
	sp.rankings[k] = r
}

// local ranks by the index alone.
func (sp *split) local(query string) ranking {
	return sp.ranked(query, index.SearchOptions{Admit: true})
}

// ranked searches the index in the way that the settings want.
func (sp *split) ranked(query string, o index.SearchOptions) ranking {
	r := ranking{mode: modeLexical}
	switch sp.s.match {
	case matchSubstring:
		o.Matcher, r.mode = index.Substring, modeSubstring
	case matchKeyword:
		o.Matcher, r.mode = index.Keyword, modeKeyword
	default:
		if !sp.s.semantic {
			o.Matcher = index.Lexical
		}
	}
	r.hits = sp.index().Search(query, &o)
	return r
}
