package toolsearch

import (
	"cmp"
	"container/list"
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/llm"
)

// session is what is known about one session.
type session struct {
	id string

	mu      sync.Mutex // guards the fields below
	loaded  bool
	warm    warmSet
	base    warmSet // the set when the last step began
	recent  []touch // since then
	step    *step
	streak  int // searches of the step's turn since its last call of a tool
	preload preloadState

	suggested map[string]bool // tools whose schema a refused call was answered with
}

// step is what the last model call of a session was shown.
type step struct {
	turn    string
	split   *split
	reveal  string
	visible []core.Tool // the viewer's list then
	shown   map[string]bool
}

// touch is a use of tools by one call.
type touch struct {
	CallID string   `json:"-"`
	Kind   string   `json:"kind"`
	Names  []string `json:"names"`
}

// The kinds of touches.
const (
	touchSearch   = "search"
	touchDescribe = "describe"
	touchCall     = "call"
	touchPreload  = "preload"
	touchOrder    = "order"   // parallel searches, put into the order of their calls
	touchRecover  = "recover" // from a history without events
	touchFailed   = "failed"  // a preload that failed
	warmEventKind = "toolsearch:warm"
)

// warmEvent is what a session keeps of its set: the touch and the whole set
// after it.
type warmEvent struct {
	touch
	Warm    []warmTool   `json:"warm"`
	Preload preloadState `json:"preload"`
}

// preloadState says how far preloading a session has come, and what it found.
type preloadState struct {
	Done  bool     `json:"done,omitempty"`
	Tries int      `json:"tries,omitempty"`
	Names []string `json:"names,omitempty"`
}

// sessions holds the sessions that were active last, and all that are in a
// turn. A session that leaves keeps its events.
type sessions struct {
	mu    sync.Mutex // guards the fields below
	byID  map[string]*list.Element
	lru   *list.List        // of *session, latest first
	turns map[string]string // by session: the turn that it is in
}

func newSessions() *sessions {
	return &sessions{byID: make(map[string]*list.Element), lru: list.New(), turns: make(map[string]string)}
}

// get finds or makes a session for a step of a turn ("" = of none). Without an
// id there is none: callers without a session must not share one.
func (k *sessions) get(id, turn string, max int) *session {
	if id == "" {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if turn != "" {
		k.turns[id] = turn
	}
	if e := k.byID[id]; e != nil {
		k.lru.MoveToFront(e)
		return e.Value.(*session)
	}
	ses := &session{id: id}
	k.byID[id] = k.lru.PushFront(ses)
	k.evict(max)
	return ses
}

// evict drops the sessions past the limit that were not active for longest,
// but none that is in a turn and not the latest. mu is held.
func (k *sessions) evict(max int) {
	e := k.lru.Back()
	for e != k.lru.Front() && k.lru.Len() > max {
		last := e
		e = e.Prev()
		if id := last.Value.(*session).id; k.turns[id] == "" {
			delete(k.byID, id)
			k.lru.Remove(last)
		}
	}
}

// ended notes that a session's turn is over.
func (k *sessions) ended(id, turn string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.turns[id] == turn {
		delete(k.turns, id)
	}
}

// peek finds a session that is held.
func (k *sessions) peek(id string) *session {
	k.mu.Lock()
	defer k.mu.Unlock()
	if e := k.byID[id]; e != nil {
		return e.Value.(*session)
	}
	return nil
}

// forget drops one session, or all.
func (k *sessions) forget(id string, all bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if all {
		clear(k.byID)
		k.lru.Init()
		return
	}
	if e := k.byID[id]; e != nil {
		delete(k.byID, id)
		k.lru.Remove(e)
	}
}

// load reads the set from the session's events, or else from what the
// conversation shows; then it tells so. The caller holds mu.
func (ses *session) load(ctx context.Context, history []llm.Message, sp *split) (recovered bool) {
	if ses.loaded {
		return false
	}
	ses.loaded = true
	e, known := lastWarmEvent(ctx)
	if known {
		ses.warm.tools, ses.preload = e.Warm, e.Preload
		for _, t := range e.Warm {
			ses.warm.clock = max(ses.warm.clock, t.Used)
		}
		return false
	}
	for _, names := range evidence(history) {
		names = slices.DeleteFunc(names, func(n string) bool { return !sp.isDeferred(n) })
		ses.warm.touch(names, sp.limits(revealNative))
	}
	if len(history) > 1 {
		ses.preload.Done = true // the first message was answered without
	}
	return len(ses.warm.tools) > 0
}

// lastWarmEvent finds what the open session of a turn says about the set. A
// set that was cleared is known to be empty.
func lastWarmEvent(ctx context.Context) (e warmEvent, ok bool) {
	open, ok := core.SessionFrom(ctx)
	if !ok {
		return e, false
	}
	events, err := open.Events(ctx)
	if err != nil {
		return e, false
	}
	for _, ev := range slices.Backward(events) {
		switch ev.Kind {
		case warmEventKind:
			if json.Unmarshal(ev.Data, &e) == nil {
				return e, true
			}
		case core.EventCleared:
			var r core.ClearRequest
			if json.Unmarshal(ev.Data, &r) == nil && clears(r) {
				return warmEvent{}, true
			}
		}
	}
	return e, false
}

// apply makes a touch part of the set. The caller holds mu.
func (ses *session) apply(t touch, l limits) {
	ses.recent = append(ses.recent, t)
	ses.warm.touch(t.Names, l)
}

// reorder puts what happened since the last step into the order of the calls:
// parallel searches end in any order. It tells whether that changed the set.
// The caller holds mu.
func (ses *session) reorder(history []llm.Message, l limits) bool {
	if len(ses.recent) < 2 {
		return false
	}
	place := make(map[string]int)
	for _, m := range history {
		for _, c := range m.Calls() {
			place[c.ID] = len(place) + 1
		}
	}
	ordered := slices.Clone(ses.recent)
	slices.SortStableFunc(ordered, func(a, b touch) int {
		return cmp.Compare(place[outerID(a.CallID)], place[outerID(b.CallID)])
	})
	warm := ses.base.clone()
	for _, t := range ordered {
		warm.touch(t.Names, l)
	}
	changed := !slices.Equal(warm.tools, ses.warm.tools)
	ses.warm = warm
	return changed
}

// save appends the set to the session's log, if a turn has it open. The
// caller holds mu.
func (ses *session) save(ctx context.Context, t touch) error {
	open, ok := core.SessionFrom(ctx)
	if !ok {
		return nil
	}
	data, err := json.Marshal(warmEvent{touch: t, Warm: ses.warm.tools, Preload: ses.preload})
	if err != nil {
		return err
	}
	return open.Append(ctx, core.SessionEvent{Kind: warmEventKind, Data: data})
}
