package index

import (
	"math"
	"math/bits"
	"unicode/utf8"
)

// unit is what has to be met in a query as one: a word, or a Chinese word with
// all its translations.
type unit struct {
	live int32 // tools that hold it, by its most frequent term
}

const (
	noUnit    = 255
	mostUnits = 64 // the bits of a sum; what a query says after that adds nothing
	manyUnits = 4  // from so many on half of them will do
)

// admission decides which tools a query found at all, apart from their rank.
type admission struct {
	rarest uint64 // bits of the rarest units
	units  int
}

// admits tells whether a tool that holds these units was found: it holds the
// rarest that the catalogue knows, or half of many.
func (a admission) admits(held uint64) bool {
	if held&a.rarest != 0 {
		return true
	}
	return a.units >= manyUnits && 2*bits.OnesCount64(held) >= a.units
}

// group puts the terms into units. Pairs of English words are in none, nor
// are pairs of characters across the border of a translated word.
func (q *query) group(ix *Index) admission {
	if len(q.matches) == 0 {
		q.groupWords(ix, q.strings)
		return q.admission()
	}
	end := 0
	for _, m := range q.matches {
		q.groupText(ix, end, m.from)
		if m.compound(q.text) {
			q.groupMatch(ix, m)
		}
		end = m.to
	}
	q.groupText(ix, end, len(q.text))
	if len(q.units) == 0 {
		for _, m := range q.matches {
			q.groupMatch(ix, m)
		}
	}
	return q.admission()
}

// groupText makes a unit of each word in a part of the query.
func (q *query) groupText(ix *Index, from, to int) {
	q.strings = splitLowered(q.strings[:0], q.text[from:to], q.low[from:to])
	q.groupWords(ix, q.strings)
}

func (q *query) groupWords(ix *Index, words []string) {
	for _, s := range words {
		q.join(ix.lex.lookup(s).term, len(q.units))
	}
}

// groupMatch makes one unit of a Chinese word and its translations.
func (q *query) groupMatch(ix *Index, m match) {
	at := len(q.units)
	q.strings = splitLowered(q.strings[:0], q.text[m.from:m.to], q.low[m.from:m.to])
	for _, s := range q.strings {
		q.join(ix.lex.lookup(s).term, at)
	}
	for _, alternative := range m.translations {
		for _, s := range alternative.words {
			q.join(ix.lex.lookup(s).term, at)
		}
	}
}

// compound tells matches of more than one character. A single one is a weak
// word: it counts only where nothing else does.
func (m match) compound(text string) bool {
	return utf8.RuneCountInString(text[m.from:m.to]) > 1
}

// admission says which units are the rarest.
func (q *query) admission() admission {
	a := admission{units: len(q.units)}
	least := int32(math.MaxInt32)
	for i, u := range q.units {
		if u.live < least {
			least, a.rarest = u.live, 0
		}
		if u.live == least {
			a.rarest |= 1 << i
		}
	}
	return a
}

// join puts a term into a unit, a new one if it is the next.
func (q *query) join(t term, at int) {
	known := q.find(t)
	if known == nil || known.unit != noUnit || at >= mostUnits {
		return
	}
	if at == len(q.units) {
		q.units = append(q.units, unit{})
	}
	known.unit = uint8(at)
	q.units[at].live = max(q.units[at].live, known.live)
}
