package index

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

const realTools = 10_000

// benchData reads real tools and queries from the sets that measure quality.
func benchData(b *testing.B) (docs []Document, queries []string) {
	b.Helper()
	folder := os.Getenv("TOOLBENCH")
	if folder == "" {
		folder = filepath.Join("..", "..", "..", "..", "shared", "toolbench")
	}
	files, _ := filepath.Glob(filepath.Join(folder, "*.tools.jsonl"))
	seen := make(map[string]bool)
	for _, f := range files {
		eachLine(b, f, func(line []byte) {
			var d Document
			if err := json.Unmarshal(line, &d); err != nil {
				b.Fatal(err)
			}
			if !seen[d.Name] && len(docs) < realTools {
				seen[d.Name] = true
				docs = append(docs, d)
			}
		})
	}
	files, _ = filepath.Glob(filepath.Join(folder, "..", "mcp", "catalogs", "*.json"))
	for _, f := range files {
		server := strings.TrimSuffix(filepath.Base(f), ".json")
		for _, d := range catalog(b, f, server) {
			if len(docs) < realTools {
				docs = append(docs, d)
			}
		}
	}
	files, _ = filepath.Glob(filepath.Join(folder, "*.queries.dev.jsonl"))
	for _, f := range files {
		eachLine(b, f, func(line []byte) {
			var q struct{ Query string }
			if err := json.Unmarshal(line, &q); err != nil {
				b.Fatal(err)
			}
			queries = append(queries, q.Query)
		})
	}
	if len(docs) < realTools {
		b.Skipf("the sets in %s hold %d tools, %d are needed; TOOLBENCH names another folder", folder, len(docs), realTools)
	}
	return docs, queries
}

// catalog reads the answer of one MCP server to tools/list.
func catalog(b *testing.B, file, server string) (docs []Document) {
	b.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		b.Fatal(err)
	}
	var list struct {
		Tools []struct {
			Name, Description string
			InputSchema       json.RawMessage
		}
	}
	if err := json.Unmarshal(data, &list); err != nil {
		b.Fatal(err)
	}
	for _, t := range list.Tools {
		docs = append(docs, Document{
			Name: "mcp__" + server + "__" + t.Name, Group: server,
			Description: t.Description, Parameters: t.InputSchema,
		})
	}
	return docs
}

func eachLine(b *testing.B, file string, do func([]byte)) {
	b.Helper()
	f, err := os.Open(file)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		do(lines.Bytes())
	}
}

func BenchmarkLoadWords(b *testing.B) {
	for b.Loop() {
		if _, err := LoadWords(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkBuild(b *testing.B) {
	docs, _ := benchData(b)
	for name, o := range map[string]*Options{"words": nil, "vectors": {Words: words(b)}} {
		b.Run(name, func(b *testing.B) {
			before := heap()
			var ix *Index
			for b.Loop() {
				ix = nil
				ix = New(docs, o)
			}
			b.ReportMetric(float64(heap()-before)/1e6, "MB")
			runtime.KeepAlive(ix)
		})
	}
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func BenchmarkUpdate(b *testing.B) {
	docs, _ := benchData(b)
	o := &Options{Words: words(b)}
	var ten, rest []Document // ten of the whole range of sizes
	var gone []string
	for i, d := range docs {
		if i%(realTools/10) == 0 {
			ten = append(ten, d)
			gone = append(gone, d.Name)
			continue
		}
		rest = append(rest, d)
	}
	// Each round goes on from the last result, as a host does.
	b.Run("add10", func(b *testing.B) {
		ix := New(rest, o)
		for b.Loop() {
			b.StopTimer()
			ix = ix.Update(nil, gone)
			b.StartTimer()
			ix = ix.Update(ten, nil)
		}
	})
	b.Run("remove10", func(b *testing.B) {
		ix := New(docs, o)
		for b.Loop() {
			ix = ix.Update(nil, gone)
			b.StopTimer()
			ix = ix.Update(ten, nil)
			b.StartTimer()
		}
	})
	b.Run("syncUnchanged", func(b *testing.B) {
		ix := New(docs, o)
		for b.Loop() {
			ix.Sync(docs)
		}
	})
	b.Run("fork", func(b *testing.B) {
		ix := New(rest, o)
		for b.Loop() {
			ix.Update(ten, nil)
		}
	})
}

// BenchmarkSearch reports the median and the 99th percentile besides the
// mean: real queries differ by much.
func BenchmarkSearch(b *testing.B) {
	docs, queries := benchData(b)
	ix := New(docs, &Options{Words: words(b)})
	short, sentences, long := byLength(queries)
	for _, m := range []struct {
		name string
		o    SearchOptions
	}{
		{"words", SearchOptions{Matcher: Lexical, Limit: 5, Admit: true}},
		{"vectors", SearchOptions{Limit: 5, Admit: true}},
	} {
		for _, c := range []struct {
			name    string
			queries []string
		}{{"2-6words", short}, {"sentence", sentences}, {"1500chars", long}} {
			b.Run(m.name+"/"+c.name, func(b *testing.B) {
				searchAll(b, ix, c.queries, &m.o)
			})
		}
	}
	for name, m := range map[string]Matcher{"substring": Substring, "keyword": Keyword} {
		b.Run(name, func(b *testing.B) { searchAll(b, ix, short, &SearchOptions{Matcher: m, Limit: 5}) })
	}
}

func searchAll(b *testing.B, ix *Index, queries []string, o *SearchOptions) {
	for _, q := range queries { // neighbours of new words are found once
		ix.Search(q, o)
	}
	b.ReportAllocs()
	var took []time.Duration
	i := 0
	for b.Loop() {
		start := time.Now()
		ix.Search(queries[i%len(queries)], o)
		took = append(took, time.Since(start))
		i++
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2])/1e3, "p50-us")
	b.ReportMetric(float64(took[len(took)*99/100])/1e3, "p99-us")
}

// byLength sorts queries into a few words, a sentence, and 1,500 characters;
// of the last there are too few, so that others are joined.
func byLength(queries []string) (short, sentences, long []string) {
	joined := ""
	for _, q := range queries {
		switch n := len(split(nil, q)); {
		case n < 2:
		case n <= 6:
			short = append(short, q)
		case n <= 40:
			sentences = append(sentences, q)
		}
		if joined += " " + q; len(joined) > 1500 {
			long = append(long, joined[:1500])
			joined = ""
		}
	}
	return short, sentences, long
}

// BenchmarkNewWord is what a word costs that was never asked for before.
func BenchmarkNewWord(b *testing.B) {
	w := words(b)
	id := int32(0)
	for b.Loop() {
		w.scan(id)
		id = (id + 1) % int32(w.Len())
	}
}
