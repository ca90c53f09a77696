package toolsearch

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/coretest"
	"github.com/agentd-host/agentd/plugins/toolsearch/index"
)

// service is a ranking service that answers as it is told.
type service struct {
	*httptest.Server
	asked  atomic.Int64
	answer func(w http.ResponseWriter, body []byte)
}

func newService(t testing.TB, answer func(w http.ResponseWriter, body []byte)) *service {
	t.Helper()
	s := &service{answer: answer}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.asked.Add(1)
		body, _ := io.ReadAll(r.Body)
		if r.Header.Get("Authorization") != "Bearer canary-key" {
			http.Error(w, "who are you", http.StatusUnauthorized)
			return
		}
		s.answer(w, body)
	}))
	t.Cleanup(s.Close)
	return s
}

func says(text string) func(http.ResponseWriter, []byte) {
	return func(w http.ResponseWriter, _ []byte) { _, _ = io.WriteString(w, text) }
}

func fails(code int) func(http.ResponseWriter, []byte) {
	return func(w http.ResponseWriter, _ []byte) { http.Error(w, "canary-key", code) }
}

// reverse ranks the last documents first.
func reverse(w http.ResponseWriter, body []byte) {
	var in rerankRequest
	if json.Unmarshal(body, &in) != nil {
		http.Error(w, "bad", http.StatusBadRequest)
		return
	}
	n := min(in.TopN, len(in.Documents))
	var results []string
	for i := range n {
		results = append(results, fmt.Sprintf(`{"index":%d,"relevance_score":%f}`, len(in.Documents)-1-i, 1-float64(i)/100))
	}
	fmt.Fprintf(w, `{"results":[%s]}`, strings.Join(results, ","))
}

func matched(t testing.TB, s *service, more string, opts ...coretest.Option) *rig {
	t.Helper()
	cfg := parse(t, `{"configTools":"none","searchStreak":0,"matcher":{"endpoint":"`+s.URL+`/v1/rerank","apiKey":"canary-key"`+more+`}}`)
	r := start(t, cfg, append(opts, toolset(many(40)...))...)
	r.step()
	return r
}

func TestRule26_Rerank(t *testing.T) {
	s := newService(t, reverse)
	r := matched(t, s, "")
	a := r.search("invoice")
	want := toolNames(slices.SortedFunc(slices.Values(many(40)), byName))
	slices.Reverse(want)
	if a.Mode != modeRerank || !slices.Equal(a.names(), want[:5]) {
		t.Errorf("mode %s, %v, want %v", a.Mode, a.names(), want[:5])
	}
	r.search("invoice")
	if n := s.asked.Load(); n != 1 {
		t.Errorf("%d requests for one query", n)
	}
}

func TestRule26_OtherShapes(t *testing.T) {
	for name, text := range map[string]string{
		"data":     `{"data":[{"index":3,"score":0.9},{"index":1,"score":0.5}]}`,
		"list":     `[{"index":3,"score":0.9},{"index":1,"score":0.5}]`,
		"unsorted": `{"results":[{"index":1,"relevance_score":0.5},{"index":3,"relevance_score":0.9}],"id":"x","meta":{}}`,
	} {
		r := matched(t, newService(t, says(text)), "")
		sorted := slices.SortedFunc(slices.Values(many(40)), byName)
		if a := r.search("invoice"); a.Mode != modeRerank || a.Tools[0].Name != sorted[3].Name || a.Tools[1].Name != sorted[1].Name {
			t.Errorf("%s: %s %v", name, a.Mode, a.names())
		}
	}
}

// TestRule17_ASearchNeverFails: whatever the service does, words rank, and a
// hint without the key says why.
func TestRule17_ASearchNeverFails(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(http.ResponseWriter, []byte)
		asked  int64
	}{
		"401":            {fails(401), 1},
		"429":            {fails(429), 2},
		"503":            {fails(503), 2},
		"empty object":   {says(`{}`), 1},
		"empty results":  {says(`{"results":[]}`), 1},
		"no JSON":        {says(`<html>`), 1},
		"foreign index":  {says(`{"results":[{"index":99,"relevance_score":1}]}`), 1},
		"negative index": {says(`{"results":[{"index":-1,"relevance_score":1}]}`), 1},
		"no index":       {says(`{"results":[{"relevance_score":1}]}`), 1},
		"index twice":    {says(`{"results":[{"index":1,"score":1},{"index":1,"score":1}]}`), 1},
		"redirect": {func(w http.ResponseWriter, _ []byte) {
			w.Header().Set("Location", "http://example.com")
			w.WriteHeader(307)
		}, 1},
		"time-out": {nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			done := make(chan struct{})
			if c.answer == nil {
				c.answer = func(http.ResponseWriter, []byte) { <-done }
			}
			s := newService(t, c.answer)
			r := matched(t, s, `,"timeout":"300ms"`)
			a := r.search("delete invoice")
			close(done)
			if a.Mode != modeLexical || len(a.Tools) == 0 || a.Tools[0].Name != "delete_invoice_01" {
				t.Errorf("mode %s, %v", a.Mode, a.names())
			}
			if !strings.Contains(a.Hint, "matcher failed") || strings.Contains(a.Hint, "canary") || strings.Contains(a.Hint, s.URL) {
				t.Errorf("hint %q", a.Hint)
			}
			if name == "time-out" && !strings.Contains(a.Hint, "in time") {
				t.Errorf("hint %q", a.Hint)
			}
			if n := s.asked.Load(); n != c.asked && name != "429" && name != "503" || n > 2 {
				t.Errorf("%d requests, want %d", n, c.asked)
			}
		})
	}
}

// TestT31_FilledUp: a matcher that returns few leaves room for words.
func TestT31_FilledUp(t *testing.T) {
	r := matched(t, newService(t, reverse), `,"topN":3`)
	a := decode[unifiedAnswer](t, r.call(toolSearchName, `{"query":"delete","limit":10}`))
	if len(a.Tools) != 10 || a.Mode != modeRerank {
		t.Fatalf("%s: %v", a.Mode, a.names())
	}
	for _, name := range a.names()[3:] {
		if !strings.HasPrefix(name, "delete_") {
			t.Errorf("filled with %s", name)
		}
	}
}

// TestRule26_ManyToolsAreReranked: of more than a service is sent the best by
// words come first, then others by name; it is never asked about none.
func TestRule26_ManyToolsAreReranked(t *testing.T) {
	var sent rerankRequest
	s := newService(t, func(w http.ResponseWriter, body []byte) {
		sent = rerankRequest{}
		if err := json.Unmarshal(body, &sent); err != nil {
			t.Error(err)
		}
		reverse(w, body)
	})
	cfg := parse(t, `{"configTools":"none","searchStreak":0,"matcher":{"endpoint":"`+s.URL+`","apiKey":"canary-key"}}`)
	r := start(t, cfg, toolset(many(400)...))
	r.step()
	for query, first := range map[string]string{"zzyzx": "create_contact_", "delete ticket": "delete_ticket_"} {
		a := r.search(query)
		if a.Mode != modeRerank || len(a.Tools) == 0 || len(sent.Documents) != mostReranked ||
			!strings.HasPrefix(sent.Documents[0], first) {
			t.Errorf("%s: %s, %v, %d documents", query, a.Mode, a.names(), len(sent.Documents))
		}
		if slices.Sort(sent.Documents); len(slices.Compact(sent.Documents)) != mostReranked {
			t.Errorf("%s: a tool was sent twice", query)
		}
	}
	asked := s.asked.Load()
	none := start(t, parse(t, `{"enabled":"on","never":["*"],"configTools":"none",
		"matcher":{"endpoint":"`+s.URL+`","apiKey":"canary-key"}}`), toolset(many(5)...))
	none.step()
	if a := none.search("delete"); len(a.Tools) > 0 || s.asked.Load() != asked {
		t.Errorf("%v, asked %d times about nothing", a.names(), s.asked.Load()-asked)
	}
}

// vectorsOf is an embeddings service: its vectors say how often a text holds
// each of a few words.
func vectorsOf(words ...string) func(w http.ResponseWriter, body []byte) {
	return func(w http.ResponseWriter, body []byte) {
		var in embedRequest
		if json.Unmarshal(body, &in) != nil || in.Model != "m" {
			http.Error(w, "bad", http.StatusBadRequest)
			return
		}
		var data []string
		for i, text := range in.Input {
			v := []string{"0.1"}
			for _, word := range words {
				v = append(v, fmt.Sprint(strings.Count(strings.ToLower(text), word)))
			}
			data = append(data, fmt.Sprintf(`{"index":%d,"embedding":[%s]}`, i, strings.Join(v, ",")))
		}
		slices.Reverse(data)
		fmt.Fprintf(w, `{"data":[%s]}`, strings.Join(data, ","))
	}
}

func embedded(t testing.TB, s *service, opts ...coretest.Option) *rig {
	t.Helper()
	cfg := parse(t, `{"configTools":"none","searchStreak":0,"embeddings":{"endpoint":"`+s.URL+`","apiKey":"canary-key","model":"m"}}`)
	r := start(t, cfg, append(opts, toolset(many(40)...))...)
	r.step()
	return r
}

func TestRule26_Hybrid(t *testing.T) {
	state := t.TempDir()
	env := coretest.Provide(core.Environment, core.Paths{Home: filepath.Join(state, "home"), State: state})
	s := newService(t, vectorsOf("picture", "order"))
	r := embedded(t, s, env)
	a := r.search("picture zzyzx")
	if a.Mode != modeHybrid || !strings.Contains(a.Tools[0].Name, "picture") {
		t.Errorf("%s: %v", a.Mode, a.names())
	}
	if n := s.asked.Load(); n != 2 {
		t.Errorf("%d requests, want one for the tools and one for the query", n)
	}
	info, err := os.Stat(filepath.Join(state, vectorFile))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the vectors are not kept for their owner alone: %v, %v", info, err)
	}
	if err := os.Truncate(filepath.Join(state, vectorFile), info.Size()-3); err != nil {
		t.Fatal(err)
	}
	again := embedded(t, s, env)
	again.search("order")
	if n := s.asked.Load(); n != 4 {
		t.Errorf("%d requests: kept vectors were asked for again", n)
	}
	known := make(map[vectorKey][]float32)
	if _, err := readVectors(filepath.Join(state, vectorFile), known); err != nil || len(known) != 40 {
		t.Errorf("after mending the file: %d vectors, %v", len(known), err)
	}
}

// TestRule26_HybridMixesByTheMaximum: whatever the words' scores are, an answer
// is written; they count by their maximum, and an exact name stays first.
func TestRule26_HybridMixesByTheMaximum(t *testing.T) {
	s := newService(t, vectorsOf("picture", "nvoic"))
	for _, match := range []string{"lexical", matchKeyword, matchSubstring} {
		r := start(t, parse(t, `{"match":"`+match+`","resultFormat":"dsh","searchStreak":0,"maxSearchLimit":0,
			"embeddings":{"endpoint":"`+s.URL+`","apiKey":"canary-key","model":"m","weight":10}}`), toolset(many(40)...))
		r.step()
		for _, query := range []string{"nvoic", "picture", "create_invoice_00", "zzyzx"} {
			res := r.call(toolSearchName, `{"query":"`+query+`","limit":40}`)
			if a := decode[dshAnswer](t, res); len(a.Matches) < hybridExtra || query[0] == 'c' && a.Matches[0].Name != query {
				t.Errorf("%s, %s: %s", match, query, res.Text())
			}
		}
	}
}

func TestFuse(t *testing.T) {
	words := []index.Hit{
		{Document: &index.Document{Name: "named"}, Score: 1, Exact: 2},
		{Document: &index.Document{Name: "best"}, Score: 4},
		{Document: &index.Document{Name: "some"}, Score: 2},
	}
	var near []index.Hit
	for name, score := range map[string]float64{"named": 0.25, "best": 0.5, "some": 0.75, "none": 0.125} {
		near = append(near, index.Hit{Document: &index.Document{Name: name}, Score: score})
	}
	got := map[string]float64{}
	var names []string
	for _, h := range fused(near, words) {
		names = append(names, h.Document.Name)
		got[h.Document.Name] = h.Score
	}
	want := map[string]float64{"named": 0.5, "best": 1.5, "some": 1.25, "none": 0.125}
	if !maps.Equal(got, want) || !slices.Equal(names, []string{"named", "best", "some", "none"}) {
		t.Errorf("got %v, %v", names, got)
	}
	for _, h := range fused(near, []index.Hit{{Document: &index.Document{Name: "none"}}}) {
		if math.IsNaN(h.Score) {
			t.Errorf("%s has no number for a score", h.Document.Name)
		}
	}
}

// TestRule26_VectorsOfAnotherLength: a service that changed what is behind a
// model's name is asked again about all tools, once.
func TestRule26_VectorsOfAnotherLength(t *testing.T) {
	state := t.TempDir()
	env := coretest.Provide(core.Environment, core.Paths{Home: filepath.Join(state, "home"), State: state})
	s := newService(t, vectorsOf("picture"))
	r := embedded(t, s, env)
	r.search("picture one")
	s.answer = vectorsOf("picture", "order")
	for _, query := range []string{"picture two", "order three"} {
		if a := r.search(query); a.Mode != modeHybrid {
			t.Errorf("%s: %s %s", query, a.Mode, a.Hint)
		}
	}
	if n := s.asked.Load(); n != 5 {
		t.Errorf("%d requests, want one for each query and two for the tools", n)
	}
	again := embedded(t, s, env)
	if a := again.search("picture one"); a.Mode != modeHybrid || s.asked.Load() != 6 {
		t.Errorf("another host: %s, %d requests", a.Mode, s.asked.Load())
	}
}

func TestRule26_EmbeddingsFail(t *testing.T) {
	for name, answer := range map[string]func(http.ResponseWriter, []byte){
		"401": fails(401), "few": says(`{"data":[{"index":0,"embedding":[1]}]}`), "zero": says(`{"data":[]}`),
	} {
		r := embedded(t, newService(t, answer))
		if a := r.search("delete invoice"); a.Mode != modeLexical || !strings.Contains(a.Hint, "embeddings service failed") || len(a.Tools) == 0 {
			t.Errorf("%s: %s %q", name, a.Mode, a.Hint)
		}
	}
}

func TestPreload(t *testing.T) {
	r := start(t, Config{Preload: &Preload{Enabled: true, TopK: 20}, MaxDiscoveredKeep: ptr(4)}, toolset(many(40)...))
	r.first = "please delete the invoice"
	got := r.warm()
	if len(got) == 0 || len(got) > 4 || !strings.HasPrefix(got[0], "delete_invoice") {
		t.Errorf("got %v", got)
	}
	r.first = "list the pictures"
	if again := r.warm(); !slices.Equal(again, got) {
		t.Errorf("a second message changed it: %v", again)
	}
}

// TestT29_PreloadIsTriedAgain once, and never brings more than the cap.
func TestT29_PreloadIsTriedAgain(t *testing.T) {
	var broken atomic.Bool
	broken.Store(true)
	s := newService(t, func(w http.ResponseWriter, body []byte) {
		if broken.Load() {
			fails(401)(w, body)
			return
		}
		reverse(w, body)
	})
	cfg := parse(t, `{"maxDiscoveredKeep":8,"preload":{"enabled":true,"topK":20},"matcher":{"endpoint":"`+s.URL+`","apiKey":"canary-key"}}`)
	r := start(t, cfg, toolset(many(40)...))
	r.first = "anything"
	if got := r.warm(); len(got) > 0 {
		t.Errorf("after a failure: %v", got)
	}
	broken.Store(false)
	if got := r.warm(); len(got) != 8 {
		t.Errorf("after the second try: %v", got)
	}
	twice := start(t, cfg, toolset(many(40)...))
	twice.first = "anything"
	broken.Store(true)
	twice.step()
	twice.step()
	broken.Store(false)
	if got := twice.warm(); len(got) > 0 {
		t.Errorf("a third try: %v", got)
	}
}

func TestPreloadOfDSHNeedsAMatcher(t *testing.T) {
	r := start(t, parse(t, `{"preset":"dsh","preload":{"enabled":true}}`), toolset(many(40)...))
	r.first = "delete the invoice"
	if got := without(r.warm(), "read_"); len(got) > 0 {
		t.Errorf("got %v", got)
	}
}

func TestVectorStoreDropsADamagedEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "v")
	for i := range 3 {
		if err := appendVector(path, vectorKey{byte(i)}, []float32{1, 2}); err != nil {
			t.Fatal(err)
		}
	}
	whole, _ := os.ReadFile(path)
	for cut := range len(whole) {
		if err := os.WriteFile(path, whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		known := make(map[vectorKey][]float32)
		good, err := readVectors(path, known)
		if int(good) != cut/44*44 || len(known) != cut/44 || (err == nil) != (cut%44 == 0) {
			t.Fatalf("%d bytes: %d good, %d records, %v", cut, good, len(known), err)
		}
	}
}

func FuzzRerankAnswer(f *testing.F) {
	f.Add([]byte(`{"results":[{"index":1,"relevance_score":0.5}]}`), 3)
	f.Add([]byte(`[{"index":1e99,"score":null}]`), 3)
	f.Fuzz(func(t *testing.T, data []byte, n int) {
		var a rerankAnswer
		if json.Unmarshal(data, &a) != nil {
			return
		}
		scores, err := a.scores(n)
		for i := range scores {
			if err != nil || i < 0 || i >= n {
				t.Errorf("%q: %v, %v", data, scores, err)
			}
		}
	})
}
