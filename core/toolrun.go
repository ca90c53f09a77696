package core

import (
	"sync"
	"time"
)

// ToolRun is a tool's function under way, or one that has ended.
type ToolRun struct {
	Call  Call
	Began time.Time
	Ended time.Time // zero: it is under way
}

// LastWriter returns the call that is most likely behind a change just now:
// of the functions under way that do not only read the one that began first,
// else the one that ended last. A call in the background is under way for as
// long as its function is. ok is false if there was none yet.
func (t *Tools) LastWriter() (run ToolRun, ok bool) { return t.registry().writers.last() }

// writers knows the functions of tools that do not only read.
type writers struct {
	mu    sync.Mutex // guards the fields below
	runs  map[*flight]time.Time
	ended ToolRun // the last that did
}

func (w *writers) begin(f *flight) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.runs == nil {
		w.runs = map[*flight]time.Time{}
	}
	w.runs[f] = time.Now()
}

func (w *writers) end(f *flight) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = ToolRun{f.x.call, w.runs[f], time.Now()}
	delete(w.runs, f)
}

func (w *writers) last() (ToolRun, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var first *flight
	for f, began := range w.runs {
		if first == nil || began.Before(w.runs[first]) {
			first = f
		}
	}
	if first != nil {
		return ToolRun{Call: first.x.call, Began: w.runs[first]}, true
	}
	return w.ended, !w.ended.Ended.IsZero()
}
