package core

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
	"weak"
)

// Options are the settings of a host. The zero value is useful.
type Options struct {
	// Logger receives what the host has to say. Optional. Default is
	// slog.Default().
	Logger *slog.Logger
	// Grace is how long a teardown waits for calls of listeners, leases and
	// tools, and for goroutines; each time it passes, the next stronger means
	// is used. Optional. Default is 5 s.
	Grace time.Duration
	// UndoTimeout is the deadline of the context that an undo gets; an undo
	// that ignores it is waited for all the same. Optional. Default is 10 s.
	UndoTimeout time.Duration
	// Watchdog is how long an Apply, Reconfigure or undo may take before it
	// is named in the log, again and again. Optional. Default is 30 s.
	Watchdog time.Duration

	seam seam
}

func (o *Options) withDefaults() Options {
	var r Options
	if o != nil {
		r = *o
	}
	if r.Logger == nil {
		r.Logger = slog.Default()
	}
	if r.Grace <= 0 {
		r.Grace = 5 * time.Second
	}
	if r.UndoTimeout <= 0 {
		r.UndoTimeout = 10 * time.Second
	}
	if r.Watchdog <= 0 {
		r.Watchdog = 30 * time.Second
	}
	return r
}

// A Host holds a tree of fibers and the tables of their services and events.
// All of its methods may be called from any goroutine.
type Host struct {
	opts Options
	seam seam
	uids atomic.Uint64
	root *Context

	realms atomic.Pointer[map[*handle]*realm] // copy-on-write; read without lock
	slots  atomic.Pointer[map[*handle]*slot]  // copy-on-write; read without lock

	tools     toolRegistry
	values    sync.Map        // see HostValue
	prompts   shelf[Prompt]   // changed under mu; read without lock
	resources shelf[resource] // changed under mu; read without lock

	restricted atomic.Pointer[restrictions] // of the last policy, compiled

	// mu guards the graph: fibers, activations, nodes, realms, listener lists
	// and the wait graph. It is the only lock of the kernel that is ever held
	// while another is taken (that of a gate, or of the tool registry), and no
	// plugin code runs under it.
	mu       sync.Mutex
	seq      uint64 // of activations and of listeners
	labelled map[realmKey]weak.Pointer[realm]
	waits    []*wait
}

// New makes a host with its root fiber. It starts nothing. nil means the
// default options.
func New(opts *Options) *Host {
	h := &Host{opts: opts.withDefaults(), labelled: make(map[realmKey]weak.Pointer[realm])}
	h.seam = h.opts.seam
	h.realms.Store(&map[*handle]*realm{})
	h.slots.Store(&map[*handle]*slot{})
	h.prompts.kind, h.prompts.event = KindPrompt, PromptsChanged
	h.resources.kind, h.resources.event = KindResource, ResourcesChanged
	root := &Fiber{host: h, plugin: Plugin[struct{}]{}, name: "root", mounted: true, since: time.Now()}
	root.node = node{kind: KindPlugin, label: "root", state: nodeLive}
	root.driver = frameCtx{context.Background(), frame{host: h, fiber: root}}
	h.root = &Context{frame: frame{host: h, fiber: root}}
	root.base = h.root
	root.state, root.act = Active, root.newActivation()
	root.act.phase.Store(phaseActive)
	h.root = &root.act.scope
	root.base = h.root
	return h
}

// Root returns the root context.
func (h *Host) Root() *Context { return h.root }

// Close disposes the root and with it everything. See [Fiber.Dispose].
func (h *Host) Close(ctx context.Context) error { return h.root.fiber.Dispose(ctx) }

// rememberRealm keeps a labelled realm for as long as somebody uses it.
func (h *Host) rememberRealm(key realmKey, r *realm) {
	for k, p := range h.labelled {
		if p.Value() == nil {
			delete(h.labelled, k)
		}
	}
	h.labelled[key] = weak.Make(r)
}
