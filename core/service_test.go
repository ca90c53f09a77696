package core

import (
	"testing"
)

var number = NewService[int]("number")

func TestRule26_ConsumersUnloadBeforeAnythingOfTheirProviderIsUndone(t *testing.T) {
	h := newHost(t)
	var j journal
	a := load(t, h.Root(), plain("a", func(c *Context) error {
		must(t, c.OnUndo("first", j.on("undo a")), number.Provide(c, 7))
		return nil
	}))
	use := func(c *Context) error {
		n, ok := number.Get(c)
		j.add("%s got %d %v", c.Fiber().Name(), n, ok)
		return c.OnUndo("x", j.on("undo "+c.Fiber().Name()))
	}
	b := load(t, h.Root(), plain("b", use, number))
	load(t, h.Root(), plain("c", use, number))
	must(t, a.Dispose(t.Context()))
	j.want(t, "b got 7 true", "c got 7 true", "undo c", "undo b", "undo a")
	wantState(t, b, Pending)
}
