package core

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
)

func BenchmarkToolDefineDispose(b *testing.B) {
	b.Run("raw", func(b *testing.B) {
		h := newHost(b)
		tool := says("x", "")
		b.ReportAllocs()
		for b.Loop() {
			s, err := h.Root().Scope("s")
			must(b, err, s.Tools().Define(tool), s.Dispose(b.Context()))
		}
	})
	b.Run("typed", func(b *testing.B) {
		h := newHost(b)
		b.ReportAllocs()
		for b.Loop() {
			s, err := h.Root().Scope("s")
			must(b, err, defineTyped(s.Context), s.Dispose(b.Context()))
		}
	})
}

func defineTyped(c *Context) error {
	return DefineTool(c, Tool{Name: "x", Traits: Traits{Effect: Read}}, func(_ context.Context, in struct {
		City string `json:"city"`
	}) (string, error) {
		return in.City, nil
	})
}

func benchSizes(b *testing.B, f func(b *testing.B, c *Context)) {
	for _, n := range []int{10, 1_000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			h := newHost(b)
			err := h.Root().Tools().Batch(func(batch *ToolBatch) error {
				for i := range n {
					batch.Define(says(fmt.Sprintf("tool_%05d", i), ""))
				}
				return nil
			})
			must(b, err)
			b.ReportAllocs()
			f(b, h.Root())
		})
	}
}

func BenchmarkToolList(b *testing.B) {
	benchSizes(b, func(b *testing.B, c *Context) {
		tools := c.Tools()
		for b.Loop() {
			tools.List(Viewer{})
		}
	})
}

func BenchmarkToolCatalog(b *testing.B) {
	benchSizes(b, func(b *testing.B, c *Context) {
		tools := c.Tools()
		for b.Loop() {
			tools.Catalog(Viewer{})
		}
	})
}

func BenchmarkToolListAfterChange(b *testing.B) {
	benchSizes(b, func(b *testing.B, c *Context) {
		tools := c.Tools()
		for b.Loop() {
			must(b, tools.Replace(says("tool_00005", "")))
			tools.List(Viewer{})
		}
	})
}

func BenchmarkToolExecute(b *testing.B) {
	h := newHost(b)
	must(b, defineTyped(h.Root()))
	for _, order := range []int{-200, 0, 10} {
		must(b, h.Root().Tools().Use(order, func(next Handler) Handler {
			return func(ctx context.Context, inv *Invocation) Result { return next(ctx, inv) }
		}))
	}
	tools := h.Root().Tools()
	call := Call{ID: "1", Name: "x", Args: json.RawMessage(`{"city":"Oslo"}`)}
	b.ReportAllocs()
	for b.Loop() {
		if r := tools.Execute(h.Root(), call); r.Err != nil {
			b.Fatal(r.Err)
		}
	}
}

// BenchmarkToolListWithRules is what each step of an agent pays where dynamic
// rules forbid keeping the list.
func BenchmarkToolListWithRules(b *testing.B) {
	benchSizes(b, func(b *testing.B, c *Context) {
		for range 2 {
			must(b, c.Tools().Visibility(func(v Viewer, t *Tool) bool { return t.Name != v.Agent }))
		}
		tooler(b, c, "policy", func(c *Context) error { return Deciders.Provide(c, &steady{}) })
		v := c.Viewer(Viewer{Agent: "a", Session: "s"})
		for b.Loop() {
			c.Tools().List(v)
		}
	})
}

// steady is a Decider whose previews may be kept.
type steady struct{ rules }

func (*steady) PreviewEpoch() uint64 { return 1 }
