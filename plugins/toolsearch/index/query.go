package index

import (
	"math"
	"slices"
)

// query is a parsed query. It lives in a scratch and is parsed into again.
type query struct {
	text    string // normalized
	low     string // text with A to Z lowered
	name    string // folded; empty if it is none
	strings []string
	words   []word // without stop words
	terms   []queryTerm
	sources []source
	units   []unit
	matches []match

	spoken int // words and CJK pairs, without words of asking
	known  int // of them and their translations, those with a vector
}

// queryTerm is a term of a query that the index holds.
type queryTerm struct {
	*entry
	term   term
	weight float32 // grows with repetition; a translation's share
	idf    float32
	unit   uint8 // the unit it belongs to; noUnit: none
}

// source is a word whose neighbours widen the query.
type source struct {
	vector int32
	weight float32 // how much the word tells
	entry  *entry  // its own postings, nil if the index has none
	own    float32 // what the word itself counts in them
}

// match is a place where the glossary knew a word.
type match struct {
	from, to     int
	translations []translation
}

const (
	pairShare   = 0.4 // of a pair's rarity
	mostSources = 12
)

// parse reads a query against an index.
func (q *query) parse(ix *Index, text string) {
	q.text = normalize(text)
	q.low = lowerASCII(q.text)
	q.name = q.folded()
	q.strings = splitLowered(q.strings[:0], q.text, q.low)
	q.words, q.terms, q.sources = q.words[:0], q.terms[:0], q.sources[:0]
	q.units, q.matches = q.units[:0], q.matches[:0]
	q.spoken, q.known = 0, 0
	foreign := asciiPrefix(q.text) < len(q.text)
	if foreign {
		ix.glossary.each(q.low, func(from, to int, t []translation) {
			q.matches = append(q.matches, match{from, to, t})
		})
	}
	q.read(ix)
	q.pair(ix)
	if foreign {
		q.translate(ix)
	}
	slices.SortStableFunc(q.sources, func(a, b source) int {
		return descending(a.weight, b.weight)
	})
	q.sources = q.sources[:min(len(q.sources), mostSources)]
}

const longestName = 256 // bytes; what is longer names no tool

// folded is the query as a name.
func (q *query) folded() string {
	if len(q.text) > longestName {
		return ""
	}
	return foldName(q.low)
}

// read takes the words as they were said.
func (q *query) read(ix *Index) {
	askingAlone := true
	for _, s := range q.strings {
		w := ix.lex.lookup(s)
		if w.stop {
			continue
		}
		q.words = append(q.words, w)
		askingAlone = askingAlone && w.asking
	}
	for _, w := range q.words {
		if w.asking && !askingAlone {
			continue
		}
		q.spoken++
		if t := q.say(ix, w, 1); t != nil {
			t.weight++
		}
	}
	for i := range q.terms {
		t := &q.terms[i]
		if t.weight > 1 {
			t.weight = 1 + float32(math.Log(float64(t.weight)))
		}
	}
}

// say adds a word to the terms, and returns its term if it was there before.
func (q *query) say(ix *Index, w word, share float32) *queryTerm {
	var entry *entry
	known := q.find(w.term)
	if known == nil {
		entry = q.add(ix, w.term, share, 1)
	} else {
		entry = known.entry
	}
	if w.vector >= 0 {
		q.known++
		q.widen(ix, w, entry, share)
	}
	return known
}

func (q *query) find(t term) *queryTerm {
	if t == noTerm {
		return nil
	}
	for i := range q.terms {
		if q.terms[i].term == t {
			return &q.terms[i]
		}
	}
	return nil
}

// add adds a term and returns its postings, nil if the index holds none.
func (q *query) add(ix *Index, t term, weight, rarity float32) *entry {
	en := ix.entry(t)
	if en == nil || en.live == 0 {
		return nil
	}
	q.terms = append(q.terms, queryTerm{
		entry: en, term: t, weight: weight, idf: rarity * ix.idf(en), unit: noUnit,
	})
	return en
}

// idf is how much a term tells: the rarer, the more.
func (ix *Index) idf(en *entry) float32 {
	n := float64(en.live)
	return float32(math.Log1p((float64(ix.live) - n + 0.5) / (n + 0.5)))
}

// widen notes a word whose neighbours may answer too.
func (q *query) widen(ix *Index, w word, en *entry, share float32) {
	for i := range q.sources {
		if q.sources[i].vector == w.vector {
			return
		}
	}
	s := source{vector: w.vector, weight: ix.lex.model.weight(w.vector), entry: en}
	if en != nil {
		s.own = share * ix.idf(en)
	}
	q.sources = append(q.sources, s)
}

// pair adds neighbouring words as terms of their own.
func (q *query) pair(ix *Index) {
	for i := 1; i < len(q.words); i++ {
		a, b := q.words[i-1].term, q.words[i].term
		if a == noTerm || b == noTerm {
			continue
		}
		if t := ix.lex.pair(a, b); q.find(t) == nil {
			q.add(ix, t, 1, pairShare)
		}
	}
}

// translate adds what the glossary says about its matches. A word that was
// said as well does not count again.
func (q *query) translate(ix *Index) {
	for _, m := range q.matches {
		for _, alternative := range m.translations {
			for _, s := range alternative.words {
				w := ix.lex.lookup(s)
				if w.stop {
					continue
				}
				if t := q.say(ix, w, alternative.share); t != nil {
					t.weight = max(t.weight, alternative.share)
				}
			}
		}
	}
}

func descending(a, b float32) int {
	switch {
	case a > b:
		return -1
	case a < b:
		return 1
	}
	return 0
}
