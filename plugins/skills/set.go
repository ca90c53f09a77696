package skills

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/agentd-host/agentd/core"
)

// set is the skills of one activation. It is the [core.SkillSet]; its methods
// may be called concurrently.
type set struct {
	c       *core.Context
	folders []folder // the first wins
	current atomic.Pointer[catalogue]
	changed chan struct{} // has one place: the tool may have to follow
	shown   *catalogue    // what the tool describes; of publish alone

	mu     sync.Mutex        // guards the fields below, and scans go one by one
	added  []core.Skill      // by plugins
	warned map[string]string // what was said last about a path
}

func newSet(c *core.Context, folders []folder) *set {
	return &set{c: c, folders: folders, changed: make(chan struct{}, 1), warned: map[string]string{}}
}

// Add implements [core.SkillSet].
func (s *set) Add(c *core.Context, skill core.Skill) error {
	if err := check(skill); err != nil {
		return fmt.Errorf("skill %q: %w", skill.Name, err)
	}
	_, err := c.Effect("skill "+skill.Name, func(*core.Context) (func(context.Context) error, error) {
		return func(context.Context) error { s.remove(skill.Name); return nil }, s.add(skill)
	})
	return err
}

func (s *set) add(skill core.Skill) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.ContainsFunc(s.added, func(o core.Skill) bool { return o.Name == skill.Name }) {
		return fmt.Errorf("skill %q: another plugin brings one of this name", skill.Name)
	}
	s.added = append(s.added, skill)
	s.notify()
	return nil
}

func (s *set) remove(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.added = slices.DeleteFunc(s.added, func(o core.Skill) bool { return o.Name == name })
	s.notify()
}

func (s *set) notify() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// refresh looks through the folders and returns what there is now.
func (s *set) refresh() *catalogue {
	s.mu.Lock()
	defer s.mu.Unlock()
	var sources [][]core.Skill
	said := map[string]string{}
	for _, f := range s.folders {
		found, problems := f.scan()
		sources = append(sources, found)
		for _, p := range problems {
			said[p.path] = p.err.Error()
			if s.warned[p.path] != said[p.path] {
				s.c.Logger().Warn("skill left out", "path", p.path, "error", p.err)
			}
		}
	}
	s.warned = said
	now := newCatalogue(append(sources, slices.Clone(s.added))...)
	if old := s.current.Load(); old != nil && old.equal(now) {
		return old
	}
	s.current.Store(now)
	s.notify()
	return now
}

var _ core.SkillSet = (*set)(nil)
