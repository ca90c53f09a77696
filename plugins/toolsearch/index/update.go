package index

import "slices"

// Sync returns an index over docs that was made from this one by difference.
// It searches exactly as New(docs) would. Unchanged catalogues give the same
// index back.
func (ix *Index) Sync(docs []Document) *Index {
	var add []Document
	kept := make([]bool, len(ix.tools))
	for i := range docs {
		at := ix.find(docs[i].Name)
		if at >= 0 && ix.tools[at].doc.equal(&docs[i]) {
			kept[at] = true
			continue
		}
		add = append(add, docs[i])
	}
	var remove []string
	for i, t := range ix.tools {
		if t != nil && !kept[i] {
			remove = append(remove, t.doc.Name)
		}
	}
	return ix.Update(add, remove)
}

// Update returns an index without the named tools and with the added ones; an
// added tool replaces one of the same name. Names that are not there are
// ignored.
func (ix *Index) Update(add []Document, remove []string) *Index {
	if len(add) == 0 && len(remove) == 0 {
		return ix
	}
	ix.lex.mu.Lock()
	defer ix.lex.mu.Unlock()
	u := newUpdate(ix)
	for _, name := range remove {
		u.remove(name)
	}
	for _, t := range ix.analyze(add) {
		u.remove(t.doc.Name)
		u.add(t)
	}
	return u.finish()
}

// update is an index in the making: pages are copied before their first
// change.
type update struct {
	next *Index
	own  []bool // pages that are copies
}

func newUpdate(old *Index) *update {
	if !old.extended.CompareAndSwap(false, true) {
		old = old.detached()
	}
	next := &Index{engine: old.engine, live: old.live}
	next.tools = append(make([]*tool, 0, len(old.tools)+16), old.tools...)
	next.pages = append(make([]*page, 0, len(old.pages)+16), old.pages...)
	return &update{next: next, own: make([]bool, len(next.pages), cap(next.pages))}
}

// detached is a copy that shares no room behind its posting lists. The first
// update of an index may append to them, since nobody looks behind their ends;
// a second one would write to the same place.
func (ix *Index) detached() *Index {
	c := &Index{engine: ix.engine, tools: ix.tools, live: ix.live}
	c.pages = newPages(len(ix.pages) * pageSize)
	for i, old := range ix.pages {
		if old == nil {
			continue
		}
		*c.pages[i] = *old
		for k := range c.pages[i] {
			en := &c.pages[i][k]
			en.post = slices.Clip(en.post)
		}
	}
	return c
}

// entry is a posting list that may be changed.
func (u *update) entry(t term) *entry {
	i := int(t / pageSize)
	for i >= len(u.next.pages) {
		u.next.pages = append(u.next.pages, nil)
		u.own = append(u.own, false)
	}
	if !u.own[i] {
		u.own[i] = true
		fresh := new(page)
		if old := u.next.pages[i]; old != nil {
			*fresh = *old
		}
		u.next.pages[i] = fresh
	}
	return &u.next.pages[i][t%pageSize]
}

func (u *update) remove(name string) {
	at := u.next.find(name)
	if at < 0 {
		return
	}
	for _, p := range u.next.tools[at].terms {
		u.entry(term(p.at)).live--
	}
	u.next.tools[at] = nil
	u.next.live--
}

func (u *update) add(t *tool) {
	at := uint32(len(u.next.tools))
	u.next.tools = append(u.next.tools, t)
	u.next.live++
	for _, p := range t.terms {
		en := u.entry(term(p.at))
		en.post = append(en.post, posting{at, p.impact})
		en.live++
	}
}

// finish returns the index, packed if most of it is gone.
func (u *update) finish() *Index {
	ix := u.next
	if len(ix.tools) <= 2*ix.live+packSlack {
		return ix
	}
	live := slices.DeleteFunc(ix.tools, func(t *tool) bool { return t == nil })
	if !ix.crowded() {
		return ix.build(live)
	}
	docs := make([]Document, len(live))
	for i, t := range live {
		docs[i] = t.doc
	}
	return New(docs, &Options{Words: ix.lex.model})
}

const packSlack = 256

// crowded tells whether most words of the lexicon belong to tools that are
// gone, so that it is worth a fresh one.
func (ix *Index) crowded() bool {
	used := 0
	for _, p := range ix.pages {
		if p == nil {
			continue
		}
		for k := range p {
			if p[k].live > 0 {
				used++
			}
		}
	}
	return int(ix.lex.count) > 2*used+pageSize*packSlack
}
