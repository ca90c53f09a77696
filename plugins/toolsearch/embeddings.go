package toolsearch

import (
	"context"
	"crypto/sha256"
	"errors"
	"math"
	"net/http"
	"slices"

	"github.com/agentd-host/agentd/plugins/toolsearch/index"
)

const (
	embedBatch  = 64
	hybridExtra = 20 // tools that are found by their vectors alone
)

// embedRequest and embedAnswer have the form of OpenAI's service.
type embedRequest struct {
	Model string   `json:"model"`
	Input []string `json:"input"`
}

type embedAnswer struct {
	Data []struct {
		Index     int       `json:"index"`
		Embedding []float32 `json:"embedding"`
	} `json:"data"`
}

var errNoVectors = errors.New("its answer holds no vectors")

// embed turns texts into vectors of length one.
func (e *Embeddings) embed(ctx context.Context, client *http.Client, texts []string) ([][]float32, error) {
	var answer embedAnswer
	r := remote{client, e.Endpoint, e.APIKey}
	if err := r.post(ctx, &embedRequest{e.Model, texts}, &answer); err != nil {
		return nil, err
	}
	if len(answer.Data) != len(texts) {
		return nil, errNoVectors
	}
	vectors := make([][]float32, len(texts))
	for _, d := range answer.Data {
		if d.Index < 0 || d.Index >= len(texts) || vectors[d.Index] != nil || !toUnit(d.Embedding) {
			return nil, errNoVectors
		}
		vectors[d.Index] = d.Embedding
	}
	return vectors, nil
}

// toUnit scales a vector to length one; false for one that has no direction.
func toUnit(v []float32) bool {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if sum == 0 || math.IsNaN(sum) || math.IsInf(sum, 0) {
		return false
	}
	f := float32(1 / math.Sqrt(sum))
	for i := range v {
		v[i] *= f
	}
	return true
}

// hybrid ranks by words and vectors together: the words' score by its maximum,
// and the cosine times its weight.
func (l *layer) hybrid(ctx context.Context, sp *split, query string) (ranking, error) {
	e := sp.s.embeddings
	ctx, cancel := context.WithTimeout(ctx, defaultTimeout)
	defer cancel()
	asked, err := e.embed(ctx, l.client, []string{query})
	if err != nil {
		return ranking{}, err
	}
	vectors, err := l.vectors.of(ctx, l.client, e, sp, len(asked[0]))
	if err != nil {
		return ranking{}, err
	}
	weight := 1.0
	set(&weight, e.Weight)
	return sp.fuse(query, asked[0], vectors, weight)
}

// fuse mixes what the words and the vectors say of each tool.
func (sp *split) fuse(query string, asked []float32, vectors [][]float32, weight float64) (ranking, error) {
	hits := make([]index.Hit, len(sp.found))
	for i := range sp.found {
		if len(vectors[i]) != len(asked) {
			return ranking{}, errNoVectors
		}
		hits[i].Document = &index.Document{Name: sp.found[i].Name}
		hits[i].Score = weight * cosine(vectors[i], asked)
	}
	return ranking{mode: modeHybrid, hits: fused(hits, sp.local(query).hits)}, nil
}

// fused adds the words' scores, by their maximum, to those of the vectors.
// What the words did not find comes in only if it is among the nearest.
func fused(near, words []index.Hit) []index.Hit {
	slices.SortFunc(near, compareHits)
	best := 0.0
	byName := make(map[string]index.Hit, len(words))
	for _, h := range words {
		best = max(best, h.Score)
		byName[h.Document.Name] = h
	}
	var hits []index.Hit
	for i, h := range near {
		word, found := byName[h.Document.Name]
		if best > 0 {
			h.Score += word.Score / best
		}
		if h.Exact = word.Exact; found || i < hybridExtra {
			hits = append(hits, h)
		}
	}
	slices.SortFunc(hits, compareHits)
	return hits
}

func cosine(a, b []float32) float64 {
	var sum float32
	for i, x := range a {
		sum += x * b[i]
	}
	return float64(sum)
}

// vectorKey is what a vector belongs to: service, model and text.
type vectorKey [sha256.Size]byte

func (e *Embeddings) key(text string) vectorKey {
	return sha256.Sum256([]byte(e.Endpoint + "\x00" + e.Model + "\x00" + text))
}

// of gives the vectors of all tools, asking the service for those that are
// not known yet in this length.
func (s *vectorStore) of(
	ctx context.Context, client *http.Client, e *Embeddings, sp *split, dims int,
) ([][]float32, error) {
	keys := make([]vectorKey, len(sp.found))
	texts := make([]string, len(sp.found))
	for i := range sp.found {
		texts[i] = document(sp.found[i])
		keys[i] = e.key(texts[i])
	}
	vectors, lacking := s.get(keys, dims)
	for batch := range slices.Chunk(lacking, embedBatch) {
		input := make([]string, len(batch))
		for k, i := range batch {
			input[k] = texts[i]
		}
		fresh, err := e.embed(ctx, client, input)
		if err != nil {
			return nil, err
		}
		for k, i := range batch {
			vectors[i] = fresh[k]
			s.put(keys[i], fresh[k])
		}
	}
	return vectors, nil
}
