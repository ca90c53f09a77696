package core

import (
	"context"
	"testing"
)

func TestFiltersNarrowForTheFiberAndBelow(t *testing.T) {
	h := newHost(t)
	mustDefine(t, h.Root(), says("read_file", ""), says("write_file", ""), says("mcp__docs__find", ""))
	var agent, beside Viewer
	group := tooler(t, h.Root(), "group", func(c *Context) error {
		must(t, c.Tools().Filter(Filter{Include: []string{"mcp__docs__*", "*_file"}, Exclude: []string{"write_*"}}))
		tooler(t, c, "agent", func(c *Context) error {
			agent = c.Viewer(Viewer{Agent: "a"})
			return nil
		})
		return nil
	})
	tooler(t, h.Root(), "beside", func(c *Context) error { beside = c.Viewer(Viewer{}); return nil })
	tools := h.Root().Tools()
	for want, v := range map[string]Viewer{
		"mcp__docs__find read_file": agent, "mcp__docs__find read_file write_file": beside,
		"read_file write_file": h.Root().Filtered(Filter{Exclude: []string{"mcp*"}}).Viewer(Viewer{}),
	} {
		if got := namesOf(tools.List(v)); got != want {
			t.Errorf("%s sees %q, want %q", v.Path(), got, want)
		}
	}
	r := tools.Execute(t.Context(), Call{Name: "write_file", Viewer: agent})
	wantCode(t, r, CodeUnknown)
	must(t, group.Dispose(t.Context()))
	if got := namesOf(tools.List(Viewer{})); got != "mcp__docs__find read_file write_file" {
		t.Errorf("the root sees %q", got)
	}
	if all := tools.All(); len(all) != 3 {
		t.Errorf("All lists %d", len(all))
	}
}

func TestARuleThatPanicsHidesAndAPreviewThatPanicsDoesNot(t *testing.T) {
	h := newHost(t)
	mustDefine(t, h.Root(), says("a", "ran"), says("b", "ran"), says("c", "ran"))
	rule := tooler(t, h.Root(), "rule", func(c *Context) error {
		return c.Tools().Visibility(func(_ Viewer, t *Tool) bool {
			if t.Name == "b" {
				panic("boom")
			}
			return true
		})
	})
	tools := h.Root().Tools()
	if got := namesOf(tools.List(Viewer{})); got != "a c" {
		t.Errorf("list %q, want a c", got)
	}
	wantCode(t, run(t, h.Root(), "b", ""), CodeUnknown)
	must(t, rule.Dispose(t.Context()))
	tooler(t, h.Root(), "policy", func(c *Context) error { return Deciders.Provide(c, jumpy{}) })
	if got := namesOf(tools.List(Viewer{})); got != "a b" {
		t.Errorf("list %q, want a b", got)
	}
	wantText(t, run(t, h.Root(), "a", ""), "ran")
}

// jumpy panics at a, lets b be and hides c.
type jumpy struct{}

func (jumpy) Preview(_ Viewer, t *Tool) (Policy, string) {
	switch t.Name {
	case "a":
		panic("boom")
	case "b":
		return Auto, ""
	}
	return Off, ""
}

func (jumpy) Decide(context.Context, DecideRequest) Decision { return Decision{Verdict: Allow} }

func TestSourcesHaveAState(t *testing.T) {
	h := newHost(t)
	tool := says("x", "ran")
	tool.Source = Source{Kind: FromMCP, Name: "s", Trusted: true}
	mustDefine(t, h.Root(), tool)
	tools := h.Root().Tools()
	var control *SourceControl
	f := tooler(t, h.Root(), "mcp", func(c *Context) (err error) {
		control, err = c.Tools().Source(FromMCP, "s")
		return err
	})
	for _, s := range []SourceState{SourceConnecting, SourceUnavailable, SourceReady} {
		control.Set(s)
		if got := tools.Catalog(Viewer{}); len(got) != 1 || got[0].State != s {
			t.Errorf("catalogue %+v, want state %s", got, s)
		}
		wantText(t, run(t, h.Root(), "x", ""), "ran")
	}
	before := tools.Version()
	control.Set(SourceReady)
	if tools.Version() != before {
		t.Error("nothing changed and the version rose")
	}
	control.Set(SourceDisabled)
	if got := tools.List(Viewer{}); len(got) != 0 {
		t.Errorf("a disabled source shows %s", namesOf(got))
	}
	must(t, f.Dispose(t.Context()))
	wantText(t, run(t, h.Root(), "x", ""), "ran")
}
