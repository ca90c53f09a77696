package config

import (
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/fsnotify/fsnotify"
)

// maxLinks is how many links a path may lead through, as in the kernel.
const maxLinks = 40

// spot is a name in a folder whose change may lead a path elsewhere.
type spot struct{ dir, name string }

// spots walks a path as the kernel does. It returns each link on the way and
// the file at the end, by real folders; or, where the way breaks off, the name
// that is missing.
func spots(path string) []spot {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil
	}
	var found []spot
	volume := filepath.VolumeName(abs)
	root := volume + string(filepath.Separator)
	dir, rest := root, strings.TrimPrefix(abs, root)
	for links := 0; rest != ""; {
		name, after, _ := strings.Cut(rest, string(filepath.Separator))
		rest = after
		switch name {
		case "", ".":
			continue
		case "..":
			dir = filepath.Dir(dir)
			continue
		}
		here := filepath.Join(dir, name)
		info, err := os.Lstat(here)
		if err != nil {
			return append(found, spot{dir, name})
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			if rest == "" {
				return append(found, spot{dir, name})
			}
			dir = here
			continue
		}
		found = append(found, spot{dir, name})
		target, err := os.Readlink(here)
		if links++; err != nil || links > maxLinks {
			return found
		}
		if filepath.IsAbs(target) {
			dir, target = root, strings.TrimPrefix(target, root)
		}
		// Not cleaned: a .. behind a link leaves the folder it leads to.
		rest = target + string(filepath.Separator) + rest
	}
	return found
}

// pathSet keeps notifications for all spots of some files.
type pathSet struct {
	files    []Watched
	log      *slog.Logger
	notify   *fsnotify.Watcher // nil if there is none
	events   <-chan fsnotify.Event
	errors   <-chan error
	wanted   chan map[spot]bool // of one element: what is relevant now
	watching map[string]string  // folder -> its identity
}

func newPathSet(files []Watched, pollOnly bool, log *slog.Logger) *pathSet {
	s := &pathSet{files: files, log: log, wanted: make(chan map[spot]bool, 1), watching: map[string]string{}}
	s.wanted <- nil
	if pollOnly {
		return s
	}
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		log.Warn("no file notifications, agent.yml is polled instead", "err", err)
		return s
	}
	s.notify, s.events, s.errors = notify, notify.Events, notify.Errors
	return s
}

func (s *pathSet) close() {
	if s.notify != nil {
		s.notify.Close()
	}
}

// refresh watches the folders that the paths lead through now, and no others.
// Folders that are another one under the old name are watched anew. It is
// called from one goroutine at a time.
func (s *pathSet) refresh() {
	wanted := map[spot]bool{}
	folders := map[string]bool{}
	for _, f := range s.files {
		for _, sp := range spots(f.Path) {
			wanted[sp] = true
			folders[sp.dir] = true
		}
	}
	<-s.wanted
	s.wanted <- wanted
	if s.notify == nil {
		return
	}
	for dir := range s.watching {
		if !folders[dir] {
			s.drop(dir)
		}
	}
	for dir := range folders {
		s.watch(dir)
	}
}

func (s *pathSet) watch(dir string) {
	info, err := os.Stat(dir)
	if err != nil {
		s.drop(dir)
		return
	}
	id := inode(info)
	if had, ok := s.watching[dir]; ok && had != id {
		s.drop(dir)
	}
	// Adding again is free, and heals a watch that went with an older folder.
	if err := s.notify.Add(dir); err != nil {
		s.log.Debug("no notifications for a folder, it is polled", "folder", dir, "err", err)
		return
	}
	s.watching[dir] = id
}

func (s *pathSet) drop(dir string) {
	if _, ok := s.watching[dir]; ok {
		delete(s.watching, dir)
		s.notify.Remove(dir) // an error means that it went with the folder
	}
}

// relevant reports whether an event may concern a file. A change of the mode
// alone does not.
func (s *pathSet) relevant(e fsnotify.Event) bool {
	if e.Op == fsnotify.Chmod {
		return false
	}
	wanted := <-s.wanted
	s.wanted <- wanted
	name := filepath.Clean(e.Name)
	for sp := range wanted {
		if name == filepath.Join(sp.dir, sp.name) || name == sp.dir {
			return true
		}
	}
	return false
}

// look returns a signature that changes when a file is another one, was
// written, or is reached in another way.
func (s *pathSet) look() string {
	var b strings.Builder
	for _, f := range s.files {
		for _, sp := range spots(f.Path) {
			fmt.Fprintf(&b, "%s/%s ", sp.dir, sp.name)
		}
		info, err := os.Stat(f.Path)
		if err != nil {
			fmt.Fprintf(&b, "%s\n", plainOSError(err))
			continue
		}
		b.WriteString(signature(info) + "\n")
	}
	return b.String()
}

// signature tells two states of a file apart without reading it.
func signature(info fs.FileInfo) string {
	if info == nil {
		return ""
	}
	return fmt.Sprintf("%s %d %d", inode(info), info.Size(), info.ModTime().UnixNano())
}
