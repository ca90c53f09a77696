package core

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"
)

// A driver moves one fiber to where it is wanted: a goroutine that exists
// only while there is something to do, so that at most one step of a fiber
// runs at any time. What is wanted (mounted, config, nonce, the provisions
// that are there) stands beside what is (state, activation); next compares
// the two, and a finished step counts only if it is still the wanted one.

// kick starts f's driver if there is a step to take, and tells a load that
// became unwanted. The lock is held.
func (h *Host) kick(f *Fiber) {
	if f.driving {
		if f.state == Loading && f.act.stale() {
			f.act.cancel(f.act.cause())
		}
		return
	}
	if f.next() == stepNone {
		return
	}
	f.driving = true
	h.spawn(f.drive)
}

func (f *Fiber) drive() {
	h := f.host
	rested := false
	defer func() {
		if !rested {
			h.spawn(f.resume)
		}
	}()
	h.yield("drive")
	h.mu.Lock()
	for {
		s := f.next()
		if s == stepNone {
			break
		}
		f.take(s)
		if h.seam != nil {
			h.mu.Unlock()
			h.yield("step")
			h.mu.Lock()
		}
	}
	f.driving = false
	if f.settled != nil {
		close(f.settled)
		f.settled = nil
	}
	rested = true
	h.mu.Unlock()
}

// resume goes on for a driver whose goroutine was ended by plugin code, which
// is what testing.T.FailNow does.
func (f *Fiber) resume() {
	f.host.mu.Lock()
	if f.act != nil && f.act.failure == nil {
		f.act.failure = errGoexit
		f.report(f.state.String(), errGoexit)
	}
	f.host.mu.Unlock()
	f.drive()
}

// take takes one step. Like the methods below it is called with the lock
// held and returns with it, but releases it around plugin code and waits.
func (f *Fiber) take(s step) {
	f.startWatch()
	defer f.stopWatch()
	switch s {
	case stepLoad:
		f.load()
	case stepReconfigure:
		f.reconfigure()
	case stepUnload:
		f.unload()
	case stepReject:
		f.reject()
	case stepPend:
		f.become(Pending, nil)
	case stepDispose:
		f.dispose()
	}
}

// reject fails a fiber whose config is invalid; Apply never runs.
func (f *Fiber) reject() {
	f.failed = failure{revision: f.revision, nonce: f.nonce}
	if f.state == Failed {
		return
	}
	f.report("config", f.invalid)
	f.become(Failed, f.invalid)
}

// become publishes a new state.
func (f *Fiber) become(s State, err error) {
	e := FiberStateEvent{Fiber: f, Old: f.state, New: s, Err: err}
	f.state, f.err, f.since = s, err, time.Now()
	h := f.host
	if !h.listened(FiberStateChanged.h) {
		return
	}
	h.mu.Unlock()
	if err := FiberStateChanged.Emit(&f.driver, e); err != nil {
		h.opts.Logger.Error("listener of fiber:state", "err", err)
	}
	h.mu.Lock()
}

func (f *Fiber) load() {
	h := f.host
	act := f.newActivation()
	f.act = act
	f.become(Loading, nil)
	var err error
	if !act.stale() {
		h.mu.Unlock()
		h.yield("apply")
		err = f.guard("apply", nil, func() error { return f.plugin.apply(&act.scope, act.config) })
		h.mu.Lock()
	}
	switch {
	case act.stale() && act.failure == nil:
		if err != nil {
			f.say(slog.LevelDebug, "load that was no longer wanted failed", "err", err)
		}
		f.unload()
	case err != nil || act.failure != nil:
		if act.failure == nil {
			act.failure = err
			f.report("apply", err)
		}
		f.unload()
	default:
		f.become(Active, nil)
		f.publish()
	}
}

// publish makes the services of an active fiber available to others.
func (f *Fiber) publish() {
	if f.act.outdated() {
		return
	}
	f.act.phase.Store(phaseActive)
	for _, p := range f.act.provisions {
		p.offer(f.host)
	}
}

// unload undoes the activation and decides where that leaves the fiber.
func (f *Fiber) unload() {
	act := f.act
	act.phase.Store(phaseClosing)
	f.become(Unloading, nil)
	f.host.recheck()
	err := f.host.teardown(act)
	act.phase.Store(phaseGone)
	f.failed = failure{act.revision, act.nonce, act.boundTo()}
	f.act = nil
	if f.mounted && err != nil {
		f.say(slog.LevelWarn, "undo failed", "err", err)
	}
	switch {
	case !f.mounted:
		f.undoErr = err
		f.dispose()
	case act.failure != nil:
		f.become(Failed, act.failure)
		f.retryLater(act)
	default:
		f.become(Pending, nil)
	}
	act.end()
}

func (f *Fiber) dispose() {
	f.forget()
	f.become(Disposed, nil)
	f.finished = true
	f.node.finish(f.undoErr)
	if f.gone != nil {
		close(f.gone)
	}
}

// reconfigure offers the new config to the running plugin.
func (f *Fiber) reconfigure() {
	h, act := f.host, f.act
	cfg, revision := f.config, f.revision
	n := &node{kind: KindScope, label: "reconfigure"}
	act.root.append(n)
	h.mu.Unlock()
	h.yield("reconfigure")
	var accepted bool
	err := f.guard("reconfigure", nil, func() (err error) {
		accepted, err = f.plugin.reconfigure(act.scope.at(n), act.config, cfg)
		return err
	})
	h.mu.Lock()
	if err == nil && accepted {
		act.config, act.revision = cfg, revision
		n.dissolve()
		return
	}
	n.state = nodeStopping
	if undo := h.dismantle(n); undo != nil {
		f.say(slog.LevelWarn, "undo failed", "err", undo)
	}
	var p *PanicError
	switch {
	case errors.As(err, &p):
		f.report("reconfigure", err)
		act.restart = true
	case err == nil:
		act.restart = true
	default:
		f.refuse(revision, err)
	}
}

// refuse goes back to the config that is applied.
func (f *Fiber) refuse(revision uint64, err error) {
	f.refused = refusal{revision, fmt.Errorf("%s: reconfigure: %w", f.path(), err)}
	if f.revision == revision {
		f.config, f.act.revision = f.act.config, revision
	}
}

// dissolve moves what n contains to its parent, and what is registered
// through it from now on.
func (n *node) dissolve() {
	p := n.parent
	for c := n.first; c != nil; c = n.first {
		c.detach()
		p.append(c)
	}
	n.finish(nil)
	n.moved = p
}

// fail ends an activation because one of its goroutines failed.
func (f *Fiber) fail(act *activation, err error, retry *Backoff) {
	if f.act != act || act.failure != nil || !act.accepts() {
		f.say(slog.LevelDebug, "goroutine failed while unloading", "err", err)
		return
	}
	act.failure, act.backoff = err, retry
	f.host.kick(f)
	f.report("goroutine", err)
}

// retryLater restarts a failed fiber when a Backoff asks for it.
func (f *Fiber) retryLater(act *activation) {
	if act.backoff == nil || !f.mounted {
		return
	}
	if time.Since(act.begun) > act.backoff.limit() {
		f.attempts = 0
	}
	if f.retry != nil {
		f.retry.Stop()
	}
	nonce := f.nonce
	f.retry = time.AfterFunc(act.backoff.delay(f.attempts), func() {
		f.host.mu.Lock()
		defer f.host.mu.Unlock()
		if f.state == Failed && f.nonce == nonce {
			f.nonce++
			f.host.kick(f)
		}
	})
	f.attempts++
}

// report logs a failure, once, with the plugin's name.
func (f *Fiber) report(what string, err error) {
	f.say(slog.LevelError, "plugin failed", "in", what, "err", err)
}

// say logs. The lock is held and released meanwhile: a handler may well be a
// plugin's, and come back to the host.
func (f *Fiber) say(level slog.Level, msg string, args ...any) {
	f.host.mu.Unlock()
	defer f.host.mu.Lock()
	f.logger().Log(context.Background(), level, msg, args...)
}

// guard is the boundary through which all plugin code is called: it turns a
// panic into an error that names the fiber. what and n together say what ran.
func (f *Fiber) guard(what string, n *node, run func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = f.panicked(what, n, v)
		}
	}()
	return run()
}

func (f *Fiber) panicked(what string, n *node, v any) error {
	if n != nil {
		if what != "" {
			what += " "
		}
		what += n.String()
	}
	return &PanicError{f.Path(), what, v, debug.Stack()}
}
