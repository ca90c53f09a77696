package core

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/agentd-host/agentd/core/schema"
)

// A definition is one registered tool.
type definition struct {
	node
	gate    gate
	tool    Tool // as it is shown: without its function
	runFunc ToolFunc
	keys    []toolKey
	owner   *Fiber
	needs   []Permission // of a call, where the tool does not say

	lingers atomic.Bool // linger is set
	linger  *node       // holds the owner's teardown for calls of a removed tool; guarded by the host's lock

	compile sync.Once
	schema  *schema.Schema // nil: not checked here
}

// A toolKey is a place in which a name is unique: everywhere, or for an agent,
// or for a group, or for an agent's group.
type toolKey struct{ agent, group string }

func keysOf(t *Tool) []toolKey {
	if len(t.Groups) == 0 {
		return []toolKey{{agent: t.Scope}}
	}
	keys := make([]toolKey, len(t.Groups))
	for i, g := range t.Groups {
		keys[i] = toolKey{t.Scope, g}
	}
	return keys
}

// newDefinition checks a tool and prepares it.
func newDefinition(t Tool, c *Context) (*definition, error) {
	if err := checkTool(&t); err != nil {
		return nil, fmt.Errorf("tool %q: %w", t.Name, err)
	}
	if len(t.Parameters) == 0 {
		t.Parameters = json.RawMessage(`{"type":"object"}`)
	}
	if t.Source == (Source{}) {
		t.Source = Source{Kind: FromPlugin, Name: cmp.Or(c.fiber.plugin.Info().Name, c.fiber.name)}
	}
	t.Groups = slices.Clone(t.Groups)
	d := &definition{runFunc: t.Run, owner: c.fiber, keys: keysOf(&t)}
	d.needs = []Permission{{Name: "tool:" + t.Name}}
	t.Run = nil
	d.tool = t
	d.kind, d.label, d.state = KindTool, t.Name, nodeLive
	d.node.gate, d.part = &d.gate, d
	return d, nil
}

// maxParameters bounds the schema of one tool; the largest seen has 77 kB.
const maxParameters = 1 << 20

func checkTool(t *Tool) error {
	switch {
	case !ValidToolName(t.Name):
		return errors.New("a name has 1 to 64 of the characters a-z, A-Z, 0-9, _ and -")
	case t.Run == nil:
		return errors.New("it has no function to run")
	case len(t.Parameters) > maxParameters:
		return fmt.Errorf("the parameters' schema has %d bytes, at most %d are taken",
			len(t.Parameters), maxParameters)
	case len(t.Parameters) > 0 && !json.Valid(t.Parameters):
		return errors.New("the parameters' schema is not valid JSON")
	case slices.Contains(t.Groups, ""):
		return errors.New("a group has no name")
	}
	switch t.Traits.Effect {
	case Undeclared, Read, Write, Exec:
		return nil
	}
	return fmt.Errorf("effect %q: want read, write or exec", t.Traits.Effect)
}

// ValidToolName reports whether name can be a tool's: 1 to 64 of
// [a-zA-Z0-9_-].
func ValidToolName(name string) bool {
	if len(name) == 0 || len(name) > 64 {
		return false
	}
	for i := range len(name) {
		c := name[i]
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-') {
			return false
		}
	}
	return true
}

// checker returns the compiled schema of the arguments. It is compiled when
// first needed; a foreign schema that does not compile is reported once and
// the tool goes without a check.
func (d *definition) checker() *schema.Schema {
	d.compile.Do(func() {
		s, err := schema.Compile(d.tool.Parameters)
		if err != nil {
			d.owner.logger().Warn("arguments are not checked", "tool", d.tool.Name, "err", err)
			return
		}
		d.schema = s
	})
	return d.schema
}

// end is part of a teardown: the tool takes no more calls. Calls that run are
// waited for when the fiber unloads, not when a scope ends.
func (d *definition) end(*Host) error {
	d.gate.shut()
	d.keepOwner()
	return nil
}

// leave takes the tool off the table.
func (d *definition) leave(h *Host) {
	h.tools.mu.Lock()
	defer h.tools.mu.Unlock()
	h.tools.drop(d)
	h.tools.changed(h)
}

// retire ends a tool early; the host's lock is held.
func (d *definition) retire() {
	d.gate.shut()
	d.keepOwner()
	d.finish(nil)
}

// keepOwner lets the owner's teardown wait for calls of a tool that is gone
// from the tree.
func (d *definition) keepOwner() {
	if d.linger != nil || !d.act.accepts() || d.gate.state.Load() <= 1 {
		return
	}
	d.linger = &node{kind: KindTool, label: d.label + " (ending)", state: nodeLive, gate: &d.gate}
	d.act.root.append(d.linger)
	d.lingers.Store(true)
	if d.gate.state.Load() <= 1 { // the last call left before it could know
		d.linger.finish(nil)
	}
}

// left is called after a call left the gate.
func (d *definition) left() {
	if !d.lingers.Load() || d.gate.state.Load() > 1 {
		return
	}
	h := d.owner.host
	h.mu.Lock()
	defer h.mu.Unlock()
	if d.linger.state == nodeLive {
		d.linger.finish(nil)
	}
}

// innerName is the tool that a call stands for, "" for itself.
func (d *definition) innerName(args json.RawMessage) (name string) {
	if d.tool.Inner == nil {
		return ""
	}
	_ = d.owner.guard("inner name of", &d.node, func() error { name = d.tool.Inner(args); return nil })
	return name
}
