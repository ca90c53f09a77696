package index

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Index is an immutable index over the tools of one catalogue. Any number of
// goroutines may search it and make others from it.
type Index struct {
	*engine
	tools []*tool // by place; nil: removed
	pages []*page // by term
	live  int

	extended atomic.Bool // an update may have appended behind the posting lists
}

// engine is what an index shares with those made from it.
type engine struct {
	lex      *lexicon
	glossary *glossary
	scratch  sync.Pool // *scratch
	writer   *analyzer // under lex.mu
}

// pageSize is how many terms are copied when one of them changes.
const pageSize = 16

type page [pageSize]entry

// entry is the posting list of a term.
type entry struct {
	post []posting // append-only; removed tools stay until the index is packed
	live int32     // postings of tools that are there
}

// Options of New; nil is the zero value.
type Options struct {
	// Words adds the meaning of words to the ranking. Nil: words alone.
	Words *Words
}

// New indexes documents. Of two with the same name the last one counts.
func New(docs []Document, o *Options) *Index {
	var words *Words
	if o != nil {
		words = o.Words
	}
	lex := newLexicon(words)
	zh := chinese()
	e := &engine{lex: lex, glossary: zh, writer: newAnalyzer(lex, zh)}
	e.scratch.New = func() any { return new(scratch) }
	lex.mu.Lock()
	defer lex.mu.Unlock()
	return e.build(e.analyze(docs))
}

// analyze makes tools of documents, one for each name. The caller holds lex.mu.
func (e *engine) analyze(docs []Document) []*tool {
	tools := make([]*tool, 0, len(docs))
	places := make(map[string]int, len(docs))
	for _, d := range docs {
		t := e.writer.tool(d)
		if i, ok := places[d.Name]; ok {
			tools[i] = t
			continue
		}
		places[d.Name] = len(tools)
		tools = append(tools, t)
	}
	return tools
}

// build lays the postings of all tools out in one arena.
func (e *engine) build(tools []*tool) *Index {
	ix := &Index{engine: e, tools: tools, live: len(tools)}
	counts, total := make([]int32, e.lex.count), 0
	for _, t := range tools {
		total += len(t.terms)
		for _, p := range t.terms {
			counts[p.at]++
		}
	}
	ix.pages = newPages(len(counts))
	arena := make([]posting, total)
	for i, n := range counts {
		en := ix.entry(term(i))
		en.post, arena = arena[:0:n], arena[n:]
		en.live = n
	}
	for i, t := range tools {
		for _, p := range t.terms {
			en := ix.entry(term(p.at))
			en.post = append(en.post, posting{uint32(i), p.impact})
		}
	}
	return ix
}

func newPages(terms int) []*page {
	block := make([]page, (terms+pageSize-1)/pageSize)
	pages := make([]*page, len(block))
	for i := range block {
		pages[i] = &block[i]
	}
	return pages
}

// entry is the posting list of a term, nil if this index never had it.
func (ix *Index) entry(t term) *entry {
	i := int(t / pageSize)
	if t == noTerm || i >= len(ix.pages) || ix.pages[i] == nil {
		return nil
	}
	return &ix.pages[i][t%pageSize]
}

// Len is the number of tools.
func (ix *Index) Len() int { return ix.live }

// Documents returns the tools in the order of their names.
func (ix *Index) Documents() []Document {
	docs := make([]Document, 0, ix.live)
	for _, t := range ix.tools {
		if t != nil {
			docs = append(docs, t.doc)
		}
	}
	slices.SortFunc(docs, func(a, b Document) int { return strings.Compare(a.Name, b.Name) })
	return docs
}

// find returns the place of a name, -1 if there is none.
func (ix *Index) find(name string) int {
	en := ix.entry(ix.lex.name(foldName(name)))
	if en == nil {
		return -1
	}
	for _, p := range en.post {
		if t := ix.tools[p.at]; t != nil && t.doc.Name == name {
			return int(p.at)
		}
	}
	return -1
}
