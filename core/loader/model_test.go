package loader_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

var seed = flag.Uint64("loader.seed", 0, "replay this seed of the model test")

// plan is one entry of a generated file.
type plan struct {
	id, plugin, value string
	disabled, fail    bool
	inner             []*plan // of a group
	group             bool
	filter            string
}

func (p *plan) text() string {
	key := p.plugin + ":" + p.id
	if p.disabled {
		key = "~" + key
	}
	if !p.group {
		return fmt.Sprintf("%s: {value: %s, fail: %v}", key, p.value, p.fail)
	}
	filter := ""
	if p.filter != "" {
		filter = fmt.Sprintf("filter: {include: [%s]}, ", p.filter)
	}
	return fmt.Sprintf("%s: {%splugins: {%s}}", key, filter, texts(p.inner))
}

func texts(plans []*plan) string {
	var all []string
	for _, p := range plans {
		all = append(all, p.text())
	}
	return strings.Join(all, ", ")
}

// generate makes a tree of entries with ids from a small set, so that they
// come, go, change, move and come back.
func generate(r *rand.Rand) []*plan {
	groups := []*plan{{id: "g", plugin: "group", group: true}, {id: "h", plugin: "group", group: true}, {id: "i", plugin: "group", group: true}}
	var top []*plan
	places := []*[]*plan{&top}
	for _, g := range groups {
		if r.IntN(4) == 0 {
			continue
		}
		g.disabled = r.IntN(6) == 0
		g.filter = []string{"", "", "x", "y"}[r.IntN(4)]
		at := places[r.IntN(len(places))]
		*at = append(*at, g)
		places = append(places, &g.inner)
	}
	for _, id := range []string{"a", "b", "c", "d", "e"} {
		if r.IntN(4) == 0 {
			continue
		}
		p := &plan{id: id, plugin: []string{"p", "p", "q"}[r.IntN(3)], value: []string{"v1", "v2"}[r.IntN(2)],
			disabled: r.IntN(6) == 0, fail: r.IntN(6) == 0}
		at := places[r.IntN(len(places))]
		*at = append(*at, p)
	}
	r.Shuffle(len(top), func(i, j int) { top[i], top[j] = top[j], top[i] })
	return top
}

// place is where an entry is: the groups around it, and whether it may run.
type place struct {
	*plan
	groups []*plan
	live   bool
}

func places(plans []*plan, around place, out map[string]place) map[string]place {
	for _, p := range plans {
		here := place{p, around.groups, around.live && !p.disabled}
		out[p.id] = here
		places(p.inner, place{groups: append(slices.Clip(around.groups), p), live: here.live}, out)
	}
	return out
}

// parent is the id of the group that an entry is in.
func (p place) parent() string {
	if len(p.groups) == 0 {
		return ""
	}
	return p.groups[len(p.groups)-1].id
}

// atHome reports whether an entry and the groups around it are where their
// fibers were made. What moved earlier may have to move on with what it left.
func atHome(homes map[string]string, p place, all map[string]place) bool {
	for _, g := range append([]*plan{p.plan}, p.groups...) {
		if homes[g.id] != all[g.id].parent() {
			return false
		}
	}
	return true
}

// stays reports whether an entry must keep its fiber: it is the same, and so
// is every group around it.
func stays(old, now place) bool {
	if !old.live || !now.live || old.plugin != now.plugin || len(old.groups) != len(now.groups) {
		return false
	}
	for i := range old.groups {
		if old.groups[i].id != now.groups[i].id {
			return false
		}
	}
	return true
}

// The model: after any sequence of files, what runs is what the last file
// says, whatever was there before, and nothing restarted without a reason.
func TestReloadsAgainstAModel(t *testing.T) {
	seeds := []uint64{*seed}
	if *seed == 0 {
		seeds = nil
		for range 40 {
			seeds = append(seeds, rand.Uint64())
		}
	}
	for _, s := range seeds {
		t.Run(fmt.Sprintf("loader.seed=%d", s), func(t *testing.T) { modelRun(t, rand.New(rand.NewPCG(s, 0))) })
	}
}

func modelRun(t *testing.T, r *rand.Rand) {
	b := newBench(t, "plugins: {}")
	old := map[string]place{}
	running := map[string]string{} // id -> value that must be in force
	homes := map[string]string{}   // id -> group in which its fiber was made
	for step := range 12 {
		plans := generate(r)
		now := places(plans, place{live: true}, map[string]place{})
		before := map[string]uint64{}
		for _, e := range b.l.Status().Entries {
			before[e.ID] = e.UID
		}
		b.save("plugins: {" + texts(plans) + "}")
		err := b.l.Reload(t.Context())
		starts := map[string]int{}
		for _, line := range b.read() {
			if name, _, ok := strings.Cut(strings.TrimLeft(line, "+ "), "="); ok && line[0] == '+' {
				_, id, _ := strings.Cut(name, ":")
				starts[id]++
			}
		}
		next := map[string]string{}
		wantErr := false
		for id, p := range now {
			if p.group {
				continue
			}
			e := b.entry(id)
			kept := stays(old[id], p) && atHome(homes, p, now)
			if kept && before[id] != 0 && e.UID != before[id] {
				t.Errorf("step %d: %s lost its fiber", step, id)
			}
			switch was, ran := running[id]; {
			case !p.live:
				if e.State != "" {
					t.Errorf("step %d: %s is %s, want none", step, id, e.State)
				}
			case p.fail:
				wantErr = true
				if e.Err == nil {
					t.Errorf("step %d: the error of %s is not kept", step, id)
				}
				if kept && ran {
					next[id] = was // its old options are back
					if e.State != "active" {
						t.Errorf("step %d: %s is %s, want its old options back", step, id, e.State)
					}
				} else if e.UID != before[id] && e.State != "failed" {
					t.Errorf("step %d: %s is %s, want failed", step, id, e.State)
				} else if e.State == "active" { // it moved, and kept what it had
					next[id] = was
				}
			default:
				next[id] = p.value
				if e.State != "active" || e.Err != nil {
					t.Errorf("step %d: %s = %+v, want it active", step, id, e)
				}
				if kept && ran && was == p.value && !old[id].fail && starts[id] > 0 {
					t.Errorf("step %d: %s restarted without a reason", step, id)
				}
				if starts[id] > 1 {
					t.Errorf("step %d: %s started %d times", step, id, starts[id])
				}
			}
		}
		if (err != nil) != wantErr {
			t.Errorf("step %d: reload: %v, want an error: %v", step, err, wantErr)
		}
		for id, value := range next {
			b.expectValue(id, value)
		}
		for _, who := range b.runners() {
			if _, ok := next[who]; !ok {
				t.Errorf("step %d: %s still runs", step, who)
			}
		}
		if t.Failed() {
			t.Fatalf("the file was:\nplugins: {%s}", texts(plans))
		}
		// The same file again: whatever runs is left alone.
		b.l.Reload(t.Context())
		for _, line := range b.read() {
			if line[0] != '+' {
				continue
			}
			name, _, _ := strings.Cut(line[2:], "=")
			_, id, _ := strings.Cut(name, ":")
			if !now[id].fail {
				t.Errorf("step %d: %s restarted for the same file", step, id)
			}
		}
		for _, e := range b.l.Status().Entries {
			if e.UID != before[e.ID] {
				homes[e.ID] = now[e.ID].parent()
			}
		}
		old, running = now, next
	}
	if err := errors.Join(b.l.Close(t.Context())); err != nil {
		t.Error(err)
	}
	if left := b.runners(); len(left) > 0 {
		t.Errorf("after Close these run: %v", left)
	}
}

// expectValue checks what the last start of an entry was with.
func (b *bench) expectValue(id, value string) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for who, v := range b.values {
		if strings.HasSuffix(who, ":"+id) && v != value {
			b.t.Errorf("%s runs with %s, want %s", who, v, value)
		}
	}
}

// runners lists the ids of what runs.
func (b *bench) runners() (ids []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for who := range b.live {
		_, id, _ := strings.Cut(who, ":")
		ids = append(ids, id)
	}
	return ids
}
