package core

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"testing"
)

// The must column of the benchmark table that concerns allocations is kept by
// TestAllocations; times are for eyes.

func benchHost(b testing.TB) *Host {
	h := New(&Options{Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	b.Cleanup(func() { _ = h.Close(context.Background()) })
	return h
}

// loaded loads a plugin, waits until it is active and returns its context.
func loaded(b testing.TB, c *Context, apply func(*Context) error, needs ...Need) *Context {
	var got *Context
	f, err := c.Load(plain("bench", func(c *Context) error {
		got = c
		if apply == nil {
			return nil
		}
		return apply(c)
	}, needs...), nil)
	must(b, err, f.Ready(b.Context()))
	return got
}

// numbered is the context of a plugin that needs a number and has one.
func numbered(b testing.TB) *Context {
	h := benchHost(b)
	must(b, number.Provide(h.Root(), 1))
	return loaded(b, h.Root(), nil, number)
}

func BenchmarkServiceGet(b *testing.B) {
	h := benchHost(b)
	must(b, number.Provide(h.Root(), 1))
	hit := loaded(b, h.Root(), nil, number)
	nested := h.Root()
	for range 5 {
		nested = loaded(b, nested, nil)
	}
	for name, c := range map[string]*Context{"hit": hit, "nested": nested, "miss": hit} {
		s := number
		if name == "miss" {
			s = NewService[int]("other")
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s.Get(c)
			}
		})
	}
}

func BenchmarkServiceGetParallel(b *testing.B) {
	c := numbered(b)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			number.Get(c)
		}
	})
}

func BenchmarkServiceAcquire(b *testing.B) {
	c := numbered(b)
	b.ReportAllocs()
	for b.Loop() {
		l, _ := number.Acquire(c)
		l.Release()
	}
}

func BenchmarkServiceUse(b *testing.B) {
	h := benchHost(b)
	must(b, number.Provide(h.Root(), 1))
	c := loaded(b, h.Root(), nil, number)
	f := func(context.Context, int) error { return nil }
	b.ReportAllocs()
	for b.Loop() {
		_ = number.Use(c, c, f)
	}
}

// emitter returns a context and an event with n listeners.
func emitter(b testing.TB, n int) (*Context, Event[int]) {
	h := benchHost(b)
	e := NewEvent[int]("bench")
	for range n {
		must(b, e.On(h.Root(), func(context.Context, int) error { return nil }))
	}
	return loaded(b, h.Root(), nil), e
}

func BenchmarkEventEmit(b *testing.B) {
	for _, n := range []int{0, 1, 10, 100} {
		c, e := emitter(b, n)
		foreign := context.WithValue(c, valueKey{}, 1)
		b.Run(fmt.Sprintf("context/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_ = e.Emit(c, 1)
			}
		})
		b.Run(fmt.Sprintf("foreign/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_ = e.Emit(foreign, 1)
			}
		})
	}
}

func BenchmarkEventEmitParallel(b *testing.B) {
	for _, n := range []int{1, 10} {
		c, e := emitter(b, n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					_ = e.Emit(c, 1)
				}
			})
		})
	}
}

// waterfall returns a function that runs a hook with n listeners.
func waterfall(b testing.TB, n int) func() {
	h := benchHost(b)
	hook := NewHook[int, int]("bench")
	for range n {
		must(b, hook.Around(h.Root(), func(
			ctx context.Context, in int, next func(context.Context, int) (int, error),
		) (int, error) {
			return next(ctx, in)
		}))
	}
	final := func(_ context.Context, in int) (int, error) { return in, nil }
	return func() { _, _ = hook.Run(h.Root(), 1, final) }
}

func BenchmarkEventWaterfall(b *testing.B) {
	for _, n := range []int{1, 10, 100} {
		run := waterfall(b, n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				run()
			}
		})
	}
}

func BenchmarkServiceProvideDispose(b *testing.B) {
	for _, n := range []int{0, 10, 100, 1000} {
		h := benchHost(b)
		for range n {
			loaded(b, h.Root(), nil, text.Optional())
		}
		p := plain("p", func(c *Context) error { return number.Provide(c, 1) })
		ctx := b.Context()
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				f, _ := h.Root().Load(p, nil)
				_ = f.Ready(ctx)
				_ = f.Dispose(ctx)
			}
		})
	}
}

func BenchmarkDependencyActivateDeactivate(b *testing.B) {
	for _, n := range []int{1, 10, 100} {
		h := benchHost(b)
		users := make([]*Fiber, n)
		for i := range users {
			users[i], _ = h.Root().Load(plain("user", nil, number), nil)
		}
		p := plain("p", func(c *Context) error { return number.Provide(c, 1) })
		ctx := b.Context()
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				f, _ := h.Root().Load(p, nil)
				for _, u := range users {
					_ = u.Ready(ctx)
				}
				_ = f.Dispose(ctx)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/dependent")
		})
	}
}

// loadDispose returns a function that loads and disposes a plugin with n effects.
func loadDispose(b testing.TB, n int) func() {
	h := benchHost(b)
	undo := func(context.Context) error { return nil }
	p := plain("p", func(c *Context) error {
		var errs error
		for range n {
			_, err := c.Effect("e", func(*Context) (func(context.Context) error, error) { return undo, nil })
			errs = errors.Join(errs, err)
		}
		return errs
	})
	ctx := b.Context()
	return func() {
		f, _ := Load(h.Root(), p, struct{}{})
		_ = f.Ready(ctx)
		_ = f.Dispose(ctx)
	}
}

func BenchmarkPluginLoadDispose(b *testing.B) {
	for _, n := range []int{0, 3} {
		run := loadDispose(b, n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				run()
			}
		})
	}
}

func TestAllocations(t *testing.T) {
	h := benchHost(t)
	must(t, number.Provide(h.Root(), 1))
	c := loaded(t, h.Root(), nil, number)
	nop := func(context.Context, int) error { return nil }
	emit10, e10 := emitter(t, 10)
	foreign := context.WithValue(emit10, valueKey{}, 1)
	for _, test := range []struct {
		name string
		most float64
		run  func()
	}{
		{"ServiceGet", 0, func() { number.Get(c) }},
		{"ServiceGet miss", 0, func() { text.Get(c) }},
		{"ServiceAcquire", 0, func() { l, _ := number.Acquire(c); l.Release() }},
		{"ServiceUse", 4, func() { _ = number.Use(c, c, nop) }},
		{"EventEmit", 0, func() { _ = e10.Emit(emit10, 1) }},
		{"EventEmit from a foreign context", 1, func() { _ = e10.Emit(foreign, 1) }},
		{"EventWaterfall of 10", 12, waterfall(t, 10)},
		{"PluginLoadDispose", 18, loadDispose(t, 0)},
		{"PluginLoadDispose with 3 effects", 45, loadDispose(t, 3)},
	} {
		test.run()
		if got := testing.AllocsPerRun(100, test.run); got > test.most {
			t.Errorf("%s: %v allocations, want at most %v", test.name, got, test.most)
		}
	}
}
