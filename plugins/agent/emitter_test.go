package agent

import (
	"fmt"
	"sync"
	"testing"

	"github.com/agentd-host/agentd/core"
)

func TestEmitterKeepsTheOrderOfEachSender(t *testing.T) {
	last, inside, total := map[string]int{}, false, 0
	e := newEmitter(func(ev core.AgentEvent, _ bool) {
		if inside {
			t.Error("two events at the same time")
		}
		inside = true
		if ev.Step != last[ev.Tool]+1 {
			t.Errorf("%s: %d after %d", ev.Tool, ev.Step, last[ev.Tool])
		}
		last[ev.Tool] = ev.Step
		total++
		inside = false
	})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := range 200 {
				e.emit(core.AgentEvent{Tool: fmt.Sprint(i), Step: n + 1})
			}
		})
	}
	wg.Wait()
	e.end()
	if total != 1600 {
		t.Errorf("%d events", total)
	}
}

func TestEmitterTakesEventsFromItsOwnWatcher(t *testing.T) {
	var got []int
	var e *emitter
	e = newEmitter(func(ev core.AgentEvent, _ bool) {
		got = append(got, ev.Step)
		if ev.Step == 1 {
			e.emit(core.AgentEvent{Step: 2})
			e.emit(core.AgentEvent{Step: 3})
		}
	})
	e.emit(core.AgentEvent{Step: 1})
	if fmt.Sprint(got) != "[1 2 3]" {
		t.Errorf("got %v", got)
	}
}
