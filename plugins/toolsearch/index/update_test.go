package index

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var verbs = []string{"get", "list", "send", "delete", "update", "create", "find", "convert"}
var nouns = []string{"mail", "weather", "invoice", "repository", "image", "user", "文件", "邮件", "ticket"}

// randomDocument is one of a few hundred documents; its revision changes
// what it says under the same name.
func randomDocument(r *rand.Rand) Document {
	verb, noun := verbs[r.IntN(len(verbs))], nouns[r.IntN(len(nouns))]
	return Document{
		Name:        fmt.Sprintf("mcp__s%d__%s_%s", r.IntN(4), verb, noun),
		Group:       fmt.Sprintf("s%d", r.IntN(4)),
		Description: fmt.Sprintf("%s the %s, revision %d", verb, nouns[r.IntN(len(nouns))], r.IntN(3)),
		Parameters:  fmt.Appendf(nil, `{"properties":{%q:{"description":"which %s"}}}`, noun, verb),
	}
}

var updateQueries = []string{
	"send mail", "delete the picture of a user", "发送邮件", "get_weather",
	"list s2", "mcp__s1__find_user", "revision 2 invoices by mail", "查找文件",
}

// checkSame fails if the index answers otherwise than one built anew.
func checkSame(t *testing.T, ix *Index, docs map[string]Document) {
	t.Helper()
	var all []Document
	for _, d := range docs { // in random order: the order must not matter
		all = append(all, d)
	}
	fresh := New(all, &Options{Words: ix.lex.model})
	if ix.Len() != len(docs) {
		t.Fatalf("index of %d tools, want %d", ix.Len(), len(docs))
	}
	if diff := cmp.Diff(fresh.Documents(), ix.Documents()); diff != "" {
		t.Fatalf("-want +got\n%s", diff)
	}
	for _, q := range updateQueries {
		for _, o := range []SearchOptions{{}, {Admit: true, Limit: 5}, {Matcher: Lexical}, {Matcher: Substring}, {Matcher: Keyword}} {
			want, got := fresh.Search(q, &o), ix.Search(q, &o)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%q %+v: -anew +updated\n%s", q, o, diff)
			}
		}
	}
}

// TestRule29_UpdatesEqualBuildingAnew walks through random histories, with
// forks, and compares each state with an index built anew, to the last bit of
// the scores.
func TestRule29_UpdatesEqualBuildingAnew(t *testing.T) {
	for seed := range uint64(2) {
		r := rand.New(rand.NewPCG(seed, 1))
		type state struct {
			ix   *Index
			docs map[string]Document
		}
		states := []state{{New(nil, &Options{Words: words(t)}), map[string]Document{}}}
		for range 40 {
			from := states[r.IntN(len(states))]
			if r.IntN(3) > 0 {
				from = states[len(states)-1]
			}
			docs := make(map[string]Document)
			var remove []string
			for _, d := range from.ix.Documents() {
				if r.IntN(8) == 0 {
					remove = append(remove, d.Name)
					continue
				}
				docs[d.Name] = d
			}
			remove = append(remove, "not there")
			var add []Document
			for range r.IntN(12) {
				d := randomDocument(r)
				add = append(add, d)
				docs[d.Name] = d
			}
			states = append(states, state{from.ix.Update(add, remove), docs})
			checkSame(t, states[len(states)-1].ix, docs)
		}
		for _, s := range states { // what came later changed nothing earlier
			checkSame(t, s.ix, s.docs)
		}
	}
}

func TestRule29_Sync(t *testing.T) {
	ix := New(tools(), &Options{Words: words(t)})
	docs := tools()
	slices.Reverse(docs)
	if ix.Sync(docs) != ix {
		t.Error("the same tools gave another index")
	}
	docs[0].Description = "Something else."
	docs = append(docs[:2], docs[3:]...)
	docs = append(docs, Document{Name: "new_one", Description: "Brand new."})
	want := make(map[string]Document)
	for _, d := range docs {
		want[d.Name] = d
	}
	checkSame(t, ix.Sync(docs), want)
	checkSame(t, ix.Sync(nil), nil)
}

// TestChurnIsPacked: tools that come and go forever do not pile up.
func TestChurnIsPacked(t *testing.T) {
	ix := New(tools(), nil)
	for i := range 3000 {
		name := fmt.Sprintf("visitor%d", i)
		ix = ix.Update([]Document{{Name: name, Description: "Says word" + name}}, nil)
		ix = ix.Update(nil, []string{name})
	}
	if ix.Len() != len(tools()) || len(ix.tools) > 2*packSlack || ix.lex.count > 10000 {
		t.Errorf("%d tools in %d places, %d terms", ix.Len(), len(ix.tools), ix.lex.count)
	}
}

// TestConcurrentUse lets searches, updates and forks of one index run at the
// same time; the race detector watches.
func TestConcurrentUse(t *testing.T) {
	ix := New(tools(), &Options{Words: words(t)})
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(g), 2))
			mine := ix
			for i := range 50 {
				mine = mine.Update([]Document{randomDocument(r)}, nil)
				mine.Search(updateQueries[i%len(updateQueries)], &SearchOptions{Explain: i%5 == 0})
				ix.Search(updateQueries[i%len(updateQueries)], nil)
			}
		})
	}
	wg.Wait()
	checkSame(t, ix, func() map[string]Document {
		m := make(map[string]Document)
		for _, d := range tools() {
			m[d.Name] = d
		}
		return m
	}())
}
