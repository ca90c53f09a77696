package index

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync/atomic"
)

// Document is a tool as the index reads it.
type Document struct {
	Name        string // unique in an index
	Group       string // its group or server; empty: none
	Description string
	Parameters  json.RawMessage // its JSON schema; may be empty
}

func (d *Document) equal(e *Document) bool {
	return d.Name == e.Name && d.Group == e.Group &&
		d.Description == e.Description && bytes.Equal(d.Parameters, e.Parameters)
}

// Field is a part of a tool that the index weighs.
type Field int

// The fields, in the order in which they are weighed.
const (
	FieldName Field = iota
	FieldGroup
	FieldDescription
	FieldParameters // names of the parameters
	FieldParameterTexts
	fieldCount
)

// String is the field's name in an explanation.
func (f Field) String() string {
	return [...]string{"name", "group", "description", "parameters", "parameter_texts"}[f]
}

// fieldRule is how a field counts. The average length is fixed, not the
// catalogue's: so a term's part in a tool does not depend on other tools, and
// adding to an index gives exactly what building it anew gives.
type fieldRule struct {
	weight  float32
	slope   float32 // how far length is held against a text
	average float32
	pairs   bool // neighbouring words are terms too
}

var fieldRules = [fieldCount]fieldRule{
	FieldName:           {1.5, 0.3, 5, true},
	FieldGroup:          {2, 0, 2, false},
	FieldDescription:    {0.75, 0.5, 25, true},
	FieldParameters:     {1.2, 0.7, 6, false},
	FieldParameterTexts: {0.5, 0.5, 25, false},
}

const saturation = 0.8 // BM25's k1

// posting is a tool's part in a term, all but the term's rarity.
type posting struct {
	at     uint32 // the tool's place in the index, or a term
	impact float32
}

// tool is an analysed document. It is immutable and shared by indexes.
type tool struct {
	doc   Document
	name  string    // folded
	terms []posting // at is the term
	vec   []byte    // direction, int8; nil: none
	norm  float32   // length of vec

	plain atomic.Pointer[plainText] // for the plain matchers, made when asked for
}

// analyzer turns documents into tools. Its buffers are reused; it is used by
// one goroutine that holds the lexicon's mu.
type analyzer struct {
	lex     *lexicon
	zh      *glossary
	schema  schemaText
	fields  [fieldCount][]word
	senses  [fieldCount][]int32 // vectors of the fields' words
	strings []string
	sums    []float32 // by term
	touched []term
	part    []float32
	whole   []float32
}

func newAnalyzer(l *lexicon, zh *glossary) *analyzer {
	a := &analyzer{lex: l, zh: zh}
	if l.model != nil {
		a.part = make([]float32, l.model.dims)
		a.whole = make([]float32, l.model.dims)
	}
	return a
}

func (a *analyzer) tool(d Document) *tool {
	t := &tool{doc: d, name: foldName(d.Name)}
	a.read(&d)
	for f := range a.fields {
		a.weigh(a.fields[f], &fieldRules[f])
	}
	t.terms = a.take(t.name)
	if a.lex.model != nil {
		t.vec, t.norm = a.vector()
	}
	return t
}

// read fills the fields with the words of a document.
func (a *analyzer) read(d *Document) {
	for f := range a.fields {
		a.fields[f], a.senses[f] = a.fields[f][:0], a.senses[f][:0]
	}
	server, bare := splitName(d.Name)
	a.text(FieldName, bare)
	a.text(FieldGroup, server)
	if d.Group != server {
		a.text(FieldGroup, d.Group)
	}
	a.text(FieldDescription, d.Description)
	a.schema.walk(d.Parameters)
	for _, name := range a.schema.names {
		a.text(FieldParameters, name)
	}
	for _, text := range a.schema.texts {
		a.text(FieldParameterTexts, text)
	}
}

// text appends the words of a text to a field.
func (a *analyzer) text(f Field, text string) {
	text = normalize(text)
	a.strings = split(a.strings[:0], text)
	for _, s := range a.strings {
		w := a.lex.intern(s)
		if w.stop {
			continue
		}
		a.fields[f] = append(a.fields[f], w)
		if w.vector >= 0 {
			a.senses[f] = append(a.senses[f], w.vector)
		}
	}
	if asciiPrefix(text) < len(text) {
		a.translate(f, text)
	}
}

// translate gives Chinese words a direction. They get no terms: tools that
// hold a word in two languages would outdo the others.
func (a *analyzer) translate(f Field, text string) {
	a.zh.each(lowerASCII(text), func(_, _ int, t []translation) {
		for _, s := range t[0].words {
			if w := a.lex.lookup(s); w.vector >= 0 {
				a.senses[f] = append(a.senses[f], w.vector)
			}
		}
	})
}

// splitName takes the server off the names that MCP tools have here,
// mcp__server__tool, and elsewhere, server__tool. A number at the end is no
// tool's name.
func splitName(name string) (server, bare string) {
	server, bare, ok := strings.Cut(strings.TrimPrefix(name, "mcp__"), "__")
	if !ok || server == "" || bare == "" || isNumber(bare) {
		return "", name
	}
	return server, bare
}

func isNumber(s string) bool {
	return strings.Trim(s, "0123456789") == ""
}

// lastPart is what follows the last "__" of a name; the name if nothing does.
func lastPart(name string) string {
	i := strings.LastIndex(name, "__")
	if i < 0 || isNumber(name[i+2:]) {
		return name
	}
	return name[i+2:]
}

// each is how far one word counts in a field of n.
func (r *fieldRule) each(n int) float32 {
	if r.pairs {
		n += n - 1
	}
	return r.weight / (1 - r.slope + r.slope*float32(n)/r.average)
}

// weigh adds a field's words to the sums. The sums are linear in the number
// of times a word stands there, so nothing has to be counted.
func (a *analyzer) weigh(words []word, r *fieldRule) {
	if len(words) == 0 {
		return
	}
	x := r.each(len(words))
	for i, w := range words {
		a.add(w.term, x)
		if r.pairs && i > 0 {
			a.add(a.lex.internPair(words[i-1].term, w.term), x)
		}
	}
}

func (a *analyzer) add(t term, x float32) {
	for int(t) >= len(a.sums) {
		a.sums = append(a.sums, make([]float32, int(t)+1024-len(a.sums))...)
	}
	if a.sums[t] == 0 {
		a.touched = append(a.touched, t)
	}
	a.sums[t] += x
}

// take empties the sums into the terms of a tool and adds its names.
func (a *analyzer) take(name string) []posting {
	terms := make([]posting, 0, len(a.touched)+2)
	for _, t := range a.touched {
		x := a.sums[t]
		a.sums[t] = 0
		terms = append(terms, posting{uint32(t), x * (saturation + 1) / (x + saturation)})
	}
	a.touched = a.touched[:0]
	terms = append(terms, posting{uint32(a.lex.internName(name)), 1})
	if last := lastPart(name); last != name {
		terms = append(terms, posting{uint32(a.lex.internName(last)), 1})
	}
	return terms
}

// How much the fields count in a tool's direction, and how many of their
// words do.
const (
	groupDirection     = 0.5
	parameterDirection = 0.4
	descriptionWords   = 60
	parameterWords     = 40
)

// vector adds up the directions of the fields.
func (a *analyzer) vector() ([]byte, float32) {
	clear(a.whole)
	v := &a.senses
	a.direct(1, v[FieldName])
	a.direct(groupDirection, v[FieldGroup])
	a.direct(1, first(v[FieldDescription], descriptionWords))
	names := first(v[FieldParameters], parameterWords)
	texts := first(v[FieldParameterTexts], parameterWords-len(names))
	a.direct(parameterDirection, names, texts)
	vec := make([]byte, len(a.whole))
	norm := quantize(vec, a.whole)
	if norm == 0 {
		return nil, 0
	}
	return vec, norm
}

func first(vectors []int32, n int) []int32 { return vectors[:min(n, len(vectors))] }

// direct adds the unit vector of a text to the whole.
func (a *analyzer) direct(weight float32, parts ...[]int32) {
	clear(a.part)
	for _, vectors := range parts {
		for _, v := range vectors {
			a.lex.model.addTo(a.part, v)
		}
	}
	normalizeLength(a.part)
	for i, x := range a.part {
		a.whole[i] += weight * x
	}
}
