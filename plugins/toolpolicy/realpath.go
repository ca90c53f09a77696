package toolpolicy

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// realPaths resolves paths and remembers what it saw, so that paths of one
// folder look at that folder once. It is for one decision alone: links may be
// others at the next.
type realPaths map[string]seen

// seen is what is at a path without links.
type seen struct {
	there bool   // something may be
	link  string // where it leads, if it is a link
}

// maxLinks is how many links are followed, as many as the standard library's
// EvalSymlinks follows; more than any system does.
const maxLinks = 255

// of gives the place of an absolute path: where it would be opened or made,
// after all links, also those that lead to nothing yet. It reports whether
// anything may be there.
func (r realPaths) of(path string) (real string, there bool) {
	volume := filepath.VolumeName(path)
	real, there = volume+string(filepath.Separator), true
	rest, links := path[len(volume):], 0
	for rest != "" {
		var name string
		name, rest = firstName(rest)
		switch name {
		case "", ".":
			continue
		case "..":
			real, there = filepath.Dir(real), true
			continue
		}
		next := filepath.Join(real, name)
		if !there {
			real = next // nothing can be below what is not there
			continue
		}
		at := r.look(next)
		if at.link == "" || links == maxLinks {
			real, there = next, at.there
			continue
		}
		links++
		if filepath.IsAbs(at.link) {
			volume := filepath.VolumeName(at.link)
			real, at.link = volume+string(filepath.Separator), at.link[len(volume):]
		}
		rest = at.link + string(filepath.Separator) + rest
	}
	return real, there
}

// firstName cuts the first name off a path.
func firstName(path string) (name, rest string) {
	i := strings.IndexFunc(path, func(c rune) bool { return c < 128 && os.IsPathSeparator(uint8(c)) })
	if i < 0 {
		return path, ""
	}
	return path[:i], path[i+1:]
}

func (r realPaths) look(path string) seen {
	if known, ok := r[path]; ok {
		return known
	}
	info, err := os.Lstat(path)
	at := seen{there: !errors.Is(err, fs.ErrNotExist)}
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		at.link, _ = os.Readlink(path)
	}
	r[path] = at
	return at
}
