package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/agentd-host/agentd/core"
)

// keptSessions bounds how many sessions the process holds; the one that was
// unused for longest goes first.
const keptSessions = 500

// store keeps sessions in the process. It stands in for core.Sessions while
// no plugin provides that; nothing of it outlives the process.
type store struct {
	mu       sync.Mutex // guards the fields below
	sessions map[string]*kept
}

// kept is one session of the store.
type kept struct {
	info   core.SessionInfo
	events []core.SessionEvent
	seq    int64 // of the last event that was written
	open   bool
}

func newStore() *store { return &store{sessions: map[string]*kept{}} }

// Durable is false: a session ends with the process.
func (s *store) Durable() bool { return false }

// Create begins a session.
func (s *store) Create(_ context.Context, info core.SessionInfo) (core.Session, error) {
	if info.ID == "" {
		info.ID = core.NewSessionID()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sessions[info.ID] != nil {
		return nil, fmt.Errorf("session %q exists already", info.ID)
	}
	s.evict()
	info.Created = time.Now()
	info.Updated = info.Created
	s.sessions[info.ID] = &kept{info: info, open: true}
	return &handle{s: s, id: info.ID}, nil
}

// evict makes room for one more. The caller holds the lock.
func (s *store) evict() {
	if len(s.sessions) < keptSessions {
		return
	}
	oldest := ""
	for id, k := range s.sessions {
		if !k.open && (oldest == "" || k.info.Updated.Before(s.sessions[oldest].info.Updated)) {
			oldest = id
		}
	}
	delete(s.sessions, oldest)
}

// Open opens a session of this process for writing.
func (s *store) Open(_ context.Context, id string) (core.Session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id == "last" {
		id = s.last()
	}
	k := s.sessions[id]
	if k == nil {
		return nil, fmt.Errorf("%w: %q; without the memory plugin sessions end with the process",
			core.ErrSessionUnknown, id)
	}
	if k.open {
		return nil, fmt.Errorf("%w: %s", core.ErrSessionBusy, id)
	}
	k.open = true
	return &handle{s: s, id: id}, nil
}

func (s *store) last() string {
	last := ""
	for id, k := range s.sessions {
		if last == "" || k.info.Updated.After(s.sessions[last].info.Updated) {
			last = id
		}
	}
	return last
}

// has tells whether there is such a session.
func (s *store) has(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sessions[id] != nil
}

// Read returns a session's events.
func (s *store) Read(_ context.Context, id string) ([]core.SessionEvent, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.sessions[id]
	if k == nil {
		return nil, fmt.Errorf("%w: %q", core.ErrSessionUnknown, id)
	}
	return slices.Clone(k.events), nil
}

// List gives the sessions, the one updated last first.
func (s *store) List(context.Context) ([]core.SessionInfo, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	infos := make([]core.SessionInfo, 0, len(s.sessions))
	for _, k := range s.sessions {
		infos = append(infos, k.info)
	}
	slices.SortFunc(infos, func(a, b core.SessionInfo) int {
		return cmp.Or(b.Updated.Compare(a.Updated), cmp.Compare(a.ID, b.ID))
	})
	return infos, nil
}

// Fork copies a session up to and with seq.
func (s *store) Fork(_ context.Context, id string, seq int64) (core.SessionInfo, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.sessions[id]
	if k == nil {
		return core.SessionInfo{}, fmt.Errorf("%w: %q", core.ErrSessionUnknown, id)
	}
	if seq < 0 || seq > k.seq {
		return core.SessionInfo{}, fmt.Errorf("session %s has events 1 to %d, not %d", id, k.seq, seq)
	}
	if seq == 0 {
		seq = k.seq
	}
	events := slices.DeleteFunc(slices.Clone(k.events), func(ev core.SessionEvent) bool { return ev.Seq > seq })
	s.evict()
	info := k.info
	info.ID, info.Parent, info.Created, info.Events = core.NewSessionID(), id, time.Now(), int64(len(events))
	info.Updated = info.Created
	s.sessions[info.ID] = &kept{info: info, events: events, seq: seq}
	return info, nil
}

// Delete carries out the innermost part of memory:clear.
func (s *store) Delete(_ context.Context, r core.ClearRequest) (core.ClearReport, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	report := core.ClearReport{}
	if !r.All && s.sessions[r.Session] == nil {
		return nil, fmt.Errorf("%w: %q", core.ErrSessionUnknown, r.Session)
	}
	for id, k := range s.sessions {
		if (r.All || id == r.Session) && k.open {
			return nil, fmt.Errorf("%w: %s", core.ErrSessionBusy, id)
		}
	}
	for id, k := range s.sessions {
		if r.All || id == r.Session {
			k.clear(r, report)
		}
		if r.All && len(r.Types) == 0 {
			delete(s.sessions, id)
			report["sessions"]++
		}
	}
	return report, nil
}

// clear drops what the request names, counts it by kind, and notes that it was
// done. The numbers of what stays do not change.
func (k *kept) clear(r core.ClearRequest, report core.ClearReport) {
	k.events = slices.DeleteFunc(k.events, func(ev core.SessionEvent) bool {
		kind, ok := r.Covers(ev.Kind)
		if ok {
			report[kind]++
		}
		return ok
	})
	if r.Wants(core.MemoryImages) {
		for i, ev := range k.events {
			data, n := core.WithoutImages(ev.Data)
			k.events[i].Data = data
			if n > 0 {
				report[core.MemoryImages] += n
			}
		}
	}
	if r.Wants(core.MemoryMessages) {
		k.info.Title = ""
	}
	k.seq++
	data, _ := json.Marshal(r) // plain strings: cannot be refused
	k.events = append(k.events, core.SessionEvent{Seq: k.seq, Time: time.Now(), Kind: core.EventCleared, Data: data})
	k.info.Events = int64(len(k.events))
}

// handle is a session that is open for writing.
type handle struct {
	s      *store
	id     string
	closed bool // guarded by s.mu
}

// ID is the session's name.
func (h *handle) ID() string { return h.id }

// Append writes events.
func (h *handle) Append(_ context.Context, events ...core.SessionEvent) error {
	h.s.mu.Lock()
	defer h.s.mu.Unlock()
	k := h.s.sessions[h.id]
	if h.closed || k == nil {
		return fmt.Errorf("session %s is closed", h.id)
	}
	now := time.Now()
	for _, ev := range events {
		k.seq++
		ev.Seq = k.seq
		if ev.Time.IsZero() {
			ev.Time = now
		}
		k.events = append(k.events, ev)
		if k.info.Title == "" {
			k.info.Title = core.SessionTitle(ev)
		}
	}
	k.info.Updated, k.info.Events = now, int64(len(k.events))
	return nil
}

// Events returns all events.
func (h *handle) Events(ctx context.Context) ([]core.SessionEvent, error) {
	return h.s.Read(ctx, h.id)
}

// Close gives up the right to write.
func (h *handle) Close() error {
	h.s.mu.Lock()
	defer h.s.mu.Unlock()
	if k := h.s.sessions[h.id]; k != nil && !h.closed {
		k.open = false
	}
	h.closed = true
	return nil
}

var (
	_ core.SessionStore = (*store)(nil)
	_ core.Session      = (*handle)(nil)
)
