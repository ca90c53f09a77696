package loader

import (
	"context"
	"errors"
	"fmt"

	"github.com/agentd-host/agentd/core/config"
)

// Enable takes the ~ from an entry's key in the file that it is in, and
// applies that. id is the entry's id, or plugin:id. The error says if the file
// was not written, or the entry then failed; what other entries do is not its
// matter.
func (l *Loader) Enable(ctx context.Context, id string) error { return l.toggle(ctx, id, true) }

// Disable puts a ~ before an entry's key in the file that it is in, and
// applies that. Its error is like that of Enable.
func (l *Loader) Disable(ctx context.Context, id string) error { return l.toggle(ctx, id, false) }

func (l *Loader) toggle(ctx context.Context, id string, on bool) error {
	doc, err := l.edit(ctx, func(e Editor) (*config.Document, error) { return e.SetEnabled(id, on) })
	if doc == nil {
		return err
	}
	entry := doc.Entry(id)
	if entry != nil {
		err = about(err, entry.ID)
	}
	if err != nil {
		return fmt.Errorf("the file is changed, but %w", err)
	}
	return nil
}

// SetPolicy writes a rule of tools.policy into the project's file, and applies
// that: it is in force when SetPolicy returns nil, unless a source above the
// file says otherwise or nobody trusted the file.
func (l *Loader) SetPolicy(ctx context.Context, pattern, value string) error {
	doc, err := l.edit(ctx, func(e Editor) (*config.Document, error) { return e.SetPolicy(pattern, value) })
	if doc == nil {
		return err
	}
	return nil // a policy is in force before any entry is touched
}

// edit changes a file and applies it. Without a document nothing was applied;
// with one the error is about entries.
func (l *Loader) edit(ctx context.Context, change func(Editor) (*config.Document, error)) (*config.Document, error) {
	if err := l.lock(ctx); err != nil {
		return nil, err
	}
	defer l.unlock()
	if l.doc == nil {
		return nil, errors.New("nothing is loaded yet")
	}
	if _, err := change(Editor{Schema: l.opts.Schema, Sources: l.opts.Sources, Accept: l.opts.Accept}); err != nil {
		return nil, err
	}
	doc, err := l.read(nil)
	if err != nil {
		return nil, err
	}
	return doc, l.move(ctx, doc)
}

// Restart loads an entry anew with the options that it has; a group with all
// that is in it. A failed one is tried again.
func (l *Loader) Restart(ctx context.Context, id string) error {
	if err := l.lock(ctx); err != nil {
		return err
	}
	defer l.unlock()
	if l.doc == nil {
		return fmt.Errorf("nothing is loaded yet")
	}
	e := l.doc.Entry(id)
	if e == nil {
		return unknownEntry(l.doc, id)
	}
	s := l.slots[e.ID]
	if s == nil {
		return fmt.Errorf("%s is disabled; enable it first", e.Name())
	}
	if err := s.fiber.Restart(ctx); err != nil {
		return fmt.Errorf("%s: %w", e.Name(), err)
	}
	if s.group == nil {
		return nil
	}
	return l.apply(ctx, l.doc) // its entries went with it
}

func unknownEntry(doc *config.Document, id string) error {
	var ids []string
	doc.Walk(func(e *config.Entry) { ids = append(ids, e.ID) })
	return fmt.Errorf("there is no entry %q%s", id, near(id, ids))
}
