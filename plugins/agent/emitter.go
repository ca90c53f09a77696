package agent

import (
	"context"
	"sync"
	"time"

	"github.com/agentd-host/agentd/core"
)

// emitter hands events on, one at a time and in order, from whatever
// goroutine they come. No lock is held while a watcher runs: who finds nobody
// delivering delivers, also what others add meanwhile.
type emitter struct {
	deliver func(ev core.AgentEvent, over bool)

	mu    sync.Mutex // guards the fields below
	queue []core.AgentEvent
	busy  bool
	over  bool       // end was called
	idle  *sync.Cond // signalled when busy ends
}

func newEmitter(deliver func(ev core.AgentEvent, over bool)) *emitter {
	e := &emitter{deliver: deliver}
	e.idle = sync.NewCond(&e.mu)
	return e
}

// emit adds an event. It has usually been delivered when emit returns; see
// end.
func (e *emitter) emit(ev core.AgentEvent) {
	e.mu.Lock()
	defer e.mu.Unlock()
	ev.Time = time.Now()
	e.queue = append(e.queue, ev)
	if e.busy {
		return
	}
	e.busy = true
	for len(e.queue) > 0 {
		next := e.queue[0]
		e.queue = e.queue[1:]
		e.unlocked(next)
	}
	e.queue, e.busy = nil, false
	e.idle.Broadcast()
}

// unlocked delivers one event without the lock, which it has again when it
// returns or panics.
func (e *emitter) unlocked(ev core.AgentEvent) {
	over := e.over
	e.mu.Unlock()
	defer e.mu.Lock()
	e.deliver(ev, over)
}

// end waits until everything that was emitted has been delivered; what comes
// later is delivered as being over. It must not be called by a watcher.
func (e *emitter) end() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for e.busy {
		e.idle.Wait()
	}
	e.over = true
}

// emit fills in what all events of the turn share.
func (t *turn) emit(ev core.AgentEvent) {
	ev.Agent, ev.Session, ev.Turn = t.agent.name, t.session.ID(), t.id
	if ev.Step == 0 {
		ev.Step = int(t.steps.Load())
	}
	t.events.emit(ev)
}

// deliver gives an event to the caller's watcher, until the turn is over, and
// to the host's bus. A watcher that panics is the caller's fault and ends
// nothing.
func (t *turn) deliver(ctx context.Context, watch func(core.AgentEvent)) func(core.AgentEvent, bool) {
	log := t.hub.c.Logger()
	return func(ev core.AgentEvent, over bool) {
		defer func() {
			if v := recover(); v != nil {
				log.Error("a watcher of the turn panicked", "event", ev.Kind, "panic", v)
			}
		}()
		if err := core.AgentEvents.Emit(ctx, ev); err != nil {
			log.Error("telling of an agent's event", "event", ev.Kind, "error", err)
		}
		if watch != nil && !over {
			watch(ev)
		}
	}
}
