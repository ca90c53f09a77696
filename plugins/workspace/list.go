package workspace

import (
	"context"
	"fmt"
	"io/fs"
	"strings"
)

// listInput is what list_files takes.
type listInput struct {
	Path    string `json:"path,omitempty" jsonschema_description:"Folder to list, relative to the workspace. Default is the workspace itself."`
	Pattern string `json:"pattern,omitempty" jsonschema_description:"Glob that files must match, as *.go or src/**/*.{ts,tsx}. Without a slash it is matched against names, else against paths relative to the workspace. Searches all depths."`
	Depth   int    `json:"depth,omitempty" jsonschema_description:"How many levels to list. Default is 1, with a pattern all."`
	Offset  int    `json:"offset,omitempty" jsonschema_description:"First entry to show, counted from 1."`
	Limit   int    `json:"limit,omitempty" jsonschema_description:"Most entries to show."`
	All     bool   `json:"all,omitempty" jsonschema_description:"Also list what .gitignore excludes."`
}

// list answers what lies in the folder at the real name start: one path a
// line, relative to the root and sorted; folders end in a slash. A note in
// brackets says what was left out.
func (f *folder) list(ctx context.Context, start string, in listInput) (string, error) {
	if in.Depth < 0 || in.Limit < 0 || in.Offset < 0 {
		return "", fmt.Errorf("depth, offset and limit must not be negative")
	}
	l := listing{folder: f, offset: max(1, in.Offset), limit: f.limits.results, room: f.limits.output}
	if in.Limit > 0 {
		l.limit = min(l.limit, in.Limit)
	}
	if in.Pattern != "" {
		match, err := pathGlob(in.Pattern)
		if err != nil {
			return "", err
		}
		l.match = match
	}
	w := walker{folder: f, depth: listDepth(in, f.limits), all: in.All, visit: l.add}
	if err := w.walk(ctx, start); err != nil {
		return "", err
	}
	return l.answer(start, &w)
}

func listDepth(in listInput, l limits) int {
	switch {
	case in.Depth > 0:
		return min(in.Depth, l.depth)
	case in.Pattern != "":
		return l.depth
	}
	return 1
}

// listing collects entries; it counts those beyond its window.
type listing struct {
	folder        *folder
	match         func(name string) bool // nil: all
	offset, limit int
	room          int // bytes

	text         strings.Builder
	found, shown int
	full         bool
}

func (l *listing) add(name string, entry fs.DirEntry) error {
	if l.match != nil && (entry.IsDir() || !l.match(name)) {
		return nil
	}
	l.found++
	if l.found < l.offset || l.full {
		return nil
	}
	line := l.line(name, entry)
	if l.full = l.shown == l.limit || l.text.Len()+len(line) > l.room; l.full {
		return nil
	}
	l.text.WriteString(line)
	l.shown++
	return nil
}

func (l *listing) line(name string, entry fs.DirEntry) string {
	switch {
	case entry.IsDir():
		return visible(name) + "/\n"
	case entry.Type()&fs.ModeSymlink != 0:
		target, err := l.folder.root.Readlink(name)
		if err == nil {
			return visible(name) + " -> " + visible(target) + "\n"
		}
	}
	return visible(name) + "\n"
}

func (l *listing) answer(start string, w *walker) (string, error) {
	var n notes
	switch last := l.offset + l.shown - 1; {
	case l.found == 0 && l.match != nil:
		n.add("no file matches")
	case l.found == 0:
		n.add("%s is empty", start)
	case l.shown == 0:
		return "", fmt.Errorf("offset %d is past the end: there are %s", l.offset, plural(l.found, "entry"))
	case last < l.found:
		n.add("entries %d-%d of %d; go on with offset=%d", l.offset, last, l.found, last+1)
	case l.offset > 1:
		n.add("entries %d-%d of %d, the end", l.offset, last, l.found)
	}
	return l.text.String() + append(n, w.notes()...).String(), nil
}

// visible escapes what would break a line or hide in it.
func visible(name string) string {
	quoted := fmt.Sprintf("%+q", name)
	for _, r := range name {
		if r < ' ' || r == 0x7f || r == '\uFFFD' || hidden(string(r)) {
			return quoted
		}
	}
	return name
}
