package toolpolicy

import (
	"slices"
	"sync"
	"time"

	"github.com/agentd-host/agentd/core"
)

// settle is how long after a call that writes a change of the policy may
// still be that call's doing: a watcher waits this long at most.
const settleTime = 2 * time.Second

// activity knows which calls that write or run programs are under way.
type activity struct {
	mu      sync.Mutex // guards the fields below
	running map[string]core.Call
	last    core.Call // that ended
	ended   time.Time
}

func newActivity() *activity { return &activity{running: map[string]core.Call{}} }

// callKey tells calls apart.
func callKey(c *core.Call) string { return c.Viewer.Session + "\x00" + c.ID }

func (a *activity) begin(c *core.Call) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.running[callKey(c)] = *c
}

func (a *activity) end(key string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if call, ok := a.running[key]; ok {
		delete(a.running, key)
		a.last, a.ended = call, time.Now()
	}
}

// culprit returns a call that could have changed a file just now.
func (a *activity) culprit() (core.Call, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	keys := make([]string, 0, len(a.running))
	for k := range a.running {
		keys = append(keys, k)
	}
	if len(keys) > 0 {
		return a.running[slices.Min(keys)], true
	}
	return a.last, !a.ended.IsZero() && time.Since(a.ended) < settleTime
}
