package agent

import "sync"

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
		m.drop(session)
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

func (m *mailbox) drop(session string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.notes[session] = m.notes[session][1:]; len(m.notes[session]) == 0 {
		delete(m.notes, session)
	}
}
