package core

import (
	"log/slog"
	"time"
)

// startWatch begins to watch the step that the driver takes. One timer a
// fiber is enough: at most one step runs. The lock is held.
func (f *Fiber) startWatch() {
	d := f.host.opts.Watchdog
	if f.watchdog == nil {
		f.watchdog = time.AfterFunc(d, f.bark)
		return
	}
	f.watchdog.Reset(d)
}

func (f *Fiber) stopWatch() { f.watchdog.Stop() }

func (f *Fiber) bark() {
	f.host.mu.Lock()
	defer f.host.mu.Unlock()
	if !f.driving {
		return
	}
	f.watchdog.Reset(f.host.opts.Watchdog)
	culprit, what := f.stuck()
	culprit.say(slog.LevelWarn, "plugin hangs", "in", what, "after", f.host.opts.Watchdog)
}

// watchNode watches a node that is stopped by itself.
func (h *Host) watchNode(n *node) (stop func() bool) {
	t := time.AfterFunc(h.opts.Watchdog, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if n.state == nodeStopping {
			culprit, what := n.stuck()
			culprit.say(slog.LevelWarn, "plugin hangs", "in", what, "after", h.opts.Watchdog)
		}
	})
	return t.Stop
}

// stuck names what holds up f's present step. The lock is held.
func (f *Fiber) stuck() (culprit *Fiber, what string) {
	switch {
	case f.act == nil:
		return f, f.state.String()
	case f.state == Loading:
		return f, "apply"
	case f.state == Active:
		return f, "reconfigure"
	}
	if c := f.act.lastUser(); c != nil && c.fiber != f {
		return c.fiber.stuck()
	}
	if f.act.waitOn != "" {
		return f, f.act.waitOn
	}
	return f.act.root.stuck()
}

// stuck names the innermost node that is being undone.
func (n *node) stuck() (*Fiber, string) {
	for c := n.last; c != nil; c = c.prev {
		if c.state == nodeLive {
			continue
		}
		if child, ok := c.part.(*Fiber); ok {
			return child.stuck()
		}
		return c.stuck()
	}
	f := n.act.fiber
	switch {
	case f.act != nil && f.act.waitOn != "":
		return f, f.act.waitOn
	case n.state == nodeStarting:
		return f, "start of " + n.String()
	}
	return f, "undo of " + n.String()
}
