// Package trust remembers which files of a folder a person accepted. A
// repository may bring an agent.yml, skills and settings along; they count
// only while their content is exactly what somebody looked at.
//
//	store := trust.Open(filepath.Join(state, "trust.json"))
//	files, err := trust.Scan(dir) // show them to a person
//	err = store.Accept("me", files...)
//	store.Trusted(path, content)  // true until the file changes
//
// A Store fulfils core.Truster and is safe for concurrent use, also between
// processes: what one accepts or forgets, the others see at their next look.
package trust

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentd-host/agentd/internal/statefile"
)

// Store is the record of accepted files.
type Store struct {
	path string

	mu    sync.Mutex // guards the fields below
	stamp statefile.Stamp
	known map[string][]Entry
}

// Entry is one accepted file.
type Entry struct {
	Path   string    `json:"path"` // absolute, links resolved
	SHA256 string    `json:"sha256"`
	When   time.Time `json:"when"`
	By     string    `json:"by,omitempty"`
}

// record is the form of the store's file.
type record struct {
	Version int     `json:"version"`
	Files   []Entry `json:"files"`
}

// Open returns the store kept in the file at path, which need not exist.
func Open(path string) *Store { return &Store{path: path} }

// Trusted reports whether a person accepted exactly this content of the file
// at path. It is false if the store can't be read.
func (s *Store) Trusted(path string, content []byte) bool {
	sum := sha256.Sum256(content)
	return s.TrustedSum(path, hex.EncodeToString(sum[:]))
}

// TrustedSum is Trusted for content of which only the SHA-256 is known, in
// hexadecimal.
func (s *Store) TrustedSum(path, sum string) bool {
	path, err := realPath(path)
	if err != nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refresh() != nil {
		return false
	}
	return slices.ContainsFunc(s.known[path], func(e Entry) bool { return e.SHA256 == sum })
}

// refresh reads the file if it changed. mu is held.
func (s *Store) refresh() error {
	now := statefile.StampOf(s.path)
	if s.known != nil && s.stamp.Same(now) {
		return nil
	}
	data, err := statefile.Read(s.path)
	if err != nil {
		return err
	}
	r, err := parse(data)
	if err != nil {
		return fmt.Errorf("%s: %w; repair or remove it", s.path, err)
	}
	s.known = make(map[string][]Entry, len(r.Files))
	for _, e := range r.Files {
		s.known[e.Path] = append(s.known[e.Path], e)
	}
	s.stamp = now
	return nil
}

func parse(data []byte) (*record, error) {
	r := &record{Version: 1}
	return r, statefile.Decode(data, r)
}

// keptContents is how many contents of one file stay accepted: going back to
// one of the last is no reason to ask again.
const keptContents = 16

// Accept trusts the files with the content that they had when they were
// scanned. Earlier contents of the same paths, up to a few, stay accepted.
func (s *Store) Accept(by string, files ...File) error {
	when := time.Now().UTC().Truncate(time.Second)
	return s.update(func(r *record) {
		for _, f := range files {
			r.accept(Entry{Path: f.Path, SHA256: f.SHA256, When: when, By: by})
		}
	})
}

func (r *record) accept(e Entry) {
	kept := 0
	for i := len(r.Files) - 1; i >= 0; i-- {
		if r.Files[i].Path != e.Path {
			continue
		}
		if kept++; kept >= keptContents || r.Files[i].SHA256 == e.SHA256 {
			r.Files = slices.Delete(r.Files, i, i+1)
			kept--
		}
	}
	r.Files = append(r.Files, e)
}

// Forget takes back what was accepted of a file, or of all files below a
// folder, and returns how many there were.
func (s *Store) Forget(path string) (int, error) {
	path, err := realPath(path)
	if err != nil {
		return 0, err
	}
	n := 0
	err = s.update(func(r *record) {
		before := len(r.Files)
		r.drop(func(e Entry) bool {
			return e.Path == path || strings.HasPrefix(e.Path, path+string(filepath.Separator))
		})
		n = before - len(r.Files)
	})
	return n, err
}

func (r *record) drop(which func(Entry) bool) { r.Files = slices.DeleteFunc(r.Files, which) }

// List returns what was accepted, by path, of each the latest last.
func (s *Store) List() ([]Entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.refresh(); err != nil {
		return nil, err
	}
	list := make([]Entry, 0, len(s.known))
	for _, entries := range s.known {
		list = append(list, entries...)
	}
	slices.SortStableFunc(list, func(a, b Entry) int { return strings.Compare(a.Path, b.Path) })
	return list, nil
}

func (s *Store) update(change func(*record)) error {
	return statefile.Update(s.path, func(old []byte) ([]byte, error) {
		r, err := parse(old)
		if err != nil {
			return nil, fmt.Errorf("%s: %w; repair or remove it", s.path, err)
		}
		change(r)
		data, err := json.MarshalIndent(r, "", "  ")
		return append(data, '\n'), err
	})
}

// realPath is the one name of a file: absolute, links resolved.
func realPath(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(path)
}
