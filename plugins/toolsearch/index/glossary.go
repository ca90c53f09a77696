package index

import (
	_ "embed"
	"strings"
	"sync"
	"unicode/utf8"
)

// glossary translates Chinese words of the vocabulary of tools to English.
type glossary struct {
	entries map[string][]translation
	longest int // bytes
}

// translation is one alternative: the words it needs and how far it counts.
type translation struct {
	words []string
	share float32
}

const secondShare = 0.8 // of alternatives after the first

//go:embed glossary.zh-en.tsv
var embeddedGlossary string

// chinese is the embedded glossary, read once.
var chinese = sync.OnceValue(func() *glossary { return parseGlossary(embeddedGlossary) })

// parseGlossary reads lines "zh TAB en[,en...]"; a space inside an
// alternative stands between words that are both meant.
func parseGlossary(text string) *glossary {
	g := &glossary{entries: make(map[string][]translation)}
	for line := range strings.Lines(text) {
		zh, en, ok := strings.Cut(strings.TrimSpace(line), "\t")
		if !ok || strings.HasPrefix(zh, "#") {
			continue
		}
		zh = normalize(zh)
		share := float32(1)
		for alternative := range strings.SplitSeq(en, ",") {
			words := split(nil, alternative)
			g.entries[zh] = append(g.entries[zh], translation{words, share})
			share = secondShare
		}
		g.longest = max(g.longest, len(zh))
	}
	return g
}

// each calls found for the longest entries in a text, from left to right.
// The text must be normalized and in lower case.
func (g *glossary) each(text string, found func(from, to int, t []translation)) {
	inWord := false
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		plain := r < utf8.RuneSelf && class(byte(r)) != other
		if isHan(r) || plain && !inWord {
			if n := g.match(text[i:]); n > 0 {
				found(i, i+n, g.entries[text[i:i+n]])
				size = n
			}
		}
		inWord = plain
		i += size
	}
}

// match returns how many bytes the longest entry at the start of text has, 0
// if there is none.
func (g *glossary) match(text string) int {
	best := 0
	for k, r := range text {
		if k > g.longest {
			return best
		}
		if _, ok := g.entries[text[:k]]; ok {
			best = k
		}
		if !isHan(r) && class(byte(min(r, utf8.RuneSelf-1))) == other {
			return best
		}
	}
	if _, ok := g.entries[text]; ok {
		best = len(text)
	}
	return best
}
