package loader

import (
	"time"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/config"
)

// Status is how things are at one moment.
type Status struct {
	File    string    // the project's file; "" if there is none
	Good    time.Time // when the last good document was accepted
	Err     error     // what was wrong with the last reload; nil if nothing
	ErrTime time.Time // when a reload last had an error, also one that is over
	LeftOut []config.LeftOut
	Entries []EntryStatus // in the order of the file, groups before what is in them
}

// EntryStatus is how one entry is.
type EntryStatus struct {
	ID       string
	Name     string // plugin, or plugin:id
	Plugin   string
	Depth    int  // how many groups it is in
	Disabled bool // itself, or a group around it

	// The rest is zero for an entry that has no fiber.
	UID   uint64
	Path  string // of the fiber
	State string // as of core.State
	Since time.Time
	Err   error     // why it failed, or why its new options were not taken
	Good  time.Time // when the options in force were applied
}

// Status returns the present state of the loader and of every entry of the
// last good document. It waits for nothing.
func (l *Loader) Status() Status {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := Status{File: l.opts.Sources.File, Good: l.last.good, Err: l.last.err, ErrTime: l.last.errTime}
	if l.doc == nil {
		return s
	}
	s.LeftOut = l.doc.LeftOut
	depths := map[string]int{"": -1}
	for _, w := range wants(l.doc) {
		depths[w.ID] = depths[w.parent] + 1
		e := EntryStatus{ID: w.ID, Name: w.Name(), Plugin: w.Plugin, Depth: depths[w.ID], Disabled: !w.live}
		if slot := l.slots[w.ID]; slot != nil {
			slot.describe(&e)
		}
		s.Entries = append(s.Entries, e)
	}
	return s
}

func (s *slot) describe(e *EntryStatus) {
	state := s.fiber.State()
	e.UID, e.Path, e.State, e.Since = s.fiber.UID(), s.fiber.Path(), state.String(), s.fiber.Since()
	e.Good, e.Err = s.good, s.err
	if err := s.fiber.Err(); err != nil && (e.Err == nil || state == core.Failed) {
		e.Err = err
	}
}
