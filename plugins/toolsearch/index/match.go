package index

import (
	"slices"
	"strings"
)

// plainText is what the plain matchers read of a tool.
type plainText struct {
	text                    string   // "name description" in lower case
	nameWords, descriptions []string // sorted
}

// plainText is made at the first request; making it twice does no harm.
func (t *tool) plainText() *plainText {
	if p := t.plain.Load(); p != nil {
		return p
	}
	p := &plainText{
		text:         strings.ToLower(t.doc.Name + " " + t.doc.Description),
		nameWords:    sortedWords(t.doc.Name),
		descriptions: sortedWords(t.doc.Description),
	}
	t.plain.Store(p)
	return p
}

func sortedWords(text string) []string {
	words := split(nil, text)
	slices.Sort(words)
	return slices.Clip(slices.Compact(words))
}

// substring takes the tools that hold any word of the query.
func (s *scratch) substring(ix *Index, text string) {
	words := strings.Fields(strings.ToLower(text))
	s.gather(ix, text, ix.lex.model != nil, false)
	for i, t := range ix.tools {
		if t == nil || !containsAny(t.plainText().text, words) {
			continue
		}
		at := uint32(i)
		s.ranked = append(s.ranked, ranked{
			tool: t, at: at, score: s.sums[at].score, exact: s.query.exactness(t),
		})
	}
}

func containsAny(text string, words []string) bool {
	for _, w := range words {
		if strings.Contains(text, w) {
			return true
		}
	}
	return false
}

// nameWordScore puts any word of the name before all words of a description.
const nameWordScore = 1000

// keyword takes the tools with a word of the query.
func (s *scratch) keyword(ix *Index, text string) {
	s.query.name = foldName(text)
	words := ix.lex.keywords(text)
	for i, t := range ix.tools {
		if t == nil {
			continue
		}
		p, exact := t.plainText(), s.query.exactness(t)
		score := nameWordScore*held(p.nameWords, words) + held(p.descriptions, words)
		if exact > 0 || score > 0 {
			s.ranked = append(s.ranked, ranked{
				tool: t, at: uint32(i), score: float32(score), exact: exact,
			})
		}
	}
}

// keywords are the different words of a query without those that say
// nothing, unless there are no others.
func (l *lexicon) keywords(text string) []string {
	all := sortedWords(text)
	telling := slices.DeleteFunc(slices.Clone(all), func(w string) bool { return l.stop[w] })
	if len(telling) == 0 {
		return all
	}
	return telling
}

// held counts the words that are in a sorted list.
func held(sorted, words []string) int {
	n := 0
	for _, w := range words {
		if _, ok := slices.BinarySearch(sorted, w); ok {
			n++
		}
	}
	return n
}
