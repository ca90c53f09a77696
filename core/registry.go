package core

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
)

// toolRegistry is the host's table of tools.
type toolRegistry struct {
	ids     callIDs
	chains  chains
	writers writers

	version      atomic.Uint64
	snapshot     atomic.Pointer[toolSnapshot] // of some version; rebuilt when read
	announcement announcement                 // of a ToolsChanged

	// mu guards the fields below. It is a leaf: nothing is called under it.
	mu      sync.Mutex
	defs    map[string][]*definition
	sources map[sourceKey]SourceState // those that are not ready
}

// ToolConflictError says that a name is taken in its scope.
type ToolConflictError struct {
	Tool   string
	First  string // path of the fiber that has it, and keeps it
	Second string // path of the fiber that was refused
}

func (e *ToolConflictError) Error() string {
	hint := "choose another name or give it a scope"
	if e.First == e.Second {
		hint = "use Replace to change it"
	}
	return fmt.Sprintf("tool %q: %s defines it already, %s can't: %s", e.Tool, e.First, e.Second, hint)
}

// Define registers a tool until the scope of the context ends. The name must
// be free in the tool's scope, whoever has it: else it is a
// [*ToolConflictError] and the first stays.
func (t *Tools) Define(tool Tool) error {
	return t.Batch(func(b *ToolBatch) error { b.Define(tool); return nil })
}

// Replace registers a tool in place of this fiber's own tool of that name and
// scope, in one step; without one it is Define. When the new tool ends the old
// one does not come back. Calls of the old one that run go on.
func (t *Tools) Replace(tool Tool) error {
	return t.Batch(func(b *ToolBatch) error { b.Replace(tool); return nil })
}

// Remove takes away this fiber's tools of that name. Calls that run go on.
func (t *Tools) Remove(name string) error {
	return t.Batch(func(b *ToolBatch) error { b.Remove(name); return nil })
}

// put adds d or says who is in the way; r.mu is held.
func (r *toolRegistry) put(d *definition) error {
	if first := r.rival(d); first != nil {
		return &ToolConflictError{d.tool.Name, first.owner.path(), d.owner.path()}
	}
	if r.defs == nil {
		r.defs = map[string][]*definition{}
	}
	r.defs[d.tool.Name] = append(slices.Clip(r.defs[d.tool.Name]), d)
	return nil
}

// rival returns a definition of the same name with which d shares a scope.
func (r *toolRegistry) rival(d *definition) *definition {
	for _, other := range r.defs[d.tool.Name] {
		for _, k := range d.keys {
			if slices.Contains(other.keys, k) {
				return other
			}
		}
	}
	return nil
}

// drop removes d; r.mu is held.
func (r *toolRegistry) drop(d *definition) bool {
	old := r.defs[d.tool.Name]
	i := slices.Index(old, d)
	if i < 0 {
		return false
	}
	if len(old) == 1 {
		delete(r.defs, d.tool.Name)
		return true
	}
	r.defs[d.tool.Name] = slices.Delete(slices.Clone(old), i, i+1)
	return true
}

// changed makes a new version and sees to it that it is told; r.mu is held.
func (r *toolRegistry) changed(h *Host) {
	r.version.Add(1)
	r.announcement.soon(h, ToolsChanged.h, func() error {
		return ToolsChanged.Emit(h.root, ToolChange{r.version.Load()})
	})
}

// touch makes a new version after something other than a tool changed.
func (r *toolRegistry) touch(h *Host) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changed(h)
}

// Refresh tells that the answers of a [Decider]'s Preview or of a visibility
// rule may be others now, so that those who show tools look again.
func (t *Tools) Refresh() { t.registry().touch(t.c.host) }
