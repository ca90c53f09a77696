package skills

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/agentd-host/agentd/core"
)

// set is the skills of one activation. It is the [core.SkillSet]; its methods
// may be called concurrently.
type set struct {
	c       *core.Context
	folders []folder      // the first wins
	stale   chan struct{} // has one place: the tool describes what was before

	mu     sync.Mutex        // guards the fields below; scans go one by one
	added  []core.Skill      // by plugins
	shown  *catalogue        // what the tool describes
	warned map[string]string // what was said last about a path
}

func newSet(c *core.Context, folders []folder) *set {
	return &set{c: c, folders: folders, stale: make(chan struct{}, 1)}
}

// Add implements [core.SkillSet]. When it returns, the tool knows the skill.
func (s *set) Add(c *core.Context, skill core.Skill) error {
	if err := check(skill); err != nil {
		return fmt.Errorf("skill %q: %w", skill.Name, err)
	}
	_, err := c.Effect("skill "+skill.Name, func(*core.Context) (func(context.Context) error, error) {
		return func(context.Context) error { return s.remove(skill.Name) }, s.add(skill)
	})
	return err
}

func (s *set) add(skill core.Skill) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.ContainsFunc(s.added, func(o core.Skill) bool { return o.Name == skill.Name }) {
		return fmt.Errorf("skill %q: another plugin brings one of this name", skill.Name)
	}
	before := s.added
	s.added = append(slices.Clone(before), skill)
	err := s.publish(s.scan())
	if err != nil {
		s.added = before
	}
	return err
}

func (s *set) remove(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.added = slices.DeleteFunc(s.added, func(o core.Skill) bool { return o.Name == name })
	err := s.publish(s.scan())
	if errors.Is(err, core.ErrInactive) {
		return nil // the tool goes with this plugin, which unloads us first
	}
	return err
}

// update looks for what is new and lets the tool say so.
func (s *set) update() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.publish(s.scan())
}

// latest is what there is now. If it is news, the tool follows soon: not at
// once, since the tool itself is asking.
func (s *set) latest() *catalogue {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.scan()
	if !now.equal(s.shown) {
		select {
		case s.stale <- struct{}{}:
		default:
		}
	}
	return now
}

// scan looks through the folders; s.mu is held.
func (s *set) scan() *catalogue {
	var sources [][]core.Skill
	said := map[string]string{}
	for _, f := range s.folders {
		found, problems := f.scan()
		sources = append(sources, found)
		for _, p := range problems {
			said[p.path] = p.err.Error()
			if s.warned[p.path] != said[p.path] {
				s.c.Logger().Warn("skill left out", "path", p.path, "err", p.err)
			}
		}
	}
	s.warned = said
	return newCatalogue(append(sources, s.added)...)
}

var _ core.SkillSet = (*set)(nil)
