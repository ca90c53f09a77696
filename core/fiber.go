package core

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"
)

// A Fiber is one loaded plugin. Its methods may be called from any goroutine.
//
// Methods that wait take a context, and should be given that of the call in
// which they are used: they return [ErrSelfWait] rather than wait in a circle.
type Fiber struct {
	host   *Host
	uid    uint64
	plugin AnyPlugin
	info   PluginInfo // of plugin
	name   string
	anon   bool
	parent *Fiber   // nil for the root
	base   *Context // what Load was called on
	driver frameCtx // of calls made by the driver
	log    atomic.Pointer[slog.Logger]

	// What follows is guarded by the host's lock.
	node node // its place in the parent's tree

	// What is wanted.
	mounted  bool
	config   any
	invalid  error  // config can't be applied
	revision uint64 // of config
	nonce    uint64 // counts restarts
	deps     []dependency

	// What is.
	state   State
	err     error
	since   time.Time
	act     *activation // from Loading to the end of Unloading
	failed  failure     // when it became Failed
	refused refusal     // by Reconfigure

	driving  bool
	settled  chan struct{} // closed when the driver rests; made when someone waits
	gone     chan struct{} // closed when Disposed; made when someone waits
	finished bool          // Disposed, and that was published
	undoErr  error         // of the disposal
	watchdog *time.Timer
	retry    *time.Timer // of a goroutine's Backoff
	attempts int         // in a row that the Backoff counts

	position  int // of its entry among its siblings, if placed
	placed    bool
	positions []int // from the root down
}

// failure is what was tried when a fiber failed: it is tried again when that
// has changed.
type failure struct {
	revision, nonce uint64
	provisions      []*provision
}

type refusal struct {
	revision uint64
	err      error
}

// forget takes the fiber off the tables of realms.
func (f *Fiber) forget() {
	for i := range f.deps {
		f.deps[i].realm.dependents.remove(&f.deps[i])
	}
	for _, p := range f.info.Provides {
		r := f.base.realmOf(p.handle())
		r.declarers = slices.DeleteFunc(r.declarers, func(g *Fiber) bool { return g == f })
	}
}

// end disposes the fiber as a part of its parent's tree.
func (f *Fiber) end(h *Host) error {
	f.unmount()
	done := f.whenGone()
	h.mu.Unlock()
	h.block(done, nil, nil, 0)
	h.mu.Lock()
	return f.undoErr
}

func (f *Fiber) leave(*Host) {}

// UID identifies the fiber; it is never reused in a host. The root's is 0.
func (f *Fiber) UID() uint64 { return f.uid }

// Name returns the name given with Named, else the plugin's, else the parent's.
func (f *Fiber) Name() string { return f.name }

// Path returns the names from the root down, e.g. "root/group:research/agent:reader".
func (f *Fiber) Path() string { return f.path() }

func (f *Fiber) path() string {
	if f.parent == nil {
		return f.name
	}
	if f.anon {
		return f.parent.path()
	}
	return f.parent.path() + "/" + f.name
}

func (f *Fiber) String() string { return f.path() }

// Plugin describes the fiber's plugin.
func (f *Fiber) Plugin() PluginInfo { return f.info }

// Parent returns the fiber that this one was loaded by, nil for the root.
func (f *Fiber) Parent() *Fiber { return f.parent }

// State returns the state at this moment.
func (f *Fiber) State() State {
	f.host.mu.Lock()
	defer f.host.mu.Unlock()
	return f.state
}

// Since returns when the state was entered.
func (f *Fiber) Since() time.Time {
	f.host.mu.Lock()
	defer f.host.mu.Unlock()
	return f.since
}

// Err returns why the fiber is Failed, or, when it is Pending because it
// takes part in a cycle of required services, a [*CycleError].
func (f *Fiber) Err() error {
	f.host.mu.Lock()
	defer f.host.mu.Unlock()
	return f.errLocked()
}

func (f *Fiber) errLocked() error {
	if f.state != Pending {
		return f.err
	}
	if c := f.cycle(); c != nil {
		return c
	}
	return nil
}

// Config returns the config that is wanted now; it may not be applied yet.
func (f *Fiber) Config() any {
	f.host.mu.Lock()
	defer f.host.mu.Unlock()
	return f.config
}

// Children returns the fibers loaded by this one's present activation, in
// the order of loading.
func (f *Fiber) Children() []*Fiber {
	f.host.mu.Lock()
	defer f.host.mu.Unlock()
	return f.children()
}

func (f *Fiber) children() []*Fiber {
	var fs []*Fiber
	if f.act != nil {
		f.act.root.walk(func(n *node) {
			if child, ok := n.part.(*Fiber); ok {
				fs = append(fs, child)
			}
		})
	}
	return fs
}

// Effects returns the tree of what is registered, in order of registration.
func (f *Fiber) Effects() []EffectInfo {
	f.host.mu.Lock()
	defer f.host.mu.Unlock()
	if f.act == nil {
		return nil
	}
	return f.act.root.infos()
}

// Done is closed when the fiber is disposed.
func (f *Fiber) Done() <-chan struct{} {
	f.host.mu.Lock()
	defer f.host.mu.Unlock()
	return f.whenGone()
}

func (f *Fiber) whenGone() <-chan struct{} {
	if f.gone == nil {
		f.gone = make(chan struct{})
		if f.finished {
			close(f.gone)
		}
	}
	return f.gone
}

// Wait returns when nothing is in flight for the fiber: nil if it is Active
// or Pending, its error if it is Failed, [ErrDisposed] if Disposed, a
// [*CycleError] if it waits in a cycle. It does not wait for children.
func (f *Fiber) Wait(ctx context.Context) error {
	f.host.mu.Lock()
	return f.settle(ctx)
}

// settle is Wait with the lock held on entry, released on return.
func (f *Fiber) settle(ctx context.Context) error {
	for f.driving {
		if f.settled == nil {
			f.settled = make(chan struct{})
		}
		if err := f.host.await(ctx, target{fiber: f}, f.settled); err != nil {
			return err
		}
		f.host.mu.Lock()
	}
	defer f.host.mu.Unlock()
	if f.state == Disposed {
		return ErrDisposed
	}
	return f.errLocked()
}

// Ready returns when the fiber is Active and at rest, or with the error that
// Wait would return. It waits also while the fiber is Pending.
func (f *Fiber) Ready(ctx context.Context) error {
	for {
		if err := f.Wait(ctx); err != nil {
			return err
		}
		f.host.mu.Lock()
		if f.state != Pending || f.driving {
			active := f.state == Active && !f.driving
			f.host.mu.Unlock()
			if active {
				return nil
			}
			continue
		}
		if f.settled == nil {
			f.settled = make(chan struct{})
		}
		if err := f.host.await(ctx, target{fiber: f, ready: true}, f.settled); err != nil {
			return err
		}
	}
}

// Update sets a new config given as JSON and waits like Wait. A config that
// is not valid is returned as a [*ConfigError] and changes nothing, and so
// does one that Reconfigure refuses. An equal config restarts all the same.
func (f *Fiber) Update(ctx context.Context, raw json.RawMessage) error {
	cfg, err := f.plugin.decode(raw)
	return f.update(ctx, cfg, err)
}

// Update is [Fiber.Update] with a typed config.
func Update[C any](ctx context.Context, f *Fiber, cfg C) error {
	return f.update(ctx, cfg, f.plugin.check(cfg))
}

func (f *Fiber) update(ctx context.Context, cfg any, invalid error) error {
	f.host.mu.Lock()
	if !f.mounted {
		defer f.host.mu.Unlock()
		return ErrDisposed
	}
	if invalid != nil {
		defer f.host.mu.Unlock()
		return invalid
	}
	f.config, f.invalid = cfg, nil
	f.revision++
	revision := f.revision
	f.host.kick(f)
	if err := f.settle(ctx); err != nil {
		return err
	}
	f.host.mu.Lock()
	defer f.host.mu.Unlock()
	if f.refused.revision == revision {
		return f.refused.err
	}
	return nil
}

// Restart unloads the fiber and loads it again, and waits like Wait. A Failed
// fiber is tried again.
func (f *Fiber) Restart(ctx context.Context) error {
	f.host.mu.Lock()
	if !f.mounted {
		defer f.host.mu.Unlock()
		return ErrDisposed
	}
	f.nonce++
	f.attempts = 0
	f.host.kick(f)
	return f.settle(ctx)
}

// Dispose ends the fiber for good and waits until it and everything below it
// is gone, its goroutines included. It returns the joined errors of the undos
// of that teardown; every caller gets the same. When ctx ends first it
// returns a [*StuckError] that names what holds it up, and the teardown goes
// on.
func (f *Fiber) Dispose(ctx context.Context) error {
	f.host.mu.Lock()
	f.unmount()
	if f.finished {
		defer f.host.mu.Unlock()
		return f.undoErr
	}
	if err := f.host.await(ctx, target{fiber: f, dispose: true}, f.whenGone()); err != nil {
		return err
	}
	f.host.mu.Lock()
	defer f.host.mu.Unlock()
	return f.undoErr
}

func (f *Fiber) unmount() {
	f.mounted = false
	if f.retry != nil {
		f.retry.Stop()
	}
	f.host.kick(f)
}

// below reports whether g is an ancestor of f.
func (f *Fiber) below(g *Fiber) bool {
	for p := f.parent; p != nil; p = p.parent {
		if p == g {
			return true
		}
	}
	return false
}

// sees reports whether g is f or an ancestor of f.
func (f *Fiber) sees(g *Fiber) bool { return f == g || f.below(g) }

func (f *Fiber) logger() *slog.Logger {
	if l := f.log.Load(); l != nil {
		return l
	}
	l := f.host.opts.Logger.With("plugin", f.info.Name, "fiber", f.path())
	f.log.Store(l)
	return l
}
