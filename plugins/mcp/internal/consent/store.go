package consent

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/agentd-host/agentd/internal/statefile"
)

// A Store keeps what was consented to in one file. It is safe for concurrent
// use, also between processes: what one allows the others see at their next
// look.
type Store struct {
	path string // empty: nothing outlives the process

	mu    sync.Mutex // guards the fields below
	stamp statefile.Stamp
	known *record
}

// A Subject is what is about to start.
type Subject struct {
	Config string // the configuration file, links resolved; empty without one
	Server string
	Line   Line
	// Program is what Line.Command is found to be now, Key what it is known
	// by: see [Key].
	Program Program
	Key     string
	// Shown is the line for people, without secrets.
	Shown string
}

// Digest identifies all of the subject that a person consents to.
func (s Subject) Digest() string {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %s %q", s.Config, s.Server, s.Line.digest(), s.Program)
	return hex.EncodeToString(h.Sum(nil))
}

// Key is what the programs of a command are kept under: its name if it is
// looked up in PATH, so that a question about one that moved comes once; else
// where it is.
func Key(command, path string) string {
	if filepath.Base(command) == command {
		return command
	}
	return path
}

// A Change is what differs from what was consented to.
type Change struct {
	Line       bool    // the command line is another one
	WasLine    string  // the last one that was allowed, if Line
	Programs   bool    // the program is another one
	WasProgram Program // the last one that was allowed, if Programs
}

// record is the form of the file.
type record struct {
	Version  int                             `json:"version"`
	Servers  map[string]map[string][]allowed `json:"servers"` // by configuration file and name, the latest last
	Programs map[string][]program            `json:"programs"`
}

type allowed struct {
	Digest string    `json:"digest"`
	Line   string    `json:"line"` // for people, without secrets
	When   time.Time `json:"when"`
	By     string    `json:"by,omitempty"` // empty: it was the first
}

type program struct {
	Files Program   `json:"files"`
	When  time.Time `json:"when"`
	By    string    `json:"by,omitempty"`
}

// kept is how many command lines of a server, and programs of a command, stay
// allowed.
const kept = 16

// Open returns the store kept in the file at path, which need not exist.
// Without a path it lives as long as the process.
func Open(path string) *Store { return &Store{path: path} }

// Path is the store's file.
func (s *Store) Path() string { return s.path }

// Check compares a subject with what was consented to. Nil, nil: it may start;
// what had no predecessor is the baseline from now on. An error means that
// nobody can tell.
func (s *Store) Check(sub Subject) (*Change, error) {
	r, err := s.read()
	if err != nil {
		return nil, err
	}
	if change := r.compare(sub); change != nil {
		return change, nil
	}
	if r.holds(sub) {
		return nil, nil
	}
	var change *Change
	err = s.update(func(r *record) {
		// Somebody else may have been first.
		if change = r.compare(sub); change == nil {
			r.allowLine(sub, "")
			r.allowProgram(sub, "")
		}
	})
	return change, err
}

// Allow records that a person saw the whole subject and consented.
func (s *Store) Allow(sub Subject, by string) error {
	return s.update(func(r *record) {
		r.allowLine(sub, by)
		r.allowProgram(sub, by)
	})
}

// Adopt records that a person consented to the command lines of subjects. A
// program is taken only if it was found and its command had none.
func (s *Store) Adopt(by string, subjects ...Subject) error {
	return s.update(func(r *record) {
		for _, sub := range subjects {
			r.allowLine(sub, by)
			if len(sub.Program) > 0 && len(r.Programs[sub.Key]) == 0 {
				r.allowProgram(sub, by)
			}
		}
	})
}

// compare finds what a person has to be asked about.
func (r *record) compare(sub Subject) *Change {
	var c Change
	if lines := r.Servers[sub.Config][sub.Server]; len(lines) > 0 && !hasLine(lines, sub) {
		c.Line, c.WasLine = true, lines[len(lines)-1].Line
	}
	if ps := r.Programs[sub.Key]; len(ps) > 0 && !hasProgram(ps, sub) {
		c.Programs, c.WasProgram = true, ps[len(ps)-1].Files
	}
	if c.Line || c.Programs {
		return &c
	}
	return nil
}

// holds tells whether the subject is recorded as it is.
func (r *record) holds(sub Subject) bool {
	return hasLine(r.Servers[sub.Config][sub.Server], sub) && hasProgram(r.Programs[sub.Key], sub)
}

func hasLine(lines []allowed, sub Subject) bool {
	digest := sub.Line.digest()
	return slices.ContainsFunc(lines, func(a allowed) bool { return a.Digest == digest })
}

func hasProgram(ps []program, sub Subject) bool {
	return slices.ContainsFunc(ps, func(p program) bool { return p.Files.equal(sub.Program) })
}

func (r *record) allowLine(sub Subject, by string) {
	lines := r.Servers[sub.Config][sub.Server]
	digest := sub.Line.digest()
	lines = slices.DeleteFunc(lines, func(a allowed) bool { return a.Digest == digest })
	if r.Servers[sub.Config] == nil {
		r.Servers[sub.Config] = map[string][]allowed{}
	}
	r.Servers[sub.Config][sub.Server] = last(append(lines, allowed{digest, sub.Shown, now(), by}))
}

func (r *record) allowProgram(sub Subject, by string) {
	ps := slices.DeleteFunc(r.Programs[sub.Key], func(p program) bool { return p.Files.equal(sub.Program) })
	r.Programs[sub.Key] = last(append(ps, program{sub.Program, now(), by}))
}

func last[T any](list []T) []T { return list[max(0, len(list)-kept):] }

func now() time.Time { return time.Now().UTC().Truncate(time.Second) }

// read gives the record as it is now. It is not changed by anybody.
func (s *Store) read() (*record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.path == "" {
		if s.known == nil {
			s.known, _ = parse(nil)
		}
		return s.known, nil
	}
	stamp := statefile.StampOf(s.path)
	if s.known != nil && s.stamp.Same(stamp) {
		return s.known, nil
	}
	data, err := statefile.Read(s.path)
	if err != nil {
		return nil, err
	}
	r, err := s.parse(data)
	if err != nil {
		return nil, err
	}
	s.known, s.stamp = r, stamp
	return r, nil
}

// update changes the file, or what is kept in its place.
func (s *Store) update(change func(*record)) error {
	if s.path == "" {
		return s.updateMemory(change)
	}
	return statefile.Update(s.path, func(old []byte) ([]byte, error) {
		r, err := s.parse(old)
		if err != nil {
			return nil, err
		}
		change(r)
		data, err := json.MarshalIndent(r, "", " ")
		return append(data, '\n'), err
	})
}

// updateMemory changes what is kept in place of a file.
func (s *Store) updateMemory(change func(*record)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var data []byte
	if s.known != nil {
		data, _ = json.Marshal(s.known) // nothing in it can fail
	}
	next, err := parse(data)
	if err != nil {
		return err
	}
	change(next)
	s.known = next
	return nil
}

func (s *Store) parse(data []byte) (*record, error) {
	r, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; repair or remove it", s.path, err)
	}
	return r, nil
}

func parse(data []byte) (*record, error) {
	r := &record{Version: 1}
	if err := statefile.Decode(data, r); err != nil {
		return nil, err
	}
	if r.Servers == nil {
		r.Servers = map[string]map[string][]allowed{}
	}
	if r.Programs == nil {
		r.Programs = map[string][]program{}
	}
	return r, nil
}
