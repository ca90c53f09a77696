package toolsearch

import (
	"context"

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

// rank asks the matchers, the best first, and returns all hits; the first
// want of them should be in the best order there is. It never fails: what a
// matcher can't do the next one does.
func (l *layer) rank(ctx context.Context, sp *split, query string, want int) ranking {
	return sp.local(query)
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
