package loader_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/config"
	"github.com/agentd-host/agentd/core/coretest"
	"github.com/agentd-host/agentd/core/loader"
)

func TestMain(m *testing.M) { coretest.Main(m) }

// Listeners are called in the order of the file, also after it was moved about.
func TestRule36_45_TheFilesOrderIsTheListeners(t *testing.T) {
	b := newBench(t, "plugins: {p:a: {}, p:b: {}, p:c: {}}")
	said := core.NewEvent[struct{}]("said")
	var order string
	for _, id := range []string{"c", "a", "b"} {
		err := said.On(b.at["p:"+id], func(context.Context, struct{}) error { order += id; return nil })
		if err != nil {
			t.Fatal(err)
		}
	}
	for file, want := range map[string]string{
		"plugins: {p:a: {}, p:b: {}, p:c: {}} # again": "abc", "plugins: {p:c: {}, p:a: {}, p:b: {}}": "cab",
	} {
		b.change(file, "")
		order = ""
		if err := said.Emit(b.host.Root(), struct{}{}); err != nil {
			t.Fatal(err)
		}
		if order != want {
			t.Errorf("%s: called in the order %s, want %s", file, order, want)
		}
	}
}

func TestRule45_OnlyWhatChangedRestarts(t *testing.T) {
	b := newBench(t, three)
	ids := []string{"a", "b", "g", "c"}
	before := b.uids(ids...)

	b.change(three, "")
	b.want("publish")
	b.change("# moved about\nplugins: {group:g: {plugins: {p:c: {value: v1}}}, p:b: {value: v1}, p:a: {value: v1}}", "")
	b.want("publish")
	b.same(before, b.uids(ids...), "the same and reordered")

	b.change(strings.Replace(three, "p:b: {value: v1}", "p:b: {value: v2}", 1), "")
	b.want("publish", "- p:b=v1", "+ p:b=v2")
	b.same(before, b.uids(ids...), "one changed: even that keeps its uid")

	b.change(strings.Replace(three, "p:b", "q:b", 1), "")
	b.want("publish", "- p:b=v2", "+ q:b=v1")
	after := b.uids(ids...)
	if after[1] == before[1] {
		t.Error("another plugin under one id has the same fiber")
	}
	after[1] = before[1]
	b.same(before, after, "the others")
}

func TestRule46_RemovedAndDisabledEntriesGo(t *testing.T) {
	b := newBench(t, "plugins: {p:a: {}, p:b: {}, group:g: {plugins: {p:c: {}, group:h: {plugins: {p:d: {}}}}}}")
	before := b.uids("a")
	b.change("plugins: {p:a: {}, group:g: {plugins: {~p:c: {}, group:h: {plugins: {p:d: {}}}}}}", "")
	b.want("publish", "- p:c=", "- p:b=")
	if e := b.entry("c"); !e.Disabled || e.State != "" {
		t.Errorf("c = %+v", e)
	}
	b.change("plugins: {p:a: {}, ~group:g: {plugins: {p:c: {}, group:h: {plugins: {p:d: {}}}}}}", "")
	b.want("publish", "- p:d=")
	if e := b.entry("d"); !e.Disabled || e.Depth != 2 {
		t.Errorf("d = %+v", e)
	}
	b.change("plugins: {p:a: {}, group:g: {plugins: {p:c: {}, group:h: {plugins: {p:d: {}}}}}}", "")
	if got := b.read(); len(got) != 3 {
		t.Errorf("enabled again: %v", got)
	}
	if e := b.entry("d"); e.Path != "root/group:g/group:h/p:d" || e.State != "active" {
		t.Errorf("d = %+v", e)
	}
	b.same(before, b.uids("a"), "a")
}

func TestRule46_L24_MovingBetweenEnabledGroupsRestartsNothing(t *testing.T) {
	b := newBench(t, "plugins: {p:x: {}, group:g: {plugins: {p:a: {}}}, group:h: {}}")
	before := b.uids("x", "a")
	b.change("plugins: {group:g: {}, group:h: {plugins: {p:a: {}, p:x: {}}}}", "")
	b.want("publish")
	b.same(before, b.uids("x", "a"), "moved")

	// L24: the group that it is in now counts.
	b.change("plugins: {group:g: {}, ~group:h: {plugins: {p:a: {}, p:x: {}}}}", "")
	if got := b.read(); len(got) != 3 {
		t.Errorf("disabled: %v", got)
	}
	b.change("plugins: {group:g: {}, group:h: {plugins: {p:a: {}, p:x: {}}}}", "")
	b.read()
	before = b.uids("x", "a")
	for range 5 {
		b.reload("")
	}
	b.same(before, b.uids("x", "a"), "reloaded five times")

	b.read()
	b.change("plugins: {group:g: {filter: {include: [a]}, plugins: {p:x: {}}}, group:h: {plugins: {p:a: {}}}}", "")
	b.want("publish", "- p:x=", "+ p:x=")
	b.same(b.uids("a"), before[1:], "a")

	// Where it stayed behind is gone: only then it goes along.
	b.change("plugins: {group:h: {plugins: {p:a: {}}}, p:x: {}}", "")
	b.read()
	b.change("plugins: {p:a: {}, p:x: {}, group:h: {}}", "")
	b.want("publish")
	b.change("plugins: {p:a: {}, p:x: {}}", "")
	b.want("publish", "- p:a=", "+ p:a=")
}

func TestRule46_AnotherFilterTakesEffectInPlace(t *testing.T) {
	b := newBench(t, "plugins: {p:t: {tool: one}, q:u: {tool: two}, group:g: {filter: {include: [o*]}, plugins: {p:a: {}}}}")
	before := b.uids("g", "a")
	see := func() (names []string) {
		b.mu.Lock()
		at := b.at["p:a"]
		b.mu.Unlock()
		for _, tool := range at.Tools().List(core.Viewer{}) {
			names = append(names, tool.Name)
		}
		return names
	}
	if d := cmp.Diff([]string{"one"}, see()); d != "" {
		t.Error(d)
	}
	b.change("plugins: {p:t: {tool: one}, q:u: {tool: two}, group:g: {filter: {exclude: [one]}, plugins: {p:a: {}}}}", "")
	if d := cmp.Diff([]string{"two"}, see()); d != "" {
		t.Error(d)
	}
	b.change("plugins: {p:t: {tool: one}, q:u: {tool: two}, group:g: {plugins: {p:a: {}}}}", "")
	if d := cmp.Diff([]string{"one", "two"}, see()); d != "" {
		t.Error(d)
	}
	b.same(before, b.uids("g", "a"), "the group and what is in it")
}

func TestRule47_WhatIsWrongChangesNothing(t *testing.T) {
	b := newBench(t, three)
	before := b.uids("a", "b", "c")
	for text, problem := range map[string]string{
		"plugins: {p:a: {value: v2}, nope: {}}":          `there is no plugin "nope"`,
		"plugins: {p:a: {value: v2}, q:a: {}}":           `the entry "a" is here twice`,
		"plugins: {p:a: {value: v2}, p:b: {sour: true}}": "plugins.p:b: this is sour",
		"plugins: {p:a: {value: v2}, p:b: {fial: true}}": `did you mean "fail"?`,
		"plugins: {p:a: {value: \"${NOPE}\"}}":           "NOPE is not set",
		"plugins: {p:a: {value: v2}":                     "not valid YAML",
		"":                                               "the file is empty",
	} {
		b.change(text, problem)
		b.want()
		if s := b.l.Status(); s.Err == nil || s.ErrTime.IsZero() || s.Good.IsZero() {
			t.Errorf("%q: status = %+v", text, s)
		}
	}
	if err := os.Remove(b.path); err != nil {
		t.Fatal(err)
	}
	b.reload("no such file")
	b.same(before, b.uids("a", "b", "c"), "after bad files")
	b.change(strings.ReplaceAll(three, "v1", "v3"), "") // and the next good one is applied
	if s := b.l.Status(); s.Err != nil || b.entry("c").Err != nil {
		t.Errorf("the error stays: %+v", s)
	}
}

func TestRule47_L36_L44_AnEntryThatFailsHoldsUpNobody(t *testing.T) {
	for _, order := range [][]string{{"p:a: {fail: true}", "p:b: {}"}, {"p:b: {}", "p:a: {fail: true}"}} {
		b := newBench(t, "plugins: {}")
		b.change("plugins: {"+strings.Join(order, ", ")+"}", "p:a: no luck")
		if e := b.entry("a"); e.State != "failed" || e.Err == nil || !strings.Contains(e.Err.Error(), "no luck") {
			t.Errorf("a = %+v", e)
		}
		if e := b.entry("b"); e.State != "active" {
			t.Errorf("b = %+v", e)
		}
		if b.running("p:a") != 0 {
			t.Error("what the failed attempt had started still runs")
		}
	}
}

func TestRule48_L39_L41_PortsMoveFromOneEntryToAnother(t *testing.T) {
	b := newBench(t, "plugins: {p:a: {port: 1}, p:b: {port: 2}}")
	b.change("plugins: {p:c: {port: 1}, p:b: {port: 2}}", "")
	b.want("publish", "- p:a=", "+ p:c=")
	b.change("plugins: {p:c: {port: 2}, p:b: {port: 1}}", "") // crosswise
	b.want("publish", "- p:c=", "! p:c", "- p:b=", "+ p:b=", "+ p:c=")
	b.change("plugins: {p:d: {port: 2}, p:c: {}, p:b: {port: 1}}", "") // freed by an update
	b.want("publish", "- p:c=", "+ p:c=", "+ p:d=")
	if d := cmp.Diff(map[int]string{1: "p:b", 2: "p:d"}, b.owners()); d != "" {
		t.Error(d)
	}
}

func TestRule48_L19_L37_AFailedStartGoesBackToTheOldOptions(t *testing.T) {
	b := newBench(t, "plugins: {p:a: {value: old, port: 1}, p:b: {}, group:g: {plugins: {p:c: {value: old}, p:d: {}}}}")
	before := b.uids("a", "b", "c", "d")
	b.change("plugins: {p:a: {value: new, fail: true}, p:b: {}, group:g: {plugins: {p:c: {value: new}, p:d: {}}}}",
		"p:a: no luck; the old options are back")
	// It is tried once more, because c was changed in the meantime.
	b.want("publish", "- p:a=old", "! p:a", "- p:c=old", "+ p:c=new", "! p:a", "+ p:a=old")
	b.same(before, b.uids("a", "b", "c", "d"), "all")
	if e := b.entry("a"); e.State != "active" || e.Err == nil || b.owners()[1] != "p:a" {
		t.Errorf("a = %+v", e)
	}
	if n := b.running("p:a"); n != 1 {
		t.Errorf("%d goroutines of a run", n)
	}
}

func TestRule48_L42_WhenTheOldOptionsFailTooBothAreSaid(t *testing.T) {
	b := newBench(t, "plugins: {p:a: {port: 1}}")
	b.hook(func(event string) {
		if event == "! p:a" {
			b.take(1, "somebody else")
		}
	})
	b.change("plugins: {p:a: {fail: true}}",
		"no luck; additionally, restoring the old options: port 1 is used by somebody else")
	if e := b.entry("a"); e.State != "failed" {
		t.Errorf("a = %+v", e)
	}
	b.hook(nil)
	b.free(1)
	b.change("plugins: {p:a: {port: 1}}", "")
	if e := b.entry("a"); e.State != "active" || e.Err != nil {
		t.Errorf("a = %+v", e)
	}
}

func TestRule49_L22_SavingTheSameFileAgainRetries(t *testing.T) {
	b := newBench(t, "plugins: {p:a: {value: old}, p:b: {}}")
	if err := b.take(7, "somebody else"); err != nil {
		t.Fatal(err)
	}
	const text = "plugins: {p:a: {value: new, port: 7}, p:b: {}, p:n: {port: 7}}"
	b.change(text, "port 7 is used by somebody else")
	b.read()
	b.change(text, "port 7 is used by somebody else")
	b.want("publish", "- p:a=old", "! p:a", "! p:n", "+ p:a=old")
	b.free(7)
	b.change(strings.Replace(text, "p:n: {port: 7}", "p:n: {port: 8}", 1), "")
	b.want("publish", "- p:a=old", "+ p:a=new", "+ p:n=")
	b.reload("")
	b.want("publish")
}

func TestRule49_GoingBackToWhatRunsRestartsNothing(t *testing.T) {
	b := newBench(t, "plugins: {p:a: {value: old}}")
	b.change("plugins: {p:a: {fail: true}}", "no luck")
	b.read()
	b.change("plugins: {p:a: {value: old}}", "")
	b.want("publish")
	if e := b.entry("a"); e.Err != nil {
		t.Errorf("the error stays: %v", e.Err)
	}
}

func TestRule49_L31_ReloadsAreSerialised(t *testing.T) {
	b := newBench(t, three)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 5 {
				switch (i + j) % 3 {
				case 0:
					b.l.Reload(t.Context())
				case 1:
					b.l.Restart(t.Context(), "a")
				case 2:
					b.l.Status()
				}
			}
		})
	}
	wg.Wait()
	b.reload("")
	for _, id := range []string{"a", "b", "c"} {
		if e := b.entry(id); e.State != "active" || e.Err != nil {
			t.Errorf("%s = %+v", id, e)
		}
	}
	for _, who := range []string{"p:a", "p:b", "p:c"} {
		if n := b.running(who); n != 1 {
			t.Errorf("%d loops of %s run", n, who)
		}
	}
}

func TestPolicyIsPublishedBeforeThePlugins(t *testing.T) {
	b := newBench(t, "plugins: {}")
	b.change("tools: {policy: {x: off}}\nplugins: {p:a: {}, ~p:b: {}, group:g: {policy: {y: ask}, plugins: {p:c: {}}}, ~group:h: {plugins: {p:d: {}}}}", "")
	lines := b.read()
	slices.Sort(lines[1:]) // the plugins start side by side
	if d := cmp.Diff([]string{"publish", "+ p:a=", "+ p:c="}, lines); d != "" {
		t.Error(d)
	}
	got := loader.PolicyOf(b.docs[len(b.docs)-1], "root")
	want := &core.PolicyConfig{
		Rules:   []core.PolicyRule{{Pattern: "x", Value: core.Off, Position: b.path + ":1:18"}},
		Groups:  []core.GroupPolicy{{Path: "root/group:g", Rules: []core.PolicyRule{{Pattern: "y", Value: core.Ask, Position: b.path + ":2:49"}}}},
		Entries: []string{"root/p:a", "root/group:g/p:c"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestE14_RulesWithoutTrustOnlyTighten(t *testing.T) {
	doc := &config.Document{Tighten: []config.PolicyRule{{Pattern: "x", Value: "off"}}}
	got := loader.PolicyOf(doc, "root")
	if len(got.Rules) != 0 || len(got.Groups) != 1 || got.Groups[0].Path != "" {
		t.Errorf("got %+v", got)
	}
}

func TestL16_TheFilesNewValueArrives(t *testing.T) {
	b := newBench(t, "plugins: {p:a: {value: one}}")
	for _, v := range []string{"two", "three"} {
		b.change("plugins: {p:a: {value: "+v+"}}", "")
		if got := b.read(); got[len(got)-1] != "+ p:a="+v {
			t.Errorf("got %v", got)
		}
	}
}

func TestL17_AFiberThatSomebodyDisposedComesBackWithTheNextReload(t *testing.T) {
	b := newBench(t, "plugins: {p:a: {}, p:b: {}}")
	for _, f := range b.host.Root().Fiber().Children() {
		if f.Name() == "p:a" {
			if err := f.Dispose(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if text, _ := os.ReadFile(b.path); string(text) != "plugins: {p:a: {}, p:b: {}}" {
		t.Errorf("the file was changed: %s", text)
	}
	if e := b.entry("a"); e.Disabled || e.State != "disposed" {
		t.Errorf("a = %+v", e)
	}
	b.reload("")
	if e := b.entry("a"); e.State != "active" {
		t.Errorf("a = %+v", e)
	}
}

func TestL42_ARestartIsConsumedOnce(t *testing.T) {
	b := newBench(t, "plugins: {p:a: {}, p:b: {value: v1}, group:g: {plugins: {p:c: {}}}}")
	before := b.uids("a", "g")
	if err := errors.Join(b.l.Restart(t.Context(), "a"), b.l.Restart(t.Context(), "group:g")); err != nil {
		t.Fatal(err)
	}
	b.want("- p:a=", "+ p:a=", "- p:c=", "+ p:c=")
	b.same(before, b.uids("a", "g"), "restarted")
	b.change("plugins: {p:a: {}, p:b: {value: v2}, group:g: {plugins: {p:c: {}}}}", "")
	b.want("publish", "- p:b=v1", "+ p:b=v2")
	err := b.l.Restart(t.Context(), "bb")
	if err == nil || err.Error() != `there is no entry "bb"` && !strings.Contains(err.Error(), "did you mean") {
		t.Errorf("got %v", err)
	}
}

func TestEnableAndDisableEditTheFile(t *testing.T) {
	b := newBench(t, "plugins:\n  p:a: {} # one\n  p:b: {}\n")
	if err := b.l.Disable(t.Context(), "p:a"); err != nil {
		t.Fatal(err)
	}
	b.want("publish", "- p:a=")
	if text, _ := os.ReadFile(b.path); string(text) != "plugins:\n  ~p:a: {} # one\n  p:b: {}\n" {
		t.Errorf("got %s", text)
	}
	if err := errors.Join(b.l.Enable(t.Context(), "a"), b.l.SetPolicy(t.Context(), "x*", "off")); err != nil {
		t.Fatal(err)
	}
	b.want("publish", "+ p:a=", "publish")
	if text, _ := os.ReadFile(b.path); string(text) != "plugins:\n  p:a: {} # one\n  p:b: {}\ntools:\n  policy:\n    \"x*\": off\n" {
		t.Errorf("got %s", text)
	}
	for id, want := range map[string]string{"c": `there is no entry "c"`} {
		if err := b.l.Enable(t.Context(), id); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v", id, err)
		}
	}
	// What would not load is not written.
	b.save("plugins: {p:a: {}, ~p:b: {sour: true}}")
	b.reload("sour")
}

func TestCloseLeavesNothing(t *testing.T) {
	b := newBench(t, three)
	if err := b.l.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.want("- p:c=v1", "- p:b=v1", "- p:a=v1")
	if b.running("p:a")+b.running("p:b")+b.running("p:c") != 0 || len(b.host.Root().Fiber().Effects()) != 0 {
		t.Errorf("left: %v", b.host.Root().Fiber().Effects())
	}
}

func TestL51_ManyReloadsLeaveTheSameTools(t *testing.T) {
	b := newBench(t, "plugins: {p:a: {tool: one}}")
	for i := range 100 {
		b.change(fmt.Sprintf("plugins: {p:a: {tool: one, value: v%d}}", i), "")
	}
	if got := len(b.host.Root().Tools().List(core.Viewer{})); got != 1 {
		t.Errorf("%d tools", got)
	}
}
