package index

import (
	"hash/maphash"
	"strings"
	"sync"
	"sync/atomic"
)

// term numbers what a posting list belongs to: a stem, a pair of neighbouring
// stems, or a name. Terms are numbered per lexicon.
type term uint32

const noTerm term = 1<<32 - 1

// word is what the lexicon knows about a word in a text.
type word struct {
	term   term  // noTerm: no tool has it
	vector int32 // -1: it has no vector
	stop   bool  // says nothing
	asking bool  // says nothing in a query
}

// lexicon gives terms to words. It only grows and is shared by an index and
// all that are made from it by Update; that a term exists says nothing about
// whether a given index holds it. Readers need no lock.
type lexicon struct {
	stop, asking map[string]bool
	model        *Words // nil: no vectors

	seed     maphash.Seed
	surfaces *dict[string, word] // words as they stand in a text
	stems    *dict[string, word]
	pairs    *dict[uint64, term]
	names    *dict[string, term]
	byVector []atomic.Uint32 // vector -> term plus one

	mu    sync.Mutex // held by writers
	count term       // terms given out; the writers'
}

func newLexicon(model *Words) *lexicon {
	seed := maphash.MakeSeed()
	l := &lexicon{
		stop:     wordSet(stopWords, strings.ToLower),
		asking:   wordSet(askingWords, stemString),
		model:    model,
		seed:     seed,
		surfaces: newDict[string, word](hashString(seed)),
		stems:    newDict[string, word](hashString(seed)),
		pairs:    newDict[uint64, term](hashUint64),
		names:    newDict[string, term](hashString(seed)),
	}
	if model != nil {
		l.byVector = make([]atomic.Uint32, model.Len())
	}
	return l
}

func stemString(w string) string {
	return string(appendStem(nil, w))
}

// appendStem appends the stem of a word; words that are not plain English
// are their own stems.
func appendStem(buf []byte, w string) []byte {
	buf = append(buf, w...)
	if !stemmable(w) {
		return buf
	}
	return stem(buf)
}

// lookup tells what is known about a word of a query.
func (l *lexicon) lookup(surface string) word {
	if w, ok := l.surfaces.find(maphash.String(l.seed, surface), surface); ok {
		return w
	}
	if l.stop[surface] {
		return word{term: noTerm, vector: -1, stop: true}
	}
	var buf [32]byte
	stem := appendStem(buf[:0], surface)
	if w, ok := l.stems.find(maphash.Bytes(l.seed, stem), string(stem)); ok {
		return w
	}
	return l.unknown(string(stem))
}

// unknown describes a stem that has no term.
func (l *lexicon) unknown(stem string) word {
	w := word{term: noTerm, vector: -1, asking: l.asking[stem]}
	if l.model == nil {
		return w
	}
	if v, ok := l.model.find(stem); ok {
		w.vector = v
	}
	return w
}

// pair finds the term of two neighbouring terms.
func (l *lexicon) pair(a, b term) term {
	key := uint64(a)<<32 | uint64(b)
	if t, ok := l.pairs.find(hashUint64(key), key); ok {
		return t
	}
	return noTerm
}

// name finds the term of a folded name.
func (l *lexicon) name(folded string) term {
	if t, ok := l.names.find(maphash.String(l.seed, folded), folded); ok {
		return t
	}
	return noTerm
}

// vectorTerm finds the term of a vector's word.
func (l *lexicon) vectorTerm(vector int32) term {
	return term(l.byVector[vector].Load()) - 1 // zero wraps to noTerm
}

// intern is lookup that gives the word a term. The caller holds mu, as for
// every intern method.
func (l *lexicon) intern(surface string) word {
	if w, ok := l.surfaces.find(maphash.String(l.seed, surface), surface); ok {
		return w
	}
	surface = strings.Clone(surface) // do not keep the text around it
	w := word{term: noTerm, vector: -1, stop: true}
	if !l.stop[surface] {
		w = l.internStem(stemString(surface))
	}
	l.surfaces.add(surface, w)
	return w
}

func (l *lexicon) internStem(stem string) word {
	if w, ok := l.stems.find(maphash.String(l.seed, stem), stem); ok {
		return w
	}
	w := l.unknown(stem)
	w.term = l.next()
	l.stems.add(stem, w)
	if w.vector >= 0 {
		l.byVector[w.vector].Store(uint32(w.term) + 1)
	}
	return w
}

func (l *lexicon) internPair(a, b term) term {
	key := uint64(a)<<32 | uint64(b)
	if t, ok := l.pairs.find(hashUint64(key), key); ok {
		return t
	}
	t := l.next()
	l.pairs.add(key, t)
	return t
}

func (l *lexicon) internName(folded string) term {
	if t, ok := l.names.find(maphash.String(l.seed, folded), folded); ok {
		return t
	}
	t := l.next()
	l.names.add(folded, t)
	return t
}

func (l *lexicon) next() term {
	l.count++
	return l.count - 1
}
