package loader

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/config"
)

// apply moves the host to a document. The turn is taken.
func (l *Loader) apply(ctx context.Context, doc *config.Document) error {
	a := &application{l: l, ctx: ctx, wants: wants(doc), byID: map[string]*want{}, keeps: map[string]bool{}}
	for _, w := range a.wants {
		a.byID[w.ID] = w
	}
	a.remove()
	a.reorder()
	a.change()
	a.again()
	a.restore()
	return a.err()
}

// application is one move to a document.
type application struct {
	l     *Loader
	ctx   context.Context
	wants []*want
	byID  map[string]*want
	keeps map[string]bool // memo of keep

	errs   []error
	failed []*attempt
	done   int // changes that succeeded so far, removals too
}

// attempt is a change that failed, and may succeed when others are done.
type attempt struct {
	w     *want
	s     *slot
	err   error
	after int // how many changes had succeeded by then
}

func (a *application) fail(w *want, err error) {
	a.errs = append(a.errs, &entryError{w.ID, fmt.Errorf("%s: %s: %w", w.Pos, w.Name(), err)})
}

// entryError is what went wrong with one entry.
type entryError struct {
	id  string
	err error
}

func (e *entryError) Error() string { return e.err.Error() }
func (e *entryError) Unwrap() error { return e.err }

// about is what of the error of a reload is not about other entries than this.
func about(err error, id string) error {
	var errs []error
	all, _ := err.(interface{ Unwrap() []error })
	if all == nil {
		return err
	}
	for _, err := range all.Unwrap() {
		var e *entryError
		if !errors.As(err, &e) || e.id == id {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (a *application) err() error {
	if err := context.Cause(a.ctx); err != nil {
		a.errs = append(a.errs, fmt.Errorf("the reload was cut short: %w", err))
	}
	return errors.Join(a.errs...)
}

// patient bounds the wait for one entry.
func (a *application) patient() (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(a.ctx, a.l.opts.Patience,
		fmt.Errorf("not done after %v; it goes on by itself", a.l.opts.Patience))
}

// keep reports whether the fiber of a slot is that of its entry in the new
// document, too, with whatever options. An entry that moved to another group
// keeps its fiber where it is, if that is still there and means the same.
func (a *application) keep(s *slot) bool {
	if k, known := a.keeps[s.id]; known {
		return k
	}
	a.keeps[s.id] = false // for a group that is inside itself, so to speak
	w := a.byID[s.id]
	k := w != nil && w.live && w.Plugin == s.plugin && s.fiber.State() != core.Disposed &&
		a.at(s.home) == w.narrow && a.keepHome(s.home)
	a.keeps[s.id] = k
	return k
}

func (a *application) keepHome(id string) bool {
	if id == "" {
		return true
	}
	home := a.l.slots[id]
	return home != nil && a.keep(home)
}

// at is what the groups from id up narrow in the new document.
func (a *application) at(id string) string {
	if id == "" {
		return ""
	}
	w := a.byID[id]
	if w == nil || w.Group == nil {
		return "gone"
	}
	return w.narrow + narrowing(w.Group)
}

// remove disposes what is not to be any more, last loaded first.
func (a *application) remove() {
	for _, id := range slices.Backward(slices.Clone(a.l.order)) {
		s := a.l.slots[id]
		if a.keep(s) {
			continue
		}
		ctx, cancel := a.patient()
		err := s.fiber.Dispose(ctx)
		cancel()
		if err != nil {
			a.errs = append(a.errs, &entryError{id, fmt.Errorf("%s: unloading: %w", s.name, err)})
		}
		a.done++
		a.l.forget(id)
		a.l.opts.Log.Info("unloaded", "entry", s.name)
	}
}

func (l *Loader) forget(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.slots, id)
	l.order = slices.DeleteFunc(l.order, func(other string) bool { return other == id })
}

func (a *application) reorder() {
	for _, w := range a.wants {
		if s := a.l.slots[w.ID]; s != nil {
			s.fiber.SetOrder(w.Order)
		}
	}
}

// change updates what has other options and loads what is new. Updates come
// first: they may free what a new entry needs.
func (a *application) change() {
	for _, w := range a.wants {
		if s := a.l.slots[w.ID]; s != nil && a.ctx.Err() == nil {
			a.update(s, w)
		}
	}
	var loaded []*attempt
	for _, w := range a.wants {
		if a.l.slots[w.ID] != nil || !w.live || a.ctx.Err() != nil {
			continue
		}
		s, err := a.load(w)
		if err != nil {
			a.fail(w, err)
			continue
		}
		if s.group != nil { // the context of its entries
			a.settle(s, w, a.wait(s))
			continue
		}
		loaded = append(loaded, &attempt{w: w, s: s})
	}
	for _, at := range loaded {
		a.settle(at.s, at.w, a.wait(at.s))
	}
}

func (a *application) update(s *slot, w *want) {
	if s.digest == w.Digest && s.fiber.State() != core.Failed {
		a.l.note(func() { s.err = nil })
		return
	}
	ctx, cancel := a.patient()
	defer cancel()
	a.settle(s, w, s.fiber.Update(ctx, w.Config))
}

func (a *application) wait(s *slot) error {
	ctx, cancel := a.patient()
	defer cancel()
	return s.fiber.Wait(ctx)
}

// load makes the fiber of an entry, and does not wait for it.
func (a *application) load(w *want) (*slot, error) {
	c, err := a.home(w.parent)
	if err != nil {
		return nil, err
	}
	s := &slot{id: w.ID, name: w.Name(), plugin: w.Plugin, home: w.parent}
	p := a.l.plugins[w.Plugin]
	if w.Group != nil {
		s.group = &group{}
		p = s.group.plugin()
	}
	if s.fiber, err = c.Load(p, w.Config, core.Named(w.Name()), core.Order(w.Order)); err != nil {
		return nil, err
	}
	a.l.mu.Lock()
	defer a.l.mu.Unlock()
	a.l.slots[w.ID] = s
	a.l.order = append(a.l.order, w.ID)
	return s, nil
}

// home is the context that the entries of a group are loaded on.
func (a *application) home(id string) (*core.Context, error) {
	if id == "" {
		return a.l.root, nil
	}
	if s := a.l.slots[id]; s != nil && s.group != nil {
		if c := s.group.context(); c != nil {
			return c, nil
		}
	}
	return nil, errors.New("its group did not start")
}

// settle notes how a change ended. What takes too long counts as made, since
// it goes on; what failed may be tried again.
func (a *application) settle(s *slot, w *want, err error) {
	if err != nil && !goesOn(err) {
		a.failed = append(a.failed, &attempt{w: w, s: s, err: err, after: a.done})
		return
	}
	a.l.note(func() {
		s.digest, s.options, s.err, s.good = w.Digest, w.Config, err, time.Now()
	})
	if err != nil {
		a.fail(w, err)
		return
	}
	a.done++
	a.l.opts.Log.Info("loaded", "entry", s.name, "fiber", s.fiber.UID())
}

// goesOn reports whether an error only says that somebody stopped waiting.
func goesOn(err error) bool {
	var stuck *core.StuckError
	return errors.As(err, &stuck) || errors.Is(err, core.ErrSelfWait)
}

// note changes a slot under the lock that Status reads it with.
func (l *Loader) note(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
}

// again tries once more what failed before another change was made: that may
// have freed a port or a name.
func (a *application) again() {
	failed := a.failed
	a.failed = nil
	for _, at := range failed {
		if at.after == a.done || a.ctx.Err() != nil {
			a.failed = append(a.failed, at)
			continue
		}
		ctx, cancel := a.patient()
		a.settle(at.s, at.w, at.s.fiber.Update(ctx, at.w.Config))
		cancel()
	}
}

// restore gives entries that failed with new options their old ones back. An
// entry that is new stays, Failed, and is tried again by the next reload.
func (a *application) restore() {
	for _, at := range a.failed {
		s, err := at.s, at.err
		if s.digest != "" && s.fiber.State() == core.Failed {
			ctx, cancel := a.patient()
			if e := s.fiber.Update(ctx, s.options); e != nil {
				err = fmt.Errorf("%w; additionally, restoring the old options: %w", err, e)
			} else {
				err = fmt.Errorf("%w; the old options are back", err)
			}
			cancel()
		}
		a.l.note(func() { s.err = err })
		a.fail(at.w, err)
		a.l.opts.Log.Error("failed", "entry", s.name, "err", err)
	}
}
