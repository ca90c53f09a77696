package core

import (
	"context"
	"encoding/json"
	"slices"
	"time"
)

// A LoadOption is an option of Load: [Named] or [Order].
type LoadOption interface{ load(*Fiber) }

type loadOption func(*Fiber)

func (o loadOption) load(f *Fiber) { o(f) }

// Named gives the fiber a name other than the plugin's.
func Named(name string) LoadOption {
	return loadOption(func(f *Fiber) { f.name, f.anon = name, false })
}

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

// mayProvide reports whether the plugin's declaration allows k.
func (f *Fiber) mayProvide(k *handle) bool {
	declared := f.info.Provides
	return len(declared) == 0 ||
		slices.ContainsFunc(declared, func(h Handle) bool { return h.handle() == k })
}
