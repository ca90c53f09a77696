package toolsearch

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/llm"
)

// tier is how much a listing says of a group.
type tier int

const (
	tierNone   tier = iota
	tierFull        // names and descriptions
	tierNames       // names
	tierCounts      // the number of tools
)

// listing is what the model reads of the deferred tools without a search, for
// a model with this context window. It names every one of them, found or not,
// so that it changes with the catalogue alone.
func (sp *split) listing(window int) string {
	sp.mu.Lock()
	defer sp.mu.Unlock()
	text, ok := sp.listings[window]
	if !ok {
		text = sp.list(sp.s.budget(window))
		sp.listings[window] = text
	}
	return text
}

func (sp *split) list(budget int) string {
	if sp.pass || sp.s.listing == listingOff {
		return ""
	}
	w := newListWriter(sp)
	fits := func(text string) bool { return budget == 0 || llm.EstimateTokens(text) <= budget }
	first, last := tierFull, tierCounts
	switch sp.s.listing {
	case listingNames:
		first = tierNames
	case listingGroups:
		first = tierCounts
	}
	w.all(first)
	text := w.text()
	for !fits(text) {
		if sp.s.perGroup {
			if !w.stepDown(budget) {
				break
			}
		} else if first == last {
			break
		} else {
			first++
			w.all(first)
		}
		text = w.text()
	}
	return text
}

// listWriter writes a listing with a tier for each group.
type listWriter struct {
	sp     *split
	groups []listGroup
}

type listGroup struct {
	name  string
	tools []*core.Tool
	tier  tier
}

func newListWriter(sp *split) *listWriter {
	w := &listWriter{sp: sp}
	at := make(map[string]int)
	for i := range sp.deferred {
		t := &sp.deferred[i]
		name := sp.groups.of[t.Name]
		k, ok := at[name]
		if !ok {
			k = len(w.groups)
			at[name] = k
			w.groups = append(w.groups, listGroup{name: name})
		}
		w.groups[k].tools = append(w.groups[k].tools, t)
	}
	slices.SortFunc(w.groups, func(a, b listGroup) int { return compareGroups(a.name, b.name) })
	return w
}

func (w *listWriter) all(t tier) {
	for i := range w.groups {
		w.groups[i].tier = t
	}
}

// stepDown says less of the largest groups, until the listing fits or has
// lost a tier everywhere; false if there is nothing left to leave out.
func (w *listWriter) stepDown(budget int) bool {
	order := make([]*listGroup, len(w.groups))
	least := tierCounts
	for i := range w.groups {
		order[i] = &w.groups[i]
		least = min(least, order[i].tier)
	}
	if least == tierCounts {
		return false
	}
	slices.SortStableFunc(order, func(a, b *listGroup) int { return len(b.tools) - len(a.tools) })
	total := llm.EstimateTokens(w.header())
	cost := make(map[*listGroup]int, len(order))
	for _, g := range order {
		cost[g] = llm.EstimateTokens(g.text())
		total += cost[g]
	}
	stepped := false
	for _, g := range order {
		if stepped && total <= budget {
			break
		}
		if g.tier != least {
			continue
		}
		g.tier++
		stepped = true
		total += llm.EstimateTokens(g.text()) - cost[g]
	}
	return true
}

func (w *listWriter) text() string {
	var b strings.Builder
	b.WriteString(w.header())
	for i := range w.groups {
		b.WriteString(w.groups[i].text())
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// header says how the names are to be used.
func (w *listWriter) header() string {
	s := w.sp.s
	how := "Once found, a tool can be called by its name."
	if s.fullBridge {
		how = "Once found, a tool can be called by its name or through " + callName + "."
	}
	return fmt.Sprintf("# Tools that can be found\n"+
		"These are not callable as they stand here: search first, with %s. %s\n", s.searchTool, how)
}

func (g *listGroup) text() string {
	if g.tier == tierCounts {
		return fmt.Sprintf("%s: %d\n", g.name, len(g.tools))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "## %s\n", g.name)
	for _, t := range g.tools {
		b.WriteString("- ")
		b.WriteString(t.Name)
		if d := firstSentence(t.Description); d != "" && g.tier == tierFull {
			b.WriteString(": ")
			b.WriteString(d)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// sentenceRunes is how much of a description a listing shows.
const sentenceRunes = 60

// firstSentence is the first sentence of a description on one line, cut on a
// word.
func firstSentence(text string) string {
	var b strings.Builder
	space := false
	n := 0
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		text = text[size:]
		if unicode.IsSpace(r) || unicode.IsControl(r) {
			space = b.Len() > 0
			continue
		}
		if space {
			b.WriteByte(' ')
			space = false
			n++
		}
		b.WriteRune(r)
		if n++; n > sentenceRunes {
			return cutOnWord(b.String())
		}
		if endsSentence(r, text) {
			break
		}
	}
	return b.String()
}

// endsSentence tells whether r ends a sentence, given what follows it.
func endsSentence(r rune, rest string) bool {
	switch r {
	case '。', '！', '？':
		return true
	case '.', '!', '?':
		next, _ := utf8.DecodeRuneInString(rest)
		return rest == "" || unicode.IsSpace(next)
	}
	return false
}

// cutOnWord cuts a text that is too long, if it can between two words.
func cutOnWord(s string) string {
	cut := string([]rune(s)[:sentenceRunes-1])
	if i := strings.LastIndexByte(cut, ' '); i > len(cut)/2 {
		cut = cut[:i]
	}
	return strings.TrimRight(cut, " ,;:-") + "…"
}
