package mcp

import (
	"context"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxSeats is how many sessions a mount keeps. Clients that vanish without a
// word would else fill the memory; one whose session was taken away finds it
// gone and begins a new one.
const maxSeats = 256

// seats gives the place of the session that was silent for longest to the
// newest, when there are too many, and ends sessions that are silent for very
// long.
type seats struct {
	max  int
	idle time.Duration

	mu    sync.Mutex // guards the fields below, and used, busy and open of each seat
	taken map[*mcp.ServerSession]*seat
	byID  map[string]*seat
}

// A seat is what is kept of one session.
type seat struct {
	session *mcp.ServerSession
	used    time.Time
	busy    int         // calls and the like that are under way
	open    int         // streams on which the client listens
	silence *time.Timer // ends the session

	mu    sync.Mutex // guards the fields below, see express.go
	over  bool
	calls map[string]context.CancelCauseFunc // under way, by the client's id
	asks  map[string]chan message            // requests to the client, by ours
	asked int
}

func newSeats(max int, idle time.Duration) *seats {
	return &seats{max: max, idle: idle, taken: map[*mcp.ServerSession]*seat{}, byID: map[string]*seat{}}
}

// take gives a session a place, unless it has one. One without an id, which
// is that of a client on a pipe, needs none: it ends with the pipe.
func (s *seats) take(ss *mcp.ServerSession) {
	if ss.ID() == "" {
		return
	}
	seat := &seat{
		session: ss, used: time.Now(),
		calls: map[string]context.CancelCauseFunc{}, asks: map[string]chan message{},
	}
	s.mu.Lock()
	if s.taken[ss] != nil {
		s.mu.Unlock()
		return
	}
	var victim *mcp.ServerSession
	if len(s.taken) >= s.max {
		victim = s.victim()
		s.drop(victim)
	}
	seat.silence = time.AfterFunc(s.idle, func() { s.expire(seat) })
	s.taken[ss], s.byID[ss.ID()] = seat, seat
	s.mu.Unlock()
	if victim != nil {
		go func() { _ = victim.Close() }()
	}
	go func() {
		_ = ss.Wait()
		seat.silence.Stop()
		seat.close()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.drop(ss)
	}()
}

// drop forgets a session; s.mu is held.
func (s *seats) drop(ss *mcp.ServerSession) {
	if seat := s.taken[ss]; seat != nil {
		delete(s.taken, ss)
		delete(s.byID, ss.ID())
	}
}

// expire ends a session that was silent, and looks again later at one that was
// not.
func (s *seats) expire(seat *seat) {
	s.mu.Lock()
	left := s.idle - time.Since(seat.used)
	if seat.busy+seat.open > 0 {
		left = s.idle
	}
	s.mu.Unlock()
	if left > 0 {
		seat.silence.Reset(left)
		return
	}
	_ = seat.session.Close()
}

// of gives the seat of a session's id, nil if there is none.
func (s *seats) of(id string) *seat {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byID[id]
}

// victim is the session that goes for a new one: the one that was used longest
// ago of those that do nothing, or, if there is none, of those that only
// listen; s.mu is held.
func (s *seats) victim() *mcp.ServerSession {
	var found *seat
	for _, seat := range s.taken {
		if seat.busy == 0 && (found == nil || seat.before(found)) {
			found = seat
		}
	}
	if found == nil {
		return nil
	}
	return found.session
}

func (s *seat) before(t *seat) bool {
	if (s.open > 0) != (t.open > 0) {
		return s.open == 0
	}
	return s.used.Before(t.used)
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
	return s.hold(seat, &seat.busy)
}

// listens keeps a session from falling silent while its client has a stream
// open.
func (s *seats) listens(id string) (done func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	seat := s.byID[id]
	if seat == nil {
		return func() {}
	}
	return s.hold(seat, &seat.open)
}

// hold counts one more of a seat's uses; s.mu is held.
func (s *seats) hold(seat *seat, uses *int) (done func()) {
	*uses++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		*uses--
		seat.used = time.Now()
	}
}
