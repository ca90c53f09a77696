package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// walker visits what lies below a folder, each folder sorted by name and
// before what it holds. Symbolic links are visited, never followed, so a walk
// always ends.
type walker struct {
	folder *folder
	depth  int  // folders below the start that are entered; 1 is the start alone
	all    bool // also what is ignored
	visit  func(name string, entry fs.DirEntry) error

	walked     int
	ignored    int // entries left out by ignore rules
	unreadable int // folders that could not be read
	tooDeep    int // folders not entered
	tooMany    bool
}

// errStop ends a walk early without being an error.
var errStop = errors.New("stop walking")

// walk starts at the real name of a folder. A start that is itself ignored is
// walked in full: who names it means it.
func (w *walker) walk(ctx context.Context, start string) error {
	rules, ignored := w.folder.ignoreAbove(start)
	if ignored {
		w.all = true
	}
	err := w.enter(ctx, start, rules, 1)
	if errors.Is(err, errStop) {
		return nil
	}
	return err
}

func (w *walker) enter(ctx context.Context, dir string, rules ignoreRules, depth int) error {
	entries, err := w.entries(dir)
	if err != nil {
		if depth == 1 {
			return err
		}
		w.unreadable++
		return nil
	}
	if !w.all {
		rules = w.folder.ignoreIn(dir, rules)
	}
	for _, entry := range entries {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := w.entry(ctx, path.Join(dir, entry.Name()), entry, rules, depth); err != nil {
			return err
		}
	}
	return nil
}

func (w *walker) entry(
	ctx context.Context, name string, entry fs.DirEntry, rules ignoreRules, depth int,
) error {
	if !w.all && rules.match(name, entry.IsDir()) {
		w.ignored++
		return nil
	}
	if w.walked++; w.walked > w.folder.limits.walked {
		w.tooMany = true
		return errStop
	}
	if err := w.visit(name, entry); err != nil {
		return err
	}
	switch {
	case !entry.IsDir():
		return nil
	case depth >= w.depth:
		w.tooDeep++
		return nil
	}
	return w.enter(ctx, name, rules, depth+1)
}

func (w *walker) entries(dir string) ([]fs.DirEntry, error) {
	file, err := w.folder.root.OpenFile(dir, openFlags, 0)
	if err != nil {
		return nil, plainError(dir, err)
	}
	defer file.Close()
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, plainError(dir, err)
	case !info.IsDir():
		return nil, fmt.Errorf("%s is a file, not a folder", dir)
	}
	if err := refusePseudo(file, dir); err != nil {
		return nil, err
	}
	entries, err := file.ReadDir(w.folder.limits.walked + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, plainError(dir, err)
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}

// notes says what the walk left out.
func (w *walker) notes() notes {
	var n notes
	if w.tooMany {
		n.add("stopped after %d files and folders; choose a smaller folder", w.folder.limits.walked)
	}
	if w.unreadable > 0 {
		n.add("%s could not be read", plural(w.unreadable, "folder"))
	}
	if w.ignored > 0 {
		n.add("%d ignored; all=true shows them", w.ignored)
	}
	return n
}
