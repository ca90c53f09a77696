package workspace

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// folder is the root that the file tools work in. Its methods may be called
// concurrently.
type folder struct {
	root   *os.Root
	path   string // absolute, links resolved
	given  string // absolute, as configured; may lead through links
	limits limits
	// guarded are files and folders below the root, beside those that
	// isGuarded knows, folded; fixed before the first use.
	guarded []string

	writes sync.Mutex // held while a file is being replaced
}

// limits bound what one call reads, walks and answers. Every field is
// positive once filled has run.
type limits struct {
	output     int   // bytes in one answer
	lines      int   // lines in one page of a file
	results    int   // entries of a listing, matches of a search
	fileSize   int64 // bytes of a file that is searched, edited or written
	walked     int   // files and folders that one listing or search visits
	depth      int   // folders below the start of a walk
	ignore     []string
	ignoreFrom []string // names of the files that hold ignore rules
}

func (l limits) filled() limits {
	orInt := func(v *int, fallback int) {
		if *v <= 0 {
			*v = fallback
		}
	}
	orInt(&l.output, 48<<10)
	orInt(&l.lines, 2000)
	orInt(&l.results, 500)
	orInt(&l.walked, 200_000)
	orInt(&l.depth, 64)
	if l.fileSize <= 0 {
		l.fileSize = 10 << 20
	}
	return l
}

// openFolder opens path, which must be a folder, as the root. The caller
// closes it.
func openFolder(path string, l limits) (*folder, error) {
	given, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("root %q: %w", path, err)
	}
	real, err := filepath.EvalSymlinks(given)
	if err != nil {
		return nil, fmt.Errorf("root: %w: create the folder or change `root`", err)
	}
	root, err := os.OpenRoot(real)
	if err != nil {
		return nil, fmt.Errorf("root: %w: `root` must name a folder", err)
	}
	return &folder{root: root, path: real, given: given, limits: l.filled()}, nil
}

// Close releases the root. Calls that run meanwhile end with an error.
func (f *folder) Close() error { return f.root.Close() }

// open opens the regular file at the real name for reading. It never blocks
// on a pipe or a device.
func (f *folder) open(name string) (*os.File, fs.FileInfo, error) {
	file, err := f.root.OpenFile(name, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, nil, plainError(name, err)
	}
	info, err := checkRegular(file, name)
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, info, nil
}

func checkRegular(file *os.File, name string) (fs.FileInfo, error) {
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, plainError(name, err)
	case info.IsDir():
		return nil, fmt.Errorf("%s is a folder: use list_files", name)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file but a %s", name, kindOf(info.Mode()))
	}
	return info, refusePseudo(file, name)
}

// readWhole returns a regular file that is small enough to be held in memory.
func (f *folder) readWhole(name string) ([]byte, fs.FileInfo, error) {
	file, info, err := f.open(name)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	data, err := readAtMost(file, f.limits.fileSize)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	return data, info, nil
}
