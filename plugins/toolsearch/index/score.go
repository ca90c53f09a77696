package index

const (
	coverage       = 0.6 // how much a tool gains that holds the whole query
	mostNeighbours = 12  // of a word
	neighbourShare = 0.6 // of a neighbour's rarity, times its cosine
)

// sum is what a tool has gathered.
type sum struct {
	score, cover float32
	units        uint64 // bits of the units that it holds
}

// scratch is the memory of one search. Between searches sums and best are
// zero.
type scratch struct {
	query   query
	sums    []sum     // by place
	best    []float32 // by place
	touched []uint32  // places with a sum
	widened []uint32  // places with a best
	ranked  []ranked
	sum     []float32
	row     []byte
}

func (s *scratch) grow(n int) {
	if len(s.sums) < n {
		s.sums = make([]sum, n+n/4)
		s.best = make([]float32, n+n/4)
	}
}

// reset makes the scratch ready for the next search and lets tools go.
func (s *scratch) reset() {
	for _, at := range s.touched {
		s.sums[at] = sum{}
	}
	clear(s.ranked)
	clear(s.query.terms)
	clear(s.query.sources)
	clear(s.query.strings)
	s.query.text, s.query.low, s.query.name = "", "", ""
	s.touched, s.ranked = s.touched[:0], s.ranked[:0]
}

// score adds up the terms of the query (BM25 over weighted fields) and
// favours tools that hold much of it.
func (s *scratch) score() {
	var total float32
	for i := range s.query.terms {
		t := &s.query.terms[i]
		total += t.idf
		s.scoreTerm(t)
	}
	for _, at := range s.touched {
		a := &s.sums[at]
		a.score *= 1 + coverage*a.cover/total
	}
}

func (s *scratch) scoreTerm(t *queryTerm) {
	k, idf, sums := t.weight*t.idf, t.idf, s.sums
	var bit uint64
	if t.unit != noUnit {
		bit = 1 << t.unit
	}
	for _, p := range t.post {
		a := &sums[p.at]
		if a.score == 0 {
			s.touched = append(s.touched, p.at)
		}
		a.score += k * p.impact
		a.cover += idf
		a.units |= bit
	}
}

// widen adds, for each word of the query, the catalogue's words nearest to
// it. A tool gains by the best of them only, and only by what that is more
// than the word itself.
func (s *scratch) widen(ix *Index) {
	for i := range s.query.sources {
		src := &s.query.sources[i]
		s.neighbours(ix, src.vector)
		if src.entry != nil {
			s.discount(src)
		}
		s.takeBest()
	}
}

func (s *scratch) neighbours(ix *Index, vector int32) {
	n := 0
	for _, near := range ix.lex.model.neighbours(vector) {
		en := ix.entry(ix.lex.vectorTerm(near.vector))
		if en == nil || en.live == 0 {
			continue
		}
		s.neighbour(en.post, neighbourShare*near.cosine*ix.idf(en))
		if n++; n == mostNeighbours {
			return
		}
	}
}

func (s *scratch) neighbour(post []posting, k float32) {
	best := s.best
	for _, p := range post {
		b := best[p.at]
		if b == 0 {
			s.widened = append(s.widened, p.at)
		}
		best[p.at] = max(b, k*p.impact)
	}
}

func (s *scratch) discount(src *source) {
	best := s.best
	for _, p := range src.entry.post {
		if b := best[p.at]; b > 0 {
			best[p.at] = max(b-src.own*p.impact, tiny)
		}
	}
}

// tiny stands for "nothing, but touched".
const tiny = 1e-30

func (s *scratch) takeBest() {
	for _, at := range s.widened {
		a := &s.sums[at]
		if a.score == 0 {
			s.touched = append(s.touched, at)
		}
		a.score += s.best[at]
		s.best[at] = 0
	}
	s.widened = s.widened[:0]
}
