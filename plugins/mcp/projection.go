package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/schema"
)

// A projection keeps a server's tools in the registry as the server lists
// them.
type projection struct {
	c      *core.Context // the server's fiber: the tools go with it
	server *server
	source *core.SourceControl
	pinned *pinStore

	mu    sync.Mutex            // guards the fields below
	tools map[string]*projected // in the registry, by public name
	held  map[string]string     // held back: raw name -> why
	order []*definition         // all that the server lists
	twin  *server               // see inEra
	tried *session              // beside which the twin was tried
}

// projected is one tool in the registry.
type projected struct {
	def   *definition
	fresh bool // not accepted yet: each call is asked about
}

func newProjection(c *core.Context, s *server) (*projection, error) {
	source, err := c.Tools().Source(core.FromMCP, s.name)
	if err != nil {
		return nil, err
	}
	return &projection{c: c, server: s, source: source, tools: map[string]*projected{},
		pinned: newPinStore(s.hub.state, s.hub.consents.config, s.name)}, nil
}

// update brings the registry to a new list, in one step.
func (p *projection) update(_ context.Context, t toolList) {
	wanted, held := p.choose(t)
	for tries := len(wanted); ; tries-- {
		err := p.c.Tools().Batch(func(b *core.ToolBatch) error { return p.change(b, wanted) })
		var clash *core.ToolConflictError
		if errors.As(err, &clash) && tries > 0 {
			if w := wanted[clash.Tool]; w != nil {
				held[w.def.Name] = fmt.Sprintf("its name %s belongs to %s already", clash.Tool, clash.First)
				p.c.Logger().Warn("MCP tool left out", "server", p.server.name, "tool", w.def.Name, "why", held[w.def.Name])
				delete(wanted, clash.Tool)
				continue
			}
		}
		if err != nil {
			p.c.Logger().Warn("MCP tools not taken over", "server", p.server.name, "err", err)
			return
		}
		break
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tools, p.held, p.order = wanted, held, t.defs
}

// choose says which tools of a list go into the registry, by public name, and
// why others do not.
func (p *projection) choose(t toolList) (wanted map[string]*projected, held map[string]string) {
	cfg := p.server.cfg
	wanted, held = map[string]*projected{}, map[string]string{}
	verdicts := p.pins(t.defs)
	for _, d := range t.defs {
		if !cfg.Tools.takes(d.Name) {
			continue
		}
		v := verdicts[d.Name]
		if v.state == pinChanged {
			p.c.Logger().Warn("MCP tool changed since it was accepted", "server", p.server.name, "tool", printable(d.Name), "diff", v.diff)
			if cfg.Pin == "block" {
				held[d.Name] = fmt.Sprintf("changed since it was accepted (agentd mcp accept %s):\n%s", p.server.name, v.diff)
				continue
			}
		}
		if d.Hidden > 0 {
			p.c.Logger().Warn("MCP tool's texts hold invisible characters", "server", p.server.name, "tool", printable(d.Name), "count", d.Hidden)
		}
		name := publicName(p.server.name, cfg.Tools.renamed(d.Name))
		if other, taken := wanted[name]; taken {
			held[d.Name] = fmt.Sprintf("its name %s is taken by %s", name, printable(other.def.Name))
			continue
		}
		wanted[name] = &projected{def: d, fresh: v.fresh}
	}
	p.reportLikeness(wanted)
	return wanted, held
}

func (p *projection) pins(defs []*definition) map[string]verdict {
	if p.server.cfg.Pin == "off" {
		return nil
	}
	verdicts, err := p.pinned.check(defs, time.Now())
	if err != nil {
		p.c.Logger().Error("MCP pins can't be kept", "server", p.server.name, "err", err)
	}
	return verdicts
}

// reportLikeness tells of names that a person would take for each other.
func (p *projection) reportLikeness(wanted map[string]*projected) {
	alike := p.server.hub.names.like(p.c.Tools(), maps.Keys(wanted))
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		if others := alike[name]; len(others) > 0 {
			p.c.Logger().Warn("MCP tools differ in case only", "server", p.server.name, "tools", append([]string{name}, others...))
		}
		if raw := wanted[name].def.Name; strings.IndexFunc(raw, func(r rune) bool { return r > 127 }) >= 0 {
			p.c.Logger().Warn("MCP tool's name has letters beyond ASCII", "server", p.server.name, "tool", printable(raw), "as", name)
		}
	}
}

// change makes the steps from what is in the registry to what is wanted.
func (p *projection) change(b *core.ToolBatch, wanted map[string]*projected) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for name := range p.tools {
		if wanted[name] == nil {
			b.Remove(name)
		}
	}
	for name, w := range wanted {
		if old := p.tools[name]; old != nil && old.def.Hash == w.def.Hash && string(old.def.Raw) == string(w.def.Raw) {
			continue
		}
		b.Replace(p.tool(name, w.def))
	}
	return nil
}

// tool makes a registry's tool of a definition.
func (p *projection) tool(name string, d *definition) core.Tool {
	cfg := p.server.cfg
	t := core.Tool{
		Name: name, Title: visible(d.Title), Description: visible(d.Description),
		Parameters: modelSchema(d.Input), Output: d.Output,
		Source:    core.Source{Kind: core.FromMCP, Name: p.server.name, Raw: d.Name, Trusted: cfg.Trusted},
		Subsystem: "MCP " + p.server.name,
		Meta:      passedOn(d.Raw),
		Traits:    core.Traits{Effect: effectOf(d.Annotations, cfg.Trusted)},
	}
	if len(d.Input) > 0 && string(t.Parameters) != string(d.Input) {
		t.Meta["inputSchema"] = d.Input // as received, for those who can take it
	}
	t.Traits.Parallel = t.Traits.Effect == core.Read
	t.Run = func(ctx context.Context, inv *core.Invocation) (core.Result, error) { return p.run(ctx, inv, d) }
	return t
}

// effectOf is what a tool may do. Only a trusted server is believed; of
// others nothing is known, which policy takes for the worst.
func effectOf(a annotations, trusted bool) core.Effect {
	switch {
	case !trusted:
		return core.Undeclared
	case a.ReadOnly != nil && *a.ReadOnly:
		return core.Read
	case a.Destructive != nil && !*a.Destructive:
		return core.Write
	}
	return core.Undeclared
}

// passedOn are the fields of a definition that nothing here reads.
func passedOn(raw json.RawMessage) map[string]json.RawMessage {
	fields := map[string]json.RawMessage{}
	if json.Unmarshal(raw, &fields) != nil {
		return map[string]json.RawMessage{}
	}
	for _, known := range []string{"name", "title", "description", "inputSchema", "outputSchema"} {
		delete(fields, known)
	}
	return fields
}

// checkOutput compares a result with the tool's own output schema.
func (p *projection) checkOutput(d *definition, r core.Result) (core.Result, error) {
	mode := p.server.cfg.SchemaMismatch
	if mode == "off" || len(d.Output) == 0 || r.Err != nil {
		return r, nil
	}
	s, err := schema.Compile(d.Output)
	if err != nil {
		return r, nil // a schema that is none was accepted with the tool
	}
	var problem error
	if len(r.Structured) == 0 {
		problem = errors.New("it has no structuredContent")
	} else {
		problem = s.Validate(r.Structured).Err()
	}
	if problem == nil {
		return r, nil
	}
	p.c.Logger().Warn("MCP result does not fit the tool's output schema", "server", p.server.name, "tool", d.Name, "why", problem)
	if mode != "strict" {
		return r, nil
	}
	return core.Result{}, fmt.Errorf("the result does not fit the tool's output schema: %w", problem)
}

// fresh tells whether a tool of this server was not accepted yet.
func (p *projection) fresh(public string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := p.tools[public]
	return w != nil && w.fresh
}

// review lists the tools that nobody accepted as they are.
func (p *projection) review() ([]ToolChange, error) {
	s := p.server
	s.mu.Lock()
	t, err := s.tools, s.err
	s.mu.Unlock()
	if len(t.defs) == 0 && err != nil {
		return nil, err
	}
	changes := []ToolChange{}
	verdicts := p.pins(t.defs)
	for _, d := range t.defs {
		if v := verdicts[d.Name]; v.state != pinSame && s.cfg.Tools.takes(d.Name) {
			changes = append(changes, ToolChange{Tool: d.Name, Hash: d.Hash, New: v.state == pinNew,
				Held: v.state == pinChanged && s.cfg.Pin == "block", Diff: v.diff})
		}
	}
	return changes, nil
}

// accept takes the present definitions of some tools as the right ones and
// returns the tools' own names.
func (p *projection) accept(take func(*definition) bool) ([]string, error) {
	s := p.server
	s.mu.Lock()
	t := s.tools
	s.mu.Unlock()
	names, err := p.pinned.accept(t.defs, take, time.Now())
	if err == nil && len(names) > 0 {
		p.update(s.hub.ctx, t)
	}
	return names, err
}

// definitionOf gives a tool as the server listed it, by its public name.
func (p *projection) definitionOf(public string) *definition {
	p.mu.Lock()
	defer p.mu.Unlock()
	if w := p.tools[public]; w != nil {
		return w.def
	}
	return nil
}

// publicOf gives the public name of a tool by its own, if it is projected.
func (p *projection) publicOf(raw string) (string, bool) {
	name := publicName(p.server.name, p.server.cfg.Tools.renamed(raw))
	p.mu.Lock()
	defer p.mu.Unlock()
	w := p.tools[name]
	return name, w != nil && w.def.Name == raw
}

// A listedTool is a tool of the server's under both names.
type listedTool struct {
	public string
	def    *definition
}

// listed gives the projected tools in the order in which the server lists
// them.
func (p *projection) listed() []listedTool {
	p.mu.Lock()
	defer p.mu.Unlock()
	public := make(map[string]string, len(p.tools))
	for name, w := range p.tools {
		public[w.def.Name] = name
	}
	out := make([]listedTool, 0, len(p.tools))
	for _, d := range p.order {
		if name, ok := public[d.Name]; ok {
			out = append(out, listedTool{name, d})
		}
	}
	return out
}
