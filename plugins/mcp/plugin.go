package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/schema"
	"github.com/agentd-host/agentd/internal/procguard"
)

// Plugin is the plugin "mcp".
var Plugin = core.Plugin[Config]{
	Name:        "mcp",
	Harmless:    true,
	Title:       "MCP",
	Description: "Tools of MCP servers, and this agent's tools for MCP clients.",
	Needs: core.Needs(core.Environment.Optional(), core.Workspace.Optional(), core.Approvals.Optional(),
		core.Permissions.Optional(), core.Models.Optional(), core.Background.Optional(), core.Secrets.Optional()),
	Provides:    core.Provides(core.MCP, Admins),
	Apply:       apply,
	Reconfigure: reconfigure,
	Validate:    Config.validate,
}

func apply(c *core.Context, cfg Config) error {
	h := newHub(c, cfg.Starts)
	h.guard = new(procguard.Guard)
	if err := h.guard.Start(); err != nil {
		c.Logger().Warn("MCP servers could outlive a kill -9", "err", err)
	}
	err := errors.Join(
		c.OnDispose(h.guard.Close),
		core.MCP.Provide(c, &service{h}),
		Admins.Provide(c, &Admin{h}),
		core.ToolBefore.On(c, h.leaveOutNulls),
		core.ToolDecide.On(c, h.objects),
		core.ToolDecided.On(c, h.decided),
	)
	for _, name := range slices.Sorted(maps.Keys(cfg.servers())) {
		err = errors.Join(err, load(c, h, name, cfg.servers()[name]))
	}
	return err
}

// reconfigure touches the servers whose entry changed, and no others.
func reconfigure(c *core.Context, old, new Config) (bool, error) {
	provided, ok := core.MCP.Get(c)
	s, mine := provided.(*service)
	if !ok || !mine || old.Starts != new.Starts {
		return false, nil
	}
	was, is := old.servers(), new.servers()
	var group sync.WaitGroup
	fibers := map[string]*core.Fiber{}
	for _, f := range c.Fiber().Children() {
		cfg, stays := is[f.Name()]
		if stays && cfg.equal(was[f.Name()]) {
			fibers[f.Name()] = f
			continue
		}
		group.Go(func() {
			if err := f.Dispose(c); err != nil {
				c.Logger().Warn("MCP server's end", "server", f.Name(), "err", err)
			}
		})
	}
	group.Wait()
	for _, name := range slices.Sorted(maps.Keys(is)) {
		if fibers[name] != nil {
			continue
		}
		if err := load(c, s.hub, name, is[name]); err != nil {
			return false, err
		}
	}
	return true, nil
}

// load starts the fiber of one server.
func load(c *core.Context, h *hub, name string, cfg ServerConfig) error {
	if cfg.Disabled {
		return nil
	}
	_, err := core.Load(c, serverPlugin(h, name), cfg, core.Named(name))
	return err
}

// serverPlugin is one server as a plugin of its own.
func serverPlugin(h *hub, name string) core.Plugin[ServerConfig] {
	return core.Plugin[ServerConfig]{
		Name:     "mcp:server",
		Title:    "MCP server",
		Validate: ServerConfig.validate,
		Apply: func(c *core.Context, cfg ServerConfig) error {
			if other, taken := h.find(name); taken {
				return fmt.Errorf("an MCP server %q is connected by %s already", name, other.c)
			}
			s := newServer(h, name, cfg, c.Logger())
			p, err := newProjection(c, s)
			if err != nil {
				return err
			}
			s.onState = p.source.Set
			s.onTools = p.update
			s.onChange = func(method string, params json.RawMessage) { h.tell(name, method, params) }
			if n := len(cfg.AutoApprove) + len(cfg.AlwaysAllow); n > 0 {
				c.Logger().Warn("autoApprove and alwaysAllow are not taken over: write tools.policy entries instead", "server", name,
					"for example", publicName(name, append(cfg.AutoApprove, cfg.AlwaysAllow...)[0])+": auto")
			}
			h.add(p)
			p.source.Set(core.SourceConnecting)
			return errors.Join(
				c.OnUndo("entry", func(context.Context) error { h.remove(p); return nil }),
				c.Go("connection", s.run),
			)
		},
	}
}

// objects asks for each call of a tool that appeared after its server was
// accepted.
func (h *hub) objects(_ context.Context, req core.DecideRequest) (core.Objection, bool, error) {
	p, ok := h.projectionOf(req.Tool)
	if !ok || !p.fresh(req.Tool.Name) {
		return core.Objection{}, false, nil
	}
	return core.Objection{By: "mcp", Reason: fmt.Sprintf("MCP server %s added this tool after it was first connected", p.server.name)}, true, nil
}

// decided accepts a new tool when a person let it run, as it was then.
func (h *hub) decided(_ context.Context, d core.ToolDecision) error {
	if d.Decision.Verdict != core.Allow || d.Decision.Approver == "" {
		return nil
	}
	p, ok := h.projectionOf(d.Tool)
	if !ok {
		return nil
	}
	asked := p.definitionOf(d.Tool.Name)
	if asked == nil || !p.fresh(d.Tool.Name) {
		return nil
	}
	_, err := p.accept(func(def *definition) bool { return def.Name == asked.Name && def.Hash == asked.Hash })
	return err
}

func (h *hub) projectionOf(t core.Tool) (*projection, bool) {
	if t.Source.Kind != core.FromMCP {
		return nil, false
	}
	return h.find(t.Source.Name)
}

// service is what other plugins see of this one.
type service struct{ hub *hub }

// Connect runs a server as an effect of c's fiber.
func (s *service) Connect(c *core.Context, name string, config json.RawMessage) error {
	var cfg ServerConfig
	if err := schema.Decode(config, &cfg); err != nil {
		return fmt.Errorf("MCP server %s: %w", name, err)
	}
	if err := cfg.validate(); err != nil {
		return fmt.Errorf("MCP server %s: %w", name, err)
	}
	_, err := core.Load(c, serverPlugin(s.hub, name), cfg, core.Named("mcp:"+name))
	return err
}

// Servers names the servers, sorted.
func (s *service) Servers() []string {
	var names []string
	for _, p := range s.hub.all() {
		names = append(names, p.server.name)
	}
	return names
}

// Status tells how each server is, sorted by name.
func (s *service) Status(context.Context) []core.MCPStatus {
	var out []core.MCPStatus
	for _, p := range s.hub.all() {
		out = append(out, p.status())
	}
	return out
}

var _ core.MCPServers = (*service)(nil)
