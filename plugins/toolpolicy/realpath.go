package toolpolicy

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// realPaths resolves paths and remembers what it resolved, so that paths of
// one folder look at that folder once. It is for one decision alone: links
// may be others at the next.
type realPaths map[string]realPath

// realPath is a path without links, and whether something may be there.
type realPath struct {
	path  string
	there bool
}

// of resolves the links of the part of a path that exists, and reports whether
// anything may be there.
func (r realPaths) of(path string) (real string, there bool) {
	path = filepath.Clean(path)
	known, ok := r[path]
	if !ok {
		known = r.resolve(path)
		r[path] = known
	}
	return known.path, known.there
}

func (r realPaths) resolve(path string) realPath {
	// Where a look finds nothing, there is nothing to resolve but the folder.
	_, err := os.Lstat(path)
	there := !errors.Is(err, fs.ErrNotExist)
	if there {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			return realPath{real, true}
		}
	}
	dir, base := filepath.Split(path)
	dir = filepath.Clean(dir)
	if base == "" || dir == path {
		return realPath{path, there}
	}
	dir, _ = r.of(dir)
	return realPath{filepath.Join(dir, base), there}
}
