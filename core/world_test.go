package core

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// A world is a host with plugins that depend on each other at random, actors
// that load, update, restart and dispose them at random, and a monitor that
// knows what must hold:
//
//	exactness    what was registered is gone after dispose
//	ordering     a provider's activity encloses that of those bound to it
//	sequence     undos run last in first out, and steps of a fiber one at a time
//	progress     it comes to rest
//	confluence   the end state follows from what is wanted alone
type world struct {
	t        testing.TB
	h        *Host
	services []Service[*instance]
	shapes   []shape
	ping     Event[int]

	yield func()
	wait  func(done <-chan struct{})

	mu       sync.Mutex // guards the rest
	meddling int        // operations of plugin code under way
	rng      *rand.Rand
	fibers   []*Fiber // by shape; nil: not loaded
	alive    map[*Fiber]*instance
	nested   int // operations that plugin code may still start
	faults   []string
}

// shape is what a plugin looks like; shape i provides service i.
type shape struct {
	needs []Need
	modes []needMode // of services[of[i]]
	of    []int
}

// instance is one activation as the monitor sees it.
type instance struct {
	name      string
	fiber     *Fiber
	over      bool
	users     int
	providers []*instance
	stack     []string // what has been registered and not undone
	early     string   // what is being stopped before its turn
	undoing   bool
}

// setting is the config of the plugins in a world.
type setting struct {
	N    int
	Fail bool
}

func newWorld(t testing.TB, s seam, seed uint64, cyclic bool) *world {
	w := &world{
		t: t, rng: rand.New(rand.NewPCG(seed, 1)), alive: map[*Fiber]*instance{}, nested: 40,
		ping: NewEvent[int]("ping"),
	}
	w.h = New(&Options{Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), Grace: time.Hour, seam: s})
	const n = 6
	for i := range n {
		w.services = append(w.services, NewService[*instance](fmt.Sprint("s", i)))
	}
	for i := range n {
		var sh shape
		for j := range n {
			if (j < i || cyclic) && w.rng.IntN(3) == 0 {
				sh.add(w.services[j], j, needMode(w.rng.IntN(4)%3))
			}
		}
		w.shapes = append(w.shapes, sh)
	}
	w.fibers = make([]*Fiber, n)
	return w
}

func (sh *shape) add(s Service[*instance], of int, m needMode) {
	need := map[needMode]Need{
		required: s, optional: s.Optional(), restarting: s.Optional().Restarts(),
	}[m]
	sh.needs, sh.modes, sh.of = append(sh.needs, need), append(sh.modes, m), append(sh.of, of)
}

func (w *world) fault(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faults = append(w.faults, fmt.Sprintf(format, args...))
}

func (w *world) pick(n int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rng.IntN(n)
}

func (w *world) begin(f *Fiber) *instance {
	w.mu.Lock()
	defer w.mu.Unlock()
	inst := &instance{name: fmt.Sprintf("%s#%d", f.name, f.uid), fiber: f}
	if old := w.alive[f]; old != nil {
		w.faults = append(w.faults, fmt.Sprintf("%s begins while it is alive", old.name))
	}
	w.alive[f] = inst
	return inst
}

func (w *world) end(f *Fiber, inst *instance) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range inst.providers {
		p.users--
	}
	inst.over = true
	delete(w.alive, f)
}

// bind notes that inst is bound to a service.
func (w *world) bind(inst, provider *instance) {
	if !inst.fiber.below(provider.fiber) && provider.fiber.State() == Loading {
		w.fault("%s is bound to %s, which is not active yet", inst.name, provider.name)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if provider.over || provider.undoing {
		w.faults = append(w.faults, fmt.Sprintf("%s is bound to %s, which is ending", inst.name, provider.name))
	}
	provider.users++
	inst.providers = append(inst.providers, provider)
}

// registered and undone keep the stack of an instance.
func (w *world) registered(inst *instance, label string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	inst.stack = append(inst.stack, label)
}

func (w *world) undone(inst *instance, label string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if inst.early != label && inst.users > 0 {
		w.faults = append(w.faults, fmt.Sprintf("%s undoes %s before its %d users are gone", inst.name, label, inst.users))
	}
	if inst.early == label {
		inst.stack = slices.DeleteFunc(inst.stack, func(l string) bool { return l == label })
		return
	}
	inst.undoing = true
	last := len(inst.stack) - 1
	if last < 0 || inst.stack[last] != label {
		w.faults = append(w.faults, fmt.Sprintf("%s undoes %s, stack %v", inst.name, label, inst.stack))
		return
	}
	inst.stack = inst.stack[:last]
}

// plugin makes the plugin of shape i.
func (w *world) plugin(i int) Plugin[setting] {
	sh := w.shapes[i]
	return Plugin[setting]{
		Name: fmt.Sprint("p", i), Needs: sh.needs,
		Apply: func(c *Context, cfg setting) error { return w.apply(c, i, cfg) },
		Reconfigure: func(c *Context, old, new setting) (bool, error) {
			w.yield()
			return new.N%2 == 0 && !new.Fail, nil
		},
	}
}

func (w *world) apply(c *Context, i int, cfg setting) error {
	f := c.Fiber()
	inst := w.begin(f)
	if err := c.OnUndo("end", func(context.Context) error { w.end(f, inst); return nil }); err != nil {
		w.fault("%s: %v", inst.name, err)
		w.end(f, inst)
		return err
	}
	w.bindAll(c, i, inst)
	if err := w.services[i].Provide(c, inst); err != nil {
		w.fault("%s: %v", inst.name, err)
	}
	w.yield()
	if w.pick(3) == 0 {
		w.stopEarly(c, inst, w.effect(c, inst, "early"))
	}
	for n := range w.pick(3) {
		w.effect(c, inst, fmt.Sprint("effect ", n))
		w.yield()
	}
	if w.pick(2) == 0 {
		_ = c.Go("g", func(ctx context.Context) error { w.wait(ctx.Done()); return nil })
	}
	if w.pick(2) == 0 {
		_ = w.ping.On(c, func(ctx context.Context, n int) error { return w.hear(ctx, c, i, inst) })
	}
	if w.pick(3) == 0 {
		w.child(c, i)
	}
	w.effect(c, inst, "first to go")
	if cfg.Fail {
		return errors.New("fails as told")
	}
	return nil
}

func (w *world) bindAll(c *Context, i int, inst *instance) {
	sh := w.shapes[i]
	for k, j := range sh.of {
		p, ok := w.services[j].Get(c)
		switch {
		case sh.modes[k] == optional:
		case ok:
			w.bind(inst, p)
		case sh.modes[k] == required:
			w.fault("%s lacks s%d", inst.name, j)
		}
	}
}

// effect registers an effect; its undo sometimes meddles, and never succeeds
// in registering.
func (w *world) effect(c *Context, inst *instance, label string) (stop func(context.Context) error) {
	stop, err := c.Effect(label, func(*Context) (func(context.Context) error, error) {
		w.registered(inst, label)
		return func(ctx context.Context) error {
			w.yield()
			w.undone(inst, label)
			if !c.act.accepts() && c.OnUndo("late", nil) == nil {
				w.fault("%s registered while unloading", inst.name)
			}
			if w.pick(6) == 0 {
				w.meddle(ctx)
			}
			return nil
		}, nil
	})
	if err != nil {
		w.fault("%s: %v", inst.name, err)
	}
	return stop
}

// stopEarly stops an effect before its turn, some time later.
func (w *world) stopEarly(c *Context, inst *instance, stop func(context.Context) error) {
	_ = c.Go("stop early", func(ctx context.Context) error {
		w.yield()
		w.mu.Lock()
		inst.early = "early"
		w.mu.Unlock()
		w.judge(stop(ctx))
		return nil
	})
}

// hear is what a listener does: it uses a service under a lease, or meddles.
func (w *world) hear(ctx context.Context, c *Context, i int, inst *instance) error {
	if inst.isOver(w) {
		w.fault("%s hears a ping after its end", inst.name)
	}
	if of := w.shapes[i].of; len(of) > 0 && w.pick(2) == 0 {
		err := w.services[of[w.pick(len(of))]].Use(c, ctx, func(ctx context.Context, p *instance) error {
			w.yield()
			w.meddle(ctx)
			if p.isOver(w) {
				w.fault("%s uses %s after its end", inst.name, p.name)
			}
			return nil
		})
		if !errors.Is(err, ErrUnavailable) {
			return err
		}
	}
	w.meddle(ctx)
	return nil
}

func (inst *instance) isOver(w *world) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return inst.over
}

// child loads a plugin that needs its parent's service, inside the parent.
func (w *world) child(c *Context, i int) {
	f, err := c.Load(plain("child", func(c *Context) error {
		inst := w.begin(c.Fiber())
		p, ok := w.services[i].Get(c)
		if !ok {
			w.fault("%s lacks its parent's service", inst.name)
			return nil
		}
		w.bind(inst, p)
		return c.OnUndo("end", func(context.Context) error { w.end(c.Fiber(), inst); return nil })
	}, w.services[i]), nil)
	if err == nil && w.pick(2) == 0 {
		_ = f.Wait(c)
	}
}

// meddle is an operation started by plugin code.
func (w *world) meddle(ctx context.Context) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.nested--
	if w.nested < 0 {
		return
	}
	w.meddling++
	w.mu.Unlock()
	w.operate(ctx)
	w.mu.Lock()
	w.meddling--
}

// operate does something at random on behalf of ctx and waits for it.
func (w *world) operate(ctx context.Context) {
	w.yield()
	i, n, op := w.pick(len(w.shapes)), w.pick(10), w.pick(7)
	f := w.fiber(i)
	var err error
	switch {
	case op == 0:
		err = w.ping.Emit(orRoot(ctx, w.h), n)
	case f == nil:
		w.load(i, setting{n, n == 9})
	case op == 1 || op == 2:
		w.forget(i, f)
		err = f.Dispose(ctx)
	case op == 3 || op == 4:
		err = Update(ctx, f, setting{n, n == 9})
	case op == 5:
		err = f.Restart(ctx)
	default:
		err = f.Wait(ctx)
	}
	w.judge(err)
}

// judge accepts the errors that an operation may have.
func (w *world) judge(err error) {
	var cycle *CycleError
	var stuck *StuckError
	switch {
	case err == nil, errors.Is(err, ErrSelfWait), errors.Is(err, ErrDisposed), errors.As(err, &cycle):
	case errors.As(err, &stuck) && (errors.Is(err, ErrUnloaded) || errors.Is(err, ErrReloading)):
	case err.Error() == "fails as told":
	default:
		w.fault("operation: %v", err)
	}
}

func orRoot(ctx context.Context, h *Host) context.Context {
	if frameOf(ctx) == nil {
		return h.Root()
	}
	return ctx
}

func (w *world) fiber(i int) *Fiber {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.fibers[i]
}

func (w *world) forget(i int, f *Fiber) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fibers[i] == f {
		w.fibers[i] = nil
	}
}

// load loads shape i unless an earlier fiber of it is not gone yet: of two
// providers one would be refused, which is not what is tested here.
func (w *world) load(i int, cfg setting) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fibers[i] != nil {
		return
	}
	for _, c := range w.h.Root().Fiber().Children() {
		if c.name == fmt.Sprint("p", i) {
			return
		}
	}
	f, err := Load(w.h.Root(), w.plugin(i), cfg)
	if err != nil {
		w.faults = append(w.faults, err.Error())
		return
	}
	w.fibers[i] = f
}

// settle waits until all is at rest, children included. Plugin code starts
// nothing any more: an undo may still run that nobody's state waits for.
func (w *world) settle(ctx context.Context) {
	w.mu.Lock()
	w.nested = 0
	w.mu.Unlock()
	for w.busy() || w.moving() {
		w.rest(ctx, w.h.Root().Fiber())
		w.h.yield("settle")
		runtime.Gosched()
	}
}

func (w *world) busy() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.meddling > 0
}

// moving tells whether any fiber has a step to take. All of them are looked at
// in one moment: a driver wakes others before it comes to rest itself.
func (w *world) moving() bool {
	w.h.mu.Lock()
	defer w.h.mu.Unlock()
	return drivingBelow(w.h.Root().Fiber())
}

func drivingBelow(f *Fiber) bool {
	return slices.ContainsFunc(f.children(), func(c *Fiber) bool { return c.driving || drivingBelow(c) })
}

// rest waits for each fiber below f.
func (w *world) rest(ctx context.Context, f *Fiber) {
	for _, c := range f.Children() {
		_ = c.Wait(ctx)
		w.rest(ctx, c)
	}
}

// checkConfluence compares the states with the least fixed point of what is
// wanted.
func (w *world) checkConfluence() {
	active := make([]bool, len(w.shapes))
	satisfied := func(i int) bool {
		for k, j := range w.shapes[i].of {
			if w.shapes[i].modes[k] == required && !active[j] {
				return false
			}
		}
		return true
	}
	for changed := true; changed; {
		changed = false
		for i, f := range w.fibers {
			if f != nil && !active[i] && !f.config.(setting).Fail && satisfied(i) {
				active[i], changed = true, true
			}
		}
	}
	for i, f := range w.fibers {
		if f == nil {
			continue
		}
		switch s := f.State(); {
		case active[i] && s != Active,
			!active[i] && s == Active,
			!active[i] && s == Failed && !f.config.(setting).Fail,
			s == Failed && f.Err() == nil:
			w.fault("%s is %v, want active=%v", f, s, active[i])
		}
		w.checkBindings(i, f)
	}
}

// checkBindings verifies that what is bound is what is there.
func (w *world) checkBindings(i int, f *Fiber) {
	if f.State() != Active {
		return
	}
	for k := range w.shapes[i].of {
		b := f.act.bindings[k]
		p := f.deps[k].resolve()
		if b.mode != optional && b.prov != p && !(b.prov == nil && p.act.restsOn(f.act)) {
			w.fault("%s is bound to something else than what is there", f)
		}
	}
}

// checkGone disposes everything and looks for what is left.
func (w *world) checkGone(ctx context.Context) {
	w.mu.Lock()
	w.nested = 0
	w.mu.Unlock()
	for i, f := range w.fibers {
		if f != nil {
			w.judge(f.Dispose(ctx))
			w.fibers[i] = nil
		}
	}
	for _, f := range w.h.Root().Fiber().Children() {
		w.judge(f.Dispose(ctx))
	}
	if e := w.h.Root().Fiber().Effects(); len(e) != 0 {
		w.fault("effects left: %v", e)
	}
	for k, r := range *w.h.realms.Load() {
		if r.provision.Load() != nil || r.dependents.first != nil || len(r.declarers) != 0 {
			w.fault("realm %s is not empty", k.name)
		}
	}
	for k := range *w.h.slots.Load() {
		if w.h.listened(k) {
			w.fault("listeners of %s are left", k.name)
		}
	}
	if len(w.alive) != 0 {
		w.fault("%d instances are left", len(w.alive))
	}
	if len(w.h.waits) != 0 {
		w.fault("%d waits are left", len(w.h.waits))
	}
	w.judge(w.h.Close(ctx))
}

// states lists the fibers, for messages.
func (w *world) states() (lines []string) {
	var visit func(f *Fiber)
	visit = func(f *Fiber) {
		lines = append(lines, fmt.Sprintf("%s: %v, driving %v", f.path(), f.state, f.driving))
		for _, c := range f.children() {
			visit(c)
		}
	}
	w.h.mu.Lock()
	defer w.h.mu.Unlock()
	visit(w.h.root.fiber)
	return lines
}

// report fails the test with what went wrong.
func (w *world) report(seed uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.faults) > 0 {
		w.t.Fatalf("seed %d: %d faults, of them:\n%s\nrun it again with -core.seed=%d",
			seed, len(w.faults), strings.Join(w.faults[:min(3, len(w.faults))], "\n"), seed)
	}
}

// freely makes the world run on plain goroutines.
func (w *world) freely() {
	w.yield = func() {
		if w.pick(2) == 0 {
			runtime.Gosched()
		}
	}
	w.wait = func(done <-chan struct{}) { <-done }
}
