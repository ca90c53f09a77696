package agent

import (
	"maps"
	"sync"
)

// mailbox holds what jobs have to say until it is in the log of their session.
type mailbox struct {
	mu    sync.Mutex
	notes map[string][]note // by session, in the order of their jobs' ends
}

func (m *mailbox) put(session string, n note) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.notes == nil {
		m.notes = map[string][]note{}
	}
	m.notes[session] = append(m.notes[session], n)
}

// empty writes the notes for a session, one by one; one that could not be
// written stays, with those behind it. Only who has the session open may call
// it.
func (m *mailbox) empty(session string, write func(note) error) error {
	for {
		n, ok := m.first(session)
		if !ok {
			return nil
		}
		if err := write(n); err != nil {
			return err
		}
		m.drop(session, n)
	}
}

func (m *mailbox) first(session string) (n note, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if list := m.notes[session]; len(list) > 0 {
		return list[0], true
	}
	return n, false
}

// drop takes a note out, if nobody made the mailbox forget it meanwhile.
func (m *mailbox) drop(session string, n note) {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := m.notes[session]
	if len(list) == 0 || list[0].record != n.record {
		return
	}
	if m.notes[session] = list[1:]; len(list) == 1 {
		delete(m.notes, session)
	}
}

// forget drops all notes for some sessions.
func (m *mailbox) forget(of func(session string) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.notes, func(session string, _ []note) bool { return of(session) })
}
