package index

import (
	"math"
	"slices"
	"strings"
)

const (
	rerankTop   = 100 // so many are compared by direction
	rerankShare = 1.7
	rerankWords = 10 // queries with more words rely less on their direction
)

// ranked is a tool on its way into the answer.
type ranked struct {
	tool  *tool
	at    uint32
	score float32
	exact int8 // 2: the full name, 1: its last part

	direction float32 // what the comparison by direction added to the score
}

func compareRanked(a, b ranked) int {
	switch {
	case a.exact != b.exact:
		return int(b.exact) - int(a.exact)
	case a.score != b.score:
		return descending(a.score, b.score)
	}
	return strings.Compare(a.tool.doc.Name, b.tool.doc.Name)
}

// rerank compares the best with the query by direction.
func (s *scratch) rerank(ix *Index) {
	slices.SortFunc(s.ranked, compareRanked)
	top := s.ranked[:min(len(s.ranked), rerankTop)]
	norm := s.direction(ix.lex.model)
	k := s.query.trust() / max(norm, tiny)
	best := float32(tiny)
	for i := range top {
		best = max(best, top[i].score)
	}
	for i := range s.ranked {
		s.ranked[i].score /= best
	}
	s.compare(top, k)
	slices.SortFunc(top, compareRanked)
	// What was not compared stays behind what was.
	for i := len(top); i < len(s.ranked); i++ {
		s.ranked[i].score = min(s.ranked[i].score, top[len(top)-1].score)
	}
}

// compare adds what the directions say, k at most. A tool without a direction
// gets of the best one what its words are worth.
func (s *scratch) compare(top []ranked, k float32) {
	var best float32
	for i := range top {
		if r := &top[i]; r.tool.norm > 0 {
			r.direction = k * float32(dot(s.row, r.tool.vec)) / r.tool.norm
			best = max(best, r.direction)
		}
	}
	for i := range top {
		r := &top[i]
		if r.tool.norm == 0 {
			r.direction = r.score * best
		}
		r.score += r.direction
	}
}

// direction brings the query's direction into row and returns its length.
func (s *scratch) direction(m *Words) float32 {
	s.sum = append(s.sum[:0], make([]float32, m.dims)...)
	s.row = append(s.row[:0], make([]byte, m.dims)...)
	for _, src := range s.query.sources {
		m.addTo(s.sum, src.vector)
	}
	return quantize(s.row, s.sum)
}

// trust is how much the direction of a query counts: less in a long one, and
// less if few of its words have a vector.
func (q *query) trust() float32 {
	if q.spoken == 0 {
		return 0
	}
	n := float64(q.spoken)
	known := math.Sqrt(min(1, float64(q.known)/n))
	return float32(rerankShare * min(1, rerankWords/n) * known)
}

// rankHeap keeps the best few, the worst of them on top.
type rankHeap []ranked

func (h rankHeap) worse(i, j int) bool { return compareRanked(h[i], h[j]) > 0 }

func (h rankHeap) full(limit int) bool { return limit > 0 && len(h) == limit }

// offer takes r in if there is room or r is better than the worst; limit 0
// takes all in, unordered.
func (h *rankHeap) offer(r ranked, limit int) {
	switch {
	case limit == 0:
		*h = append(*h, r)
	case !h.full(limit):
		*h = append(*h, r)
		h.up(len(*h) - 1)
	case compareRanked(r, (*h)[0]) < 0:
		(*h)[0] = r
		h.down()
	}
}

func (h rankHeap) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !h.worse(i, parent) {
			return
		}
		h[i], h[parent] = h[parent], h[i]
		i = parent
	}
}

func (h rankHeap) down() {
	for i := 0; ; {
		child := 2*i + 1
		if child >= len(h) {
			return
		}
		if child+1 < len(h) && h.worse(child+1, child) {
			child++
		}
		if !h.worse(child, i) {
			return
		}
		h[i], h[child] = h[child], h[i]
		i = child
	}
}
