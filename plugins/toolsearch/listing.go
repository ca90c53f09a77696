package toolsearch

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/llm"
)

// tier is how much a listing says of a group.
type tier int

const (
	tierFull   tier = iota + 1 // names and descriptions
	tierNames                  // names
	tierCounts                 // the number of tools
)

// listing is what the model reads of the deferred tools without a search, for
// a model with this context window. It names every one of them, found or not,
// so that it changes with the catalogue alone.
func (l *layer) listing(sp *split, window int) string {
	sp.mu.Lock()
	defer sp.mu.Unlock()
	text, ok := sp.listings[window]
	if !ok {
		text = l.list(sp, sp.s.budget(window))
		sp.listings[window] = text
	}
	return text
}

// list writes the listing that says the most within the budget; 0 is any. The
// last tier is written whatever the budget.
func (l *layer) list(sp *split, budget int) string {
	if sp.pass || sp.s.listing == listingOff {
		return ""
	}
	first := map[string]tier{listingNames: tierNames, listingGroups: tierCounts}[sp.s.listing]
	w := newListWriter(sp, max(first, tierFull), &l.sentences)
	if budget > 0 {
		w.shorten(budget, sp.s.perGroup)
	}
	return w.text()
}

// listWriter writes a listing with a tier for each group.
type listWriter struct {
	head      string
	groups    []*listGroup
	sentences *sentences
}

type listGroup struct {
	name  string
	tools toolList
	tier  tier
	units [tierCounts + 1]int // by tier; zero: not computed
}

func newListWriter(sp *split, t tier, cache *sentences) *listWriter {
	w := &listWriter{head: sp.listHeader(), sentences: cache}
	for i, tools := range sp.behind {
		if len(tools) > 0 {
			w.groups = append(w.groups, &listGroup{name: sp.groups.names[i], tools: tools, tier: t})
		}
	}
	return w
}

// shorten lowers tiers until the listing fits: all groups at once, or the
// largest first and each only as far as is needed.
func (w *listWriter) shorten(budget int, perGroup bool) {
	if len(w.groups) == 0 {
		return
	}
	order := slices.Clone(w.groups)
	slices.SortStableFunc(order, func(a, b *listGroup) int { return len(b.tools) - len(a.tools) })
	total := llm.TokenUnits(w.head)
	for _, g := range order {
		total += w.cost(g)
	}
	// The last line break is cut off.
	fits := func() bool { return llm.UnitTokens(total-llm.TokenUnits("\n")) <= budget }
	for t := order[0].tier; t < tierCounts; t++ {
		if fits() {
			return
		}
		for _, g := range order {
			total -= w.cost(g)
			g.tier = t + 1
			total += w.cost(g)
			if perGroup && fits() {
				return
			}
		}
	}
}

// cost is what a group takes in its tier, in twelfths of a token.
func (w *listWriter) cost(g *listGroup) int {
	if g.units[g.tier] == 0 {
		units := llm.TokenUnits(g.headline())
		if g.tier < tierCounts {
			for _, t := range g.tools {
				units += w.lineUnits(t, g.tier)
			}
		}
		g.units[g.tier] = units
	}
	return g.units[g.tier]
}

const (
	bullet = "- "
	colon  = ": "
)

func (w *listWriter) lineUnits(t *core.Tool, at tier) int {
	units := llm.TokenUnits(t.Name) + llm.TokenUnits(bullet+"\n")
	if at != tierFull {
		return units
	}
	if s := w.sentences.of(t.Description); s.text != "" {
		units += llm.TokenUnits(colon) + s.units
	}
	return units
}

func (w *listWriter) text() string {
	var b strings.Builder
	b.WriteString(w.head)
	for _, g := range w.groups {
		b.WriteString(g.headline())
		if g.tier == tierCounts {
			continue
		}
		for _, t := range g.tools {
			b.WriteString(bullet)
			b.WriteString(t.Name)
			if s := w.sentences.of(t.Description); s.text != "" && g.tier == tierFull {
				b.WriteString(colon)
				b.WriteString(s.text)
			}
			b.WriteByte('\n')
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// listHeader says how the names are to be used.
func (sp *split) listHeader() string {
	how := "Once found, a tool can be called by its name."
	switch {
	case sp.bridged:
		how = "Once found, a tool can be called through " + callName + "."
	case sp.offers(callName):
		how = "Once found, a tool can be called by its name or through " + callName + "."
	}
	return fmt.Sprintf("# Tools that can be found\n"+
		"These are not callable as they stand here: search first, with %s. %s\n", sp.s.searchTool, how)
}

func (g *listGroup) headline() string {
	if g.tier == tierCounts {
		return fmt.Sprintf("%s: %d\n", g.name, len(g.tools))
	}
	return "## " + g.name + "\n"
}

// sentences keeps the first sentences of descriptions: a change of a few
// tools among thousands should cost a few sentences.
type sentences struct {
	mu    sync.Mutex // guards the field below
	known map[string]sentence
}

type sentence struct {
	text  string
	units int
}

const sentencesKept = 50_000

func (k *sentences) of(description string) sentence {
	k.mu.Lock()
	defer k.mu.Unlock()
	s, ok := k.known[description]
	if ok {
		return s
	}
	if k.known == nil || len(k.known) >= sentencesKept {
		k.known = make(map[string]sentence)
	}
	s.text = firstSentence(description)
	s.units = llm.TokenUnits(s.text)
	k.known[description] = s
	return s
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
