package index

import (
	"slices"
	"strings"
)

// Matcher is a way to find tools.
type Matcher int

const (
	// Semantic ranks by words and, if the index has vectors, their meaning.
	Semantic Matcher = iota
	// Lexical ranks by words alone.
	Lexical
	// Substring finds the tools that hold any word of the query as a part of
	// "name description", whatever its case; ranked as Semantic.
	Substring
	// Keyword ranks the exact name before words of the name before words of
	// the description.
	Keyword
)

// SearchOptions of Search; nil is the zero value.
type SearchOptions struct {
	Matcher Matcher
	// Limit is the number of hits wanted; 0 means all.
	Limit int
	// Admit leaves out what the query did not ask for: a hit holds the rarest
	// word of the query that the index knows, or half of its known words if
	// these are four or more, or has the query as its name. For Semantic and
	// Lexical.
	Admit bool
	// Explain fills in the hits' explanations.
	Explain bool
}

// Hit is a tool that was found.
type Hit struct {
	Document    *Document // the index's own; not to be changed
	Score       float64   // comparable within one search
	Exact       int8      // 2: the query is its full name, 1: the last part of it
	Explanation *Explanation
}

// Search returns the tools for a query, best first, equals by name. A query
// without a word returns all tools by name. The answer depends on nothing but
// the query and the documents, in whatever order these came.
func (ix *Index) Search(text string, o *SearchOptions) []Hit {
	if o == nil {
		o = new(SearchOptions)
	}
	s := ix.scratch.Get().(*scratch)
	defer ix.scratch.Put(s)
	defer s.reset()
	s.grow(len(ix.tools))
	switch {
	case strings.TrimSpace(text) == "":
		s.all(ix)
	case o.Matcher == Keyword:
		s.keyword(ix, text)
	case o.Matcher == Substring:
		s.substring(ix, text)
	default:
		s.ranking(ix, text, o)
	}
	slices.SortFunc(s.ranked, compareRanked)
	return s.hits(ix, o)
}

// all takes every tool, unranked.
func (s *scratch) all(ix *Index) {
	for i, t := range ix.tools {
		if t != nil {
			s.ranked = append(s.ranked, ranked{tool: t, at: uint32(i)})
		}
	}
}

// ranking takes the tools that the query's words lead to.
func (s *scratch) ranking(ix *Index, text string, o *SearchOptions) {
	semantic := o.Matcher != Lexical && ix.lex.model != nil
	admits := s.gather(ix, text, semantic, o.Admit)
	keep := o.Limit
	if keep > 0 && semantic {
		keep = max(keep, rerankTop)
	}
	heap := rankHeap(s.ranked)
	for _, at := range s.touched {
		t, a := ix.tools[at], &s.sums[at]
		if t == nil {
			continue
		}
		exact := s.query.exactness(t)
		if exact == 0 && heap.full(keep) && a.score < heap[0].score {
			continue
		}
		if exact > 0 || !o.Admit || admits.admits(a.units) {
			heap.offer(ranked{tool: t, at: at, score: a.score, exact: exact}, keep)
		}
	}
	s.ranked = heap
	if semantic {
		s.rerank(ix)
	}
}

// gather fills the sums of all tools that the query touches.
func (s *scratch) gather(ix *Index, text string, semantic, admit bool) (a admission) {
	s.query.parse(ix, text)
	if admit {
		a = s.query.group(ix)
	}
	s.score()
	if semantic {
		s.widen(ix)
	}
	s.named(ix)
	return a
}

// named touches the tools that the whole query names.
func (s *scratch) named(ix *Index) {
	en := ix.entry(ix.lex.name(s.query.name))
	if en == nil || en.live == 0 {
		s.query.name = ""
		return
	}
	for _, p := range en.post {
		if a := &s.sums[p.at]; a.score == 0 {
			a.score = tiny
			s.touched = append(s.touched, p.at)
		}
	}
}

// exactness tells whether a query is the tool's name, or its last part.
func (q *query) exactness(t *tool) int8 {
	switch {
	case q.name == "":
		return 0
	case q.name == t.name:
		return 2
	case strings.HasSuffix(t.name, q.name) && q.name == lastPart(t.name):
		return 1
	}
	return 0
}

// hits cuts the ranked tools to the limit.
func (s *scratch) hits(ix *Index, o *SearchOptions) []Hit {
	n := len(s.ranked)
	if o.Limit > 0 {
		n = min(n, o.Limit)
	}
	hits := make([]Hit, n)
	for i := range hits {
		r := &s.ranked[i]
		hits[i] = Hit{Document: &r.tool.doc, Score: float64(r.score), Exact: r.exact}
		if o.Explain {
			hits[i].Explanation = s.explain(ix, r)
		}
	}
	return hits
}
