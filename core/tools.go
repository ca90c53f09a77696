package core

import (
	"context"
	"strconv"
	"sync/atomic"
)

// Tools is the host's one registry of tools, seen from a context: what is
// defined through it belongs to that context's fiber, and a [Viewer] made by
// hand looks from there. It is cheap and may be used from any goroutine.
type Tools struct {
	c *Context
}

// Tools returns the registry seen from c.
func (c *Context) Tools() *Tools { return &Tools{c} }

// Version counts the changes of the registry. It increases whenever a tool, a
// filter, a rule or the state of a source changes.
func (t *Tools) Version() uint64 { return t.registry().version.Load() }

func (t *Tools) registry() *toolRegistry { return &t.c.host.tools }

// Traits tells how a call would behave: the traits of the tool, or those of
// the inner tool if it stands for another. False: the viewer has no such tool.
func (t *Tools) Traits(call Call) (Traits, bool) {
	def, _ := t.lookup(call.Viewer, call.Name)
	if def == nil {
		return Traits{}, false
	}
	traits := def.tool.Traits
	args, err := normalArgs(call.Args)
	if err != nil {
		return traits, true
	}
	name := def.innerName(args)
	if name == "" || name == call.Name {
		return traits, true
	}
	inner, _ := t.lookup(call.Viewer, name)
	if inner == nil {
		return traits, true
	}
	traits.Parallel, traits.Timeout = inner.tool.Traits.Parallel, inner.tool.Traits.Timeout
	traits.Background = inner.tool.Traits.Background
	return traits, true
}

// callIDs numbers the calls that come without an id. It is part of a host.
type callIDs struct{ last atomic.Uint64 }

func (i *callIDs) next() string { return "call-" + strconv.FormatUint(i.last.Add(1), 10) }

// hosted returns ctx such that events can be emitted with it: a context that
// belongs to no host, or to another one, is tied to h.
func (h *Host) hosted(ctx context.Context) context.Context {
	if fr := frameOf(ctx); fr != nil && fr.host == h {
		return ctx
	}
	return &frameCtx{ctx, frame{host: h, fiber: h.root.fiber}}
}

var _ Executor = (*Tools)(nil)
