package memory

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/agentd-host/agentd/core"
)

// TestStoreAgreesWithASimpleModel does random things to the store and to maps.
func TestStoreAgreesWithASimpleModel(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	s := newStore(t)
	model := map[string][]core.SessionEvent{}
	open := map[string]core.Session{}
	seqs := map[string]int64{}
	ids := func() []string {
		var list []string
		for id := range model {
			list = append(list, id)
		}
		slices.Sort(list)
		return list
	}
	for step := range 600 {
		known := ids()
		pick := ""
		if len(known) > 0 {
			pick = known[rng.IntN(len(known))]
		}
		switch op := rng.IntN(8); {
		case op == 0 || pick == "":
			id := fmt.Sprint("s", step)
			o, err := s.Create(t.Context(), core.SessionInfo{ID: id})
			if err != nil {
				t.Fatal(err)
			}
			model[id], open[id] = nil, o
		case op == 1 && open[pick] != nil:
			if err := open[pick].Close(); err != nil {
				t.Fatal(err)
			}
			delete(open, pick)
		case op == 2:
			o, err := s.Open(t.Context(), pick)
			if (err == nil) != (open[pick] == nil) {
				t.Fatalf("step %d: open %s: %v", step, pick, err)
			}
			if err == nil {
				open[pick] = o
			}
		case op == 3:
			seq := seqs[pick]
			if seq > 0 {
				seq = 1 + rng.Int64N(seq)
			}
			f, err := s.Fork(t.Context(), pick, seq)
			if err != nil {
				t.Fatal(err)
			}
			for _, ev := range model[pick] {
				if ev.Seq <= seq {
					model[f.ID] = append(model[f.ID], ev)
				}
			}
			seqs[f.ID] = seq
		case op == 4 && step%10 == 0:
			_, err := s.Delete(t.Context(), core.ClearRequest{Session: pick, Types: []string{"messages"}})
			if (err == nil) != (open[pick] == nil) {
				t.Fatalf("step %d: clear %s: %v", step, pick, err)
			}
			if err == nil {
				seqs[pick]++
				model[pick] = slices.DeleteFunc(model[pick], func(ev core.SessionEvent) bool { return ev.Kind != core.EventCleared })
				model[pick] = append(model[pick], core.SessionEvent{Seq: seqs[pick], Kind: core.EventCleared})
			}
		case open[pick] != nil:
			var events []core.SessionEvent
			for range 1 + rng.IntN(3) {
				seqs[pick]++
				events = append(events, core.SessionEvent{Seq: seqs[pick], Kind: "x:y", Data: []byte(fmt.Sprint(step))})
			}
			if err := open[pick].Append(t.Context(), events...); err != nil {
				t.Fatal(err)
			}
			model[pick] = append(model[pick], events...)
		}
		if pick == "" {
			continue
		}
		ignore := cmp.Options{cmpopts.IgnoreFields(core.SessionEvent{}, "Time"), cmpopts.EquateEmpty(),
			cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".Data" }, cmp.Comparer(func(a, b json.RawMessage) bool {
				return string(a) == string(b) || a == nil || b == nil
			}))}
		if diff := cmp.Diff(model[pick], read(t, s, pick), ignore); diff != "" {
			t.Fatalf("step %d: %s", step, diff)
		}
	}
}
