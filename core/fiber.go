package core

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"
)

// State is where a fiber is in its life.
type State int

// The states of a fiber. A failed load passes Loading, Unloading, Failed; a
// restart Active, Unloading, Pending, Loading, Active.
const (
	Pending   State = iota // waits for a required service
	Loading                // Apply runs
	Active                 // loaded
	Unloading              // is being undone
	Failed                 // see Err; tried again on Update, Restart or another provider
	Disposed               // gone for good
)

var stateNames = [...]string{"pending", "loading", "active", "unloading", "failed", "disposed"}

func (s State) String() string {
	if s < 0 || int(s) >= len(stateNames) {
		return fmt.Sprintf("State(%d)", int(s))
	}
	return stateNames[s]
}

// FiberStateEvent is one change of a fiber's state.
type FiberStateEvent struct {
	Fiber    *Fiber
	Old, New State
	Err      error // why, if New is Failed
}

// FiberStateChanged is emitted once for each change, in order, before the
// fiber's next step: a listener that blocks holds up the fiber.
var FiberStateChanged = NewEvent[FiberStateEvent]("fiber:state")

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

// A LoadOption is an option of Load: [Named] or [Order].
type LoadOption interface{ load(*Fiber) }

type loadOption func(*Fiber)

func (o loadOption) load(f *Fiber) { o(f) }

// Named gives the fiber a name other than the plugin's.
func Named(name string) LoadOption {
	return loadOption(func(f *Fiber) { f.name, f.anon = name, false })
}

// OrderOption is what [Order] returns.
type OrderOption int

// Order is an option of listeners and of Load. Listeners with a smaller n run
// first, or further out; 0 is the default. For Load it is where the fiber's
// entry stands among its siblings in agent.yml: of equal order, listeners run
// by that. See [Fiber.SetOrder].
func Order(n int) OrderOption { return OrderOption(n) }

func (o OrderOption) load(f *Fiber) { f.position, f.placed = int(o), true }

// Load makes a fiber of a plugin and returns at once; Apply runs later, in
// another goroutine. The fiber ends with c's scope. The error is
// [ErrInactive]; what is wrong with the config or with Apply shows in the
// fiber.
func Load[C any](c *Context, p Plugin[C], cfg C, opts ...LoadOption) (*Fiber, error) {
	return c.load(p, cfg, p.check(cfg), opts)
}

// Load is the typeless form of the function Load: raw is the config as JSON;
// none at all is the zero config.
func (c *Context) Load(p AnyPlugin, raw json.RawMessage, opts ...LoadOption) (*Fiber, error) {
	cfg, err := p.decode(raw)
	return c.load(p, cfg, err, opts)
}

func (c *Context) load(p AnyPlugin, cfg any, invalid error, opts []LoadOption) (*Fiber, error) {
	info := p.Info()
	h := c.host
	f := &Fiber{
		host: h, plugin: p, info: info, name: info.Name, parent: c.fiber, base: c,
		mounted: true, config: cfg, invalid: invalid, since: time.Now(),
	}
	if f.name == "" {
		f.name, f.anon = c.fiber.name, true
	}
	for _, opt := range opts {
		opt.load(f)
	}
	f.driver = frameCtx{context.Background(), frame{host: h, fiber: f}}
	f.node = node{kind: KindPlugin, label: f.name, state: nodeLive, part: f}
	f.deps = make([]dependency, len(info.Needs))
	for i, n := range info.Needs {
		f.deps[i] = dependency{fiber: f, realm: c.realmOf(n.handle()), mode: n.mode()}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := c.registerLocked(&f.node); err != nil {
		return nil, err
	}
	f.uid = h.uids.Add(1)
	f.place()
	for i := range f.deps {
		f.deps[i].realm.dependents.add(&f.deps[i])
	}
	f.declare(info.Provides)
	h.kick(f)
	return f, nil
}

// declare makes known what the fiber will provide.
func (f *Fiber) declare(handles []Handle) {
	for _, p := range handles {
		r := f.base.realmOf(p.handle())
		r.declarers = append(r.declarers, f)
	}
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

// mayProvide reports whether the plugin's declaration allows k.
func (f *Fiber) mayProvide(k *handle) bool {
	declared := f.info.Provides
	return len(declared) == 0 ||
		slices.ContainsFunc(declared, func(h Handle) bool { return h.handle() == k })
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

// SetOrder tells where the fiber's entry stands among its siblings now; the
// order of its listeners follows.
func (f *Fiber) SetOrder(position int) {
	f.host.mu.Lock()
	defer f.host.mu.Unlock()
	if f.placed && f.position == position {
		return
	}
	f.position, f.placed = position, true
	f.replace()
	f.host.reorder()
}

// place computes the positions from the root down.
func (f *Fiber) place() {
	var above []int
	if f.parent != nil {
		above = f.parent.positions
	}
	f.positions = above
	if f.placed {
		f.positions = append(slices.Clip(above), f.position)
	}
}

func (f *Fiber) replace() {
	f.place()
	for _, c := range f.children() {
		c.replace()
	}
}
