package loader

import (
	"context"
	"fmt"

	"github.com/agentd-host/agentd/core/config"
)

// Enable takes the ~ from an entry's key in the file that it is in, and
// applies that. id is the entry's id, or plugin:id.
func (l *Loader) Enable(ctx context.Context, id string) error { return l.toggle(ctx, id, true) }

// Disable puts a ~ before an entry's key in the file that it is in, and
// applies that.
func (l *Loader) Disable(ctx context.Context, id string) error { return l.toggle(ctx, id, false) }

func (l *Loader) toggle(ctx context.Context, id string, on bool) error {
	return l.edit(ctx, func(doc *config.Document) (string, error) {
		e := doc.Entry(id)
		if e == nil {
			return "", unknownEntry(doc, id)
		}
		if e.Pos.File != l.opts.Sources.File && e.Pos.File != l.opts.Sources.Home {
			return "", fmt.Errorf("%s is in no file; write plugins: {~%s: {}} into %s to disable it",
				e.Name(), e.Name(), l.opts.Sources.File)
		}
		return e.Pos.File, nil
	}, func(text []byte) ([]byte, error) { return l.opts.Schema.SetEnabled(text, id, on) })
}

// SetPolicy writes a rule of tools.policy into the project's file, and applies
// that.
func (l *Loader) SetPolicy(ctx context.Context, pattern, value string) error {
	return l.edit(ctx, func(*config.Document) (string, error) {
		if l.opts.Sources.File == "" {
			return "", fmt.Errorf("there is no %s to write to", config.FileName)
		}
		return l.opts.Sources.File, nil
	}, func(text []byte) ([]byte, error) { return l.opts.Schema.SetPolicy(text, pattern, value) })
}

// edit changes a file and applies it. What would not load is not written.
func (l *Loader) edit(ctx context.Context, where func(*config.Document) (string, error),
	change func([]byte) ([]byte, error)) error {
	if err := l.lock(ctx); err != nil {
		return err
	}
	defer l.unlock()
	if l.doc == nil {
		return fmt.Errorf("nothing is loaded yet")
	}
	path, err := where(l.doc)
	if err != nil {
		return err
	}
	f, err := config.ReadFile(path)
	if err != nil {
		return err
	}
	text, err := change(f.Bytes)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	edited := f.With(text)
	if _, err := l.opts.Schema.Load(l.sources(func(p string) (*config.File, error) {
		if p == path {
			return edited, nil
		}
		return config.ReadFile(p)
	})); err != nil {
		return fmt.Errorf("the edit was not made: %w", err)
	}
	if err := config.WriteFile(path, f.Bytes, text); err != nil {
		return err
	}
	if l.opts.Edited != nil {
		l.opts.Edited(f, edited)
	}
	return l.reload(ctx, nil)
}

// sources are the loader's, read in another way.
func (l *Loader) sources(read func(string) (*config.File, error)) config.Sources {
	src := l.opts.Sources
	src.Read = read
	return src
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
