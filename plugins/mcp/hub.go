package mcp

import (
	"context"
	"maps"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/internal/procguard"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// version is what we tell servers and clients that we are.
const version = "0.1"

// A hub is what the servers of one activation of the plugin share.
type hub struct {
	c        *core.Context
	ctx      context.Context
	state    string // folder for what is kept; empty: nothing is
	guard    *procguard.Guard
	consents *consents
	names    foldedNames
	probe    time.Duration // how long discovery may take
	grace    time.Duration // between the steps of stopping a server

	starts chan struct{}

	mu      sync.Mutex // guards the fields below
	servers map[string]*projection
	watched map[*watcher]struct{}
}

func newHub(c *core.Context, starts int) *hub {
	if starts <= 0 {
		starts = max(4, runtime.NumCPU())
	}
	h := &hub{c: c, ctx: c, probe: 2500 * time.Millisecond, grace: time.Second,
		starts: make(chan struct{}, starts), servers: map[string]*projection{}, watched: map[*watcher]struct{}{}}
	paths, _ := core.Environment.Get(c)
	h.state = paths.State
	h.consents = newConsents(h, paths)
	return h
}

// slotTime is how long a start keeps others waiting: one that takes longer is
// waiting itself, not working.
const slotTime = 15 * time.Second

// startSlot waits for one of the places for starts.
func (h *hub) startSlot(ctx context.Context) (release func(), err error) {
	select {
	case h.starts <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	var once sync.Once
	free := func() { once.Do(func() { <-h.starts }) }
	t := time.AfterFunc(slotTime, free)
	return func() { t.Stop(); free() }, nil
}

// roots is the folder that servers may take for ours.
func (h *hub) roots() []*mcp.Root {
	var q core.Roots
	if core.HostCaller(h.c, core.Viewer{}, "").Ask(h.ctx, &q) != nil {
		return nil
	}
	var out []*mcp.Root
	for _, f := range q.Folders {
		out = append(out, &mcp.Root{URI: f.URI, Name: f.Name})
	}
	return out
}

func (h *hub) add(p *projection) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.servers[p.server.name] = p
}

func (h *hub) remove(p *projection) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.servers[p.server.name] == p {
		delete(h.servers, p.server.name)
	}
}

// find gives a server by its name.
func (h *hub) find(name string) (*projection, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p, ok := h.servers[name]
	return p, ok
}

// all gives the servers, sorted by name.
func (h *hub) all() []*projection {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := make([]*projection, 0, len(h.servers))
	for _, name := range slices.Sorted(maps.Keys(h.servers)) {
		out = append(out, h.servers[name])
	}
	return out
}

// A watcher is told of what servers notify us of, beside their tools.
type watcher struct {
	notify func(server, method string, params []byte)
}

func (h *hub) watch(w *watcher) (stop func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.watched[w] = struct{}{}
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.watched, w)
	}
}

func (h *hub) tell(server, method string, params []byte) {
	h.mu.Lock()
	watchers := slices.Collect(maps.Keys(h.watched))
	h.mu.Unlock()
	for _, w := range watchers {
		w.notify(server, method, params)
	}
}
