package core

import (
	"errors"
	"fmt"
	"slices"
)

// A ToolBatch gathers changes that become visible together.
type ToolBatch struct {
	c     *Context
	steps []func(*change) error
	err   error
}

// Batch applies the changes that f makes on b in one step: whoever lists tools
// sees all of them or none. If one can't be made, or f fails, nothing changes.
func (t *Tools) Batch(f func(b *ToolBatch) error) error {
	b := &ToolBatch{c: t.c}
	if err := f(b); err != nil {
		return err
	}
	if b.err != nil {
		return b.err
	}
	return t.c.host.apply(b)
}

// Define is [Tools.Define] as part of the batch.
func (b *ToolBatch) Define(tool Tool) {
	b.add(tool, func(ch *change, d *definition) error { return ch.put(d) })
}

// Replace is [Tools.Replace] as part of the batch.
func (b *ToolBatch) Replace(tool Tool) {
	b.add(tool, func(ch *change, d *definition) error {
		for old := ch.r.rival(d); old != nil; old = ch.r.rival(d) {
			if old.owner != d.owner {
				return &ToolConflictError{d.tool.Name, old.owner.path(), d.owner.path()}
			}
			ch.drop(old)
		}
		return ch.put(d)
	})
}

// Remove is [Tools.Remove] as part of the batch.
func (b *ToolBatch) Remove(name string) {
	b.steps = append(b.steps, func(ch *change) error {
		found := false
		for _, d := range ch.r.defs[name] {
			if d.owner == ch.c.fiber {
				ch.drop(d)
				found = true
			}
		}
		if !found {
			return fmt.Errorf("tool %q: %s has none of that name", name, ch.c.fiber.path())
		}
		return nil
	})
}

func (b *ToolBatch) add(tool Tool, step func(*change, *definition) error) {
	d, err := newDefinition(tool, b.c)
	if err != nil {
		b.err = errors.Join(b.err, err)
		return
	}
	b.steps = append(b.steps, func(ch *change) error { return step(ch, d) })
}

// A change is a batch under way; both locks are held.
type change struct {
	c          *Context
	r          *toolRegistry
	added, cut []*definition
	log        []func() // undoes the steps so far, in order
}

func (ch *change) put(d *definition) error {
	if err := ch.r.put(d); err != nil {
		return err
	}
	ch.added = append(ch.added, d)
	ch.log = append(ch.log, func() { ch.r.drop(d) })
	return nil
}

func (ch *change) drop(d *definition) {
	if i := slices.Index(ch.added, d); i >= 0 { // of this very batch
		ch.added = slices.Delete(ch.added, i, i+1)
	} else {
		ch.cut = append(ch.cut, d)
	}
	ch.r.drop(d)
	ch.log = append(ch.log, func() { _ = ch.r.put(d) })
}

func (h *Host) apply(b *ToolBatch) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, err := b.c.admit(); err != nil {
		return err
	}
	h.tools.mu.Lock()
	defer h.tools.mu.Unlock()
	ch := &change{c: b.c, r: &h.tools}
	for _, step := range b.steps {
		if err := step(ch); err != nil {
			for _, undo := range slices.Backward(ch.log) {
				undo()
			}
			return err
		}
	}
	return ch.commit(h)
}

// commit puts the new tools into the tree and takes the old ones off it.
func (ch *change) commit(h *Host) error {
	for _, d := range ch.added {
		if err := ch.c.registerLocked(&d.node); err != nil {
			return err // can't be: admit was asked under the same lock
		}
	}
	if len(ch.added)+len(ch.cut) > 0 {
		h.tools.changed(h) // before the old ones close, so that whoever finds one closed looks again
	}
	for _, d := range ch.cut {
		if d.state == nodeLive {
			d.retire()
		}
	}
	return nil
}
