package mcp

import (
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxSeats is how many sessions a mount keeps. Clients that vanish without a
// word would else fill the memory; one whose session was taken away finds it
// gone and begins a new one.
const maxSeats = 256

// seats gives the place of the session that was silent for longest to the
// newest, when there are too many.
type seats struct {
	max int

	mu    sync.Mutex // guards taken
	taken map[*mcp.ServerSession]*seat
}

type seat struct {
	used time.Time
	busy int
}

func newSeats(max int) *seats {
	return &seats{max: max, taken: map[*mcp.ServerSession]*seat{}}
}

// take gives a new session a place.
func (s *seats) take(ss *mcp.ServerSession) {
	s.mu.Lock()
	var victim *mcp.ServerSession
	if len(s.taken) >= s.max {
		victim = s.silent()
		delete(s.taken, victim)
	}
	s.taken[ss] = &seat{used: time.Now()}
	s.mu.Unlock()
	if victim != nil {
		go func() { _ = victim.Close() }()
	}
	go func() {
		_ = ss.Wait()
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.taken, ss)
	}()
}

// silent is the session that was used longest ago and has nothing under way;
// s.mu is held.
func (s *seats) silent() *mcp.ServerSession {
	var found *mcp.ServerSession
	for ss, seat := range s.taken {
		if seat.busy == 0 && (found == nil || seat.used.Before(s.taken[found].used)) {
			found = ss
		}
	}
	return found
}

func (s *seats) touch(ss *mcp.ServerSession) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if seat := s.taken[ss]; seat != nil {
		seat.used = time.Now()
	}
}

// busy keeps a session's place while something of it is under way.
func (s *seats) busy(ss *mcp.ServerSession) (done func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	seat := s.taken[ss]
	if seat == nil {
		return func() {}
	}
	seat.busy++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		seat.busy--
		seat.used = time.Now()
	}
}
