package index

// Explanation says where a hit's score comes from. For Semantic and Lexical,
// the sum of Fields times Coverage, with Neighbours added, is what the words
// gave; Semantic divides it by the best tool's, and adds Direction.
type Explanation struct {
	Exact      string             `json:"exact,omitempty"`  // "name" or "part" of it
	Fields     map[string]float64 `json:"fields,omitempty"` // by Field.String
	Coverage   float64            `json:"coverage,omitempty"`
	Neighbours float64            `json:"neighbours,omitempty"` // words of like meaning
	Direction  float64            `json:"direction,omitempty"`  // meaning as a whole
}

// explain takes a hit's score apart.
func (s *scratch) explain(ix *Index, r *ranked) *Explanation {
	e := &Explanation{
		Exact:     [...]string{"", "part", "name"}[r.exact],
		Fields:    make(map[string]float64),
		Direction: float64(r.direction),
	}
	parts, factor := s.fieldScores(ix, r.tool)
	words := float32(0)
	for f, x := range parts {
		words += x
		if x > 0 {
			e.Fields[Field(f).String()] = float64(x)
		}
	}
	e.Coverage = float64(factor)
	if near := s.sums[r.at].score - words*factor; near > roundingError {
		e.Neighbours = float64(near)
	}
	return e
}

// roundingError is how far adding up in another order may be off.
const roundingError = 1e-4

// fieldScores reads a document again and gives each field its share of the
// terms' scores, and the factor by which coverage raised them.
func (s *scratch) fieldScores(ix *Index, t *tool) (parts [fieldCount]float32, factor float32) {
	terms := s.query.terms
	if len(terms) == 0 {
		return parts, 1
	}
	sums := make([][fieldCount]float32, len(terms))
	ix.lex.mu.Lock()
	a := ix.writer
	a.read(&t.doc)
	for f := range a.fields {
		s.occurrences(ix.lex, a.fields[f], Field(f), sums)
	}
	ix.lex.mu.Unlock()
	var cover, total float32
	for i := range terms {
		q := &terms[i]
		total += q.idf
		var x float32
		for _, part := range sums[i] {
			x += part
		}
		if x == 0 {
			continue
		}
		cover += q.idf
		for f, part := range sums[i] {
			parts[f] += q.weight * q.idf * part * (saturation + 1) / (x + saturation)
		}
	}
	return parts, 1 + coverage*cover/total
}

// occurrences adds up how far a field's words count for each query term.
func (s *scratch) occurrences(l *lexicon, words []word, f Field, sums [][fieldCount]float32) {
	if len(words) == 0 {
		return
	}
	rule := &fieldRules[f]
	x := rule.each(len(words))
	for k := range s.query.terms {
		t := s.query.terms[k].term
		for i, w := range words {
			if w.term == t || rule.pairs && i > 0 && l.pair(words[i-1].term, w.term) == t {
				sums[k][f] += x
			}
		}
	}
}
