package toolpolicy

import (
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agentd-host/agentd/core"
)

// settleTime is how long after a call that writes a change of the policy may
// still be that call's doing: a watcher waits this long at most.
const settleTime = 2 * time.Second

// precedents are what hosts remember of their policies. An agent that has the
// plugin restarted must not get rid of what held before.
var precedents = core.NewHostValue(func() *precedent { return &precedent{} })

type precedent struct {
	policy atomic.Pointer[policy] // the last in force
	// stopper is the call under which the last activation ended, if it may
	// be the reason.
	stopper atomic.Pointer[core.Call]

	mu     sync.Mutex   // guards the field below
	askers []core.Asker // that joined when no call could have brought them
}

// suspect returns a call that could have changed a file just now.
func (p *policing) suspect() (core.Call, bool) {
	run, ok := p.c.Tools().LastWriter()
	return run.Call, ok && (run.Ended.IsZero() || time.Since(run.Ended) < settleTime)
}

// culprit is suspect, or who had this activation follow on another one.
func (p *policing) culprit() (core.Call, bool) {
	if call := p.before.stopper.Load(); call != nil {
		return *call, true
	}
	return p.suspect()
}

// vouch reports whether an asker that joins may be asked about the policy
// itself: not one that a call may have brought along. Those of the options
// are as good as the options, which are held with the policy.
func (p *policing) vouch(joins core.Asker, there []*asker) bool {
	_, ours := joins.(*configured)
	if !ours && !p.known(joins, there) {
		return false
	}
	p.joined.ring()
	return true
}

func (p *policing) known(joins core.Asker, there []*asker) bool {
	if !reflect.ValueOf(joins).Comparable() {
		return false
	}
	b := p.before
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, suspect := p.culprit(); suspect {
		return slices.Contains(b.askers, joins)
	}
	b.askers = []core.Asker{joins}
	for _, a := range there {
		if a.vouched {
			b.askers = append(b.askers, a.Asker)
		}
	}
	return true
}

// bell wakes all who wait. The zero value is ready.
type bell struct {
	mu      sync.Mutex // guards the field below
	waiting chan struct{}
}

// next is closed when the bell rings after now.
func (b *bell) next() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.waiting == nil {
		b.waiting = make(chan struct{})
	}
	return b.waiting
}

func (b *bell) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.waiting != nil {
		close(b.waiting)
		b.waiting = nil
	}
}
