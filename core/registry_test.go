package core

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestRule40_ANameIsUniquePerScope(t *testing.T) {
	h := newHost(t)
	root := h.Root()
	a := tooler(t, root, "a", func(c *Context) error { return c.Tools().Define(says("x", "global")) })
	tooler(t, root, "b", func(c *Context) error {
		err := c.Tools().Define(says("x", "second"))
		var conflict *ToolConflictError
		if !errors.As(err, &conflict) || conflict.First != "root/a" || conflict.Second != "root/b" {
			t.Errorf("second Define: %v", err)
		}
		if err := c.Tools().Replace(says("x", "second")); !errors.As(err, &conflict) {
			t.Errorf("Replace by another owner: %v", err)
		}
		agents, group := says("x", "agent's"), says("x", "group's")
		agents.Scope, group.Groups = "bob", []string{"g", "h"}
		mustDefine(t, c, agents, group)
		return nil
	})
	for want, v := range map[string]Viewer{
		"global": {}, "agent's": {Agent: "bob", Groups: []string{"g"}}, "group's": {Agent: "eve", Groups: []string{"h"}},
	} {
		r := root.Tools().Execute(t.Context(), Call{Name: "x", Viewer: v})
		if v.Agent == "" {
			wantText(t, r, want)
			continue
		}
		wantText(t, r, want)
		e := root.Tools().Catalog(v)
		if len(e) != 1 || e[0].Shadows != "root/a" || e[0].Owner != "root/b" {
			t.Errorf("catalogue of %+v: %+v", v, e)
		}
	}
	if err := a.Dispose(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantCode(t, run(t, root, "x", ""), CodeUnknown)
}

func TestRule40_ReplaceIsAtomicAndDoesNotBringBack(t *testing.T) {
	h := newHost(t)
	root := h.Root()
	mustDefine(t, root, says("x", "old"))
	s, err := root.Scope("s")
	if err != nil {
		t.Fatal(err)
	}
	before := root.Tools().Version()
	if err := s.Tools().Replace(says("x", "new")); err != nil {
		t.Fatal(err)
	}
	if got := root.Tools().Version(); got != before+1 {
		t.Errorf("a replacement is %d changes, want 1", got-before)
	}
	wantText(t, run(t, root, "x", ""), "new")
	if err := s.Dispose(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantCode(t, run(t, root, "x", ""), CodeUnknown)
	if n := len(root.Fiber().Effects()); n != 0 {
		t.Errorf("%d effects left: %v", n, root.Fiber().Effects())
	}
}

func TestRule40_OfSeveralGroupsTheViewersFirstCounts(t *testing.T) {
	h := newHost(t)
	for _, scope := range []string{"", "bob"} {
		for _, group := range []string{"", "g", "h"} {
			tool := says("x", scope+"/"+group)
			tool.Scope = scope
			if group != "" {
				tool.Groups = []string{group}
			}
			mustDefine(t, h.Root(), tool)
		}
	}
	for want, v := range map[string]Viewer{
		"/": {}, "/g": {Groups: []string{"g", "h"}}, "/h": {Groups: []string{"none", "h", "g"}},
		"bob/": {Agent: "bob"}, "bob/g": {Agent: "bob", Groups: []string{"g", "h"}}, "bob/h": {Agent: "bob", Groups: []string{"h", "g"}},
	} {
		wantText(t, h.Root().Tools().Execute(t.Context(), Call{Name: "x", Viewer: v}), want)
	}
}

func TestT14_EndingTheFirstRegistrationLeavesTheLatest(t *testing.T) {
	h := newHost(t)
	first, err := h.Root().Scope("first")
	must(t, err)
	second, err := h.Root().Scope("second")
	must(t, err)
	mustDefine(t, first.Context, says("x", "old"))
	must(t, second.Tools().Replace(says("x", "new")), first.Dispose(t.Context()))
	wantText(t, run(t, h.Root(), "x", ""), "new")
	must(t, second.Dispose(t.Context()))
	wantCode(t, run(t, h.Root(), "x", ""), CodeUnknown)
}

func TestL54_EveryChangeIsANewVersionAndWhatIsGoneCantBeCalled(t *testing.T) {
	h := newHost(t)
	tools := h.Root().Tools()
	version := tools.Version()
	changed := func(what string) {
		t.Helper()
		if now := tools.Version(); now <= version {
			t.Errorf("%s: version %d is still %d", what, version, now)
		}
		version = tools.Version()
	}
	var c *Context
	f := tooler(t, h.Root(), "p", func(own *Context) error { c = own; return c.Tools().Define(says("x", "ran")) })
	changed("loaded")
	must(t, c.Tools().Replace(says("x", "ran")))
	changed("replaced")
	must(t, c.Tools().Filter(Filter{Exclude: []string{"y"}}))
	changed("filtered")
	must(t, c.Tools().Visibility(func(Viewer, *Tool) bool { return true }))
	changed("a rule")
	s, err := c.Tools().Source(FromMCP, "s")
	must(t, err)
	s.Set(SourceDisabled)
	changed("a source")
	before := tools.List(Viewer{})
	must(t, f.Restart(t.Context()))
	changed("restarted")
	must(t, f.Dispose(t.Context()))
	changed("unloaded")
	if list := tools.List(Viewer{}); len(list) != 0 {
		t.Errorf("left: %s", namesOf(list))
	}
	wantCode(t, run(t, h.Root(), "x", ""), CodeUnknown)
	// H16: who works on a list keeps it.
	if namesOf(before) != "x" {
		t.Errorf("the list of before is %q now", namesOf(before))
	}
}

func TestRule42_ABatchIsOneChange(t *testing.T) {
	h := newHost(t)
	tools := h.Root().Tools()
	mustDefine(t, h.Root(), says("a", "1"), says("b", "1"))
	before := tools.Version()
	err := tools.Batch(func(b *ToolBatch) error {
		b.Remove("a")
		b.Define(says("a", "2"))
		b.Replace(says("b", "2"))
		b.Define(says("c", "2"))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := tools.Version(); got != before+1 {
		t.Errorf("a batch is %d changes, want 1", got-before)
	}
	for _, name := range []string{"a", "b", "c"} {
		wantText(t, run(t, h.Root(), name, ""), "2")
	}
	list := tools.List(Viewer{})
	err = tools.Batch(func(b *ToolBatch) error {
		b.Remove("a")
		b.Replace(says("b", "3"))
		b.Define(says("c", "3"))
		return nil
	})
	if !errors.As(err, new(*ToolConflictError)) {
		t.Errorf("Batch: %v, want a conflict", err)
	}
	err = tools.Batch(func(b *ToolBatch) error {
		b.Remove("a")
		b.Define(says("a", "3"))
		b.Define(says("c", "3"))
		return nil
	})
	if !errors.As(err, new(*ToolConflictError)) {
		t.Errorf("Batch: %v, want a conflict", err)
	}
	if err := tools.Batch(func(b *ToolBatch) error { b.Remove("a"); return errTimeout }); err != errTimeout {
		t.Errorf("Batch: %v, want what the function returned", err)
	}
	if after := tools.List(Viewer{}); &after[0] != &list[0] {
		t.Error("a batch that failed changed the registry")
	}
	mustDefine(t, h.Root(), says("d", "")) // so that the table is read anew
	for _, name := range []string{"a", "b", "c"} {
		wantText(t, run(t, h.Root(), name, ""), "2")
	}
	if n := len(h.Root().Fiber().Effects()); n != 4 {
		t.Errorf("%d effects, want 4", n)
	}
}

func TestRule42_ReadersSeeTheOldListOrTheNew(t *testing.T) {
	h := newHost(t)
	tools := h.Root().Tools()
	mustDefine(t, h.Root(), says("a0", ""), says("b0", ""))
	stop := make(chan struct{})
	done := make(chan string)
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
			}
			if l := tools.List(Viewer{}); len(l) != 2 || l[0].Name[1] != l[1].Name[1] {
				done <- namesOf(l)
				return
			}
		}
	}()
	for i := range 200 {
		now, next := fmt.Sprint(i%2), fmt.Sprint((i+1)%2)
		err := tools.Batch(func(b *ToolBatch) error {
			b.Remove("a" + now)
			b.Remove("b" + now)
			b.Define(says("a"+next, ""))
			b.Define(says("b"+next, ""))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	if bad, ok := <-done; ok {
		t.Errorf("a reader saw %q", bad)
	}
}

func TestRule41_AChangeOfToolsRestartsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		var applied, told atomic.Int32
		tooler(t, h.Root(), "consumer", func(c *Context) error {
			applied.Add(1)
			return ToolsChanged.On(c, func(context.Context, ToolChange) error { told.Add(1); return nil })
		})
		before := h.Root().Tools().Version()
		mustDefine(t, h.Root(), says("a", ""), says("b", ""), says("c", ""))
		if got := h.Root().Tools().Version(); got != before+3 {
			t.Errorf("version rose by %d, want 3", got-before)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if applied.Load() != 1 || told.Load() != 1 {
			t.Errorf("applied %d times, told %d times, want 1 and 1", applied.Load(), told.Load())
		}
	})
}

func TestListOfAnUnchangedRegistryAllocatesNothing(t *testing.T) {
	h := newHost(t)
	for i := range 50 {
		mustDefine(t, h.Root(), says(fmt.Sprintf("t%d", i), ""))
	}
	tools, v := h.Root().Tools(), h.Root().Viewer(Viewer{Agent: "a", Session: "s", Groups: []string{"g", "h"}})
	for name, f := range map[string]func(){"List": func() { tools.List(v) }, "Catalog": func() { tools.Catalog(v) }} {
		f()
		if n := testing.AllocsPerRun(100, f); n != 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
	if list := tools.List(v); !strings.HasPrefix(namesOf(list), "t0 t1 t10 t11 ") {
		t.Errorf("not sorted: %s", namesOf(list))
	}
}

func TestViewsOfManyViewersAreBounded(t *testing.T) {
	h := newHost(t)
	mustDefine(t, h.Root(), says("x", ""))
	tools := h.Root().Tools()
	for i := range 3 * viewsKept {
		tools.List(Viewer{Agent: fmt.Sprint("a", i)})
	}
	snap := h.tools.current()
	if n := len(*snap.bases.table.Load()); n > viewsKept {
		t.Errorf("%d views are kept, at most %d", n, viewsKept)
	}
}

func TestL51_ReloadsPileNothingUp(t *testing.T) {
	h := newHost(t)
	p := Plugin[struct{}]{Name: "p", Apply: func(c *Context, _ struct{}) error {
		for i := range 10 {
			mustDefine(t, c, says(fmt.Sprint("t", i), ""))
		}
		for range 3 {
			must(t, ToolDone.On(c, func(context.Context, ToolOutcome) error { return nil }))
		}
		must(t, c.Tools().Filter(Filter{Exclude: []string{"none"}}))
		must(t, c.Tools().Visibility(func(Viewer, *Tool) bool { return true }))
		must(t, c.Tools().Use(1, func(n Handler) Handler { return n }))
		_, err := c.Tools().Source(FromMCP, "s")
		return errors.Join(err, c.Go("wait", func(ctx context.Context) error { <-ctx.Done(); return nil }))
	}}
	f, err := Load(h.Root(), p, struct{}{})
	must(t, err, f.Ready(t.Context()))
	for range 1000 {
		must(t, f.Restart(t.Context()), f.Ready(t.Context()))
		if n := len(h.Root().Tools().List(Viewer{})); n != 10 {
			t.Fatalf("%d tools, want 10", n)
		}
	}
	must(t, f.Dispose(t.Context()))
	r := &h.tools
	if n := len(h.Root().Fiber().Effects()); n != 0 || len(r.defs) != 0 || len(r.sources) != 0 || h.Root().filters.Load() != nil {
		t.Errorf("left: %d effects, %d names, %d sources", n, len(r.defs), len(r.sources))
	}
	if h.snapshot(toolWraps) != nil || h.snapshot(toolRules) != nil {
		t.Error("a middleware or a rule is left")
	}
}
