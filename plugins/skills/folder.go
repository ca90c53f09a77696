package skills

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/agentd-host/agentd/core"
)

const (
	fileName  = "SKILL.md"
	maxSkills = 200 // of one folder
)

// errUntrusted means that nobody accepted the file with its present content.
var errUntrusted = errors.New("not accepted by a person yet; see agentd trust")

// folder is a folder of skills: one folder each, with a SKILL.md.
type folder struct {
	base string // what is opened; nothing outside is read if confined
	sub  string // the skills' place below base, with slashes
	// trusted tells whether a file may be read; nil: all may.
	trusted  func(path string, content []byte) bool
	confined bool
}

// problem is a skill that was left out.
type problem struct {
	path string
	err  error
}

func (p problem) Error() string { return fmt.Sprintf("%s: %v", p.path, p.err) }
func (p problem) Unwrap() error { return p.err }

// scan reads the folder's skills, sorted by the name of their folder. A
// folder that does not exist has none.
func (f folder) scan() (found []core.Skill, problems []problem) {
	fsys, done, err := f.open()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, []problem{{f.path(""), err}}
	}
	defer done()
	entries, err := fs.ReadDir(fsys, f.sub)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, []problem{{f.path(""), err}}
	}
	for i, entry := range entries {
		if i == maxSkills {
			err := fmt.Errorf("more than %d entries; the rest is left out", maxSkills)
			problems = append(problems, problem{f.path(""), err})
			break
		}
		s, err := f.read(fsys, entry.Name())
		switch {
		case err == nil:
			found = append(found, s)
		case !errors.Is(err, fs.ErrNotExist):
			problems = append(problems, problem{f.path(entry.Name()), err})
		}
	}
	return found, problems
}

// open gives the file system to read from. People link the skills of their
// home from elsewhere; those of a workspace must lie in it.
func (f folder) open() (fsys fs.FS, done func(), err error) {
	if !f.confined {
		return os.DirFS(f.base), func() {}, nil
	}
	root, err := os.OpenRoot(f.base)
	if err != nil {
		return nil, nil, err
	}
	return root.FS(), func() { root.Close() }, nil
}

func (f folder) path(name string) string {
	p := filepath.Join(f.base, filepath.FromSlash(f.sub))
	if name == "" {
		return p
	}
	return filepath.Join(p, name, fileName)
}

func (f folder) read(fsys fs.FS, name string) (core.Skill, error) {
	at := path.Join(f.sub, name, fileName)
	info, err := fs.Stat(fsys, at)
	switch {
	case err != nil:
		return core.Skill{}, notThere(err)
	case !info.Mode().IsRegular():
		return core.Skill{}, errors.New("not a regular file")
	}
	data, err := readFile(fsys, at)
	if err != nil {
		return core.Skill{}, err
	}
	if f.trusted != nil && !f.trusted(f.path(name), data) {
		return core.Skill{}, errUntrusted
	}
	return parse(name, data)
}

// notThere makes the ways of having no SKILL.md one: the entry is a file, or
// a folder without it.
func notThere(err error) error {
	if isNotDir(err) {
		return fs.ErrNotExist
	}
	return err
}

func readFile(fsys fs.FS, name string) ([]byte, error) {
	file, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, maxFile+1))
}
