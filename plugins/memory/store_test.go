package memory

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/llm"
)

func newStore(t testing.TB) *store {
	t.Helper()
	return openStore(t, filepath.Join(t.TempDir(), "state", "agentd.db"))
}

func openStore(t testing.TB, file string) *store {
	t.Helper()
	s, err := open(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func message(t testing.TB, m llm.Message) core.SessionEvent {
	t.Helper()
	data, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return core.SessionEvent{Kind: core.EventMessage, Data: data}
}

// fill makes a session with a message for each text, and closes it.
func fill(t testing.TB, s core.SessionStore, id string, texts ...string) {
	t.Helper()
	o, err := s.Create(t.Context(), core.SessionInfo{ID: id, Agent: "agent"})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range texts {
		if err := o.Append(t.Context(), message(t, llm.UserText(text))); err != nil {
			t.Fatal(err)
		}
	}
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
}

func read(t testing.TB, s core.SessionStore, id string) []core.SessionEvent {
	t.Helper()
	events, err := s.Read(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return events
}

func TestSessionsOutliveTheStore(t *testing.T) {
	file := filepath.Join(t.TempDir(), "agentd.db")
	s, err := open(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	fill(t, s, "a", "one\nmore", "two")
	before := read(t, s, "a")
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
	s = openStore(t, file)
	if diff := cmp.Diff(before, read(t, s, "a")); diff != "" {
		t.Error(diff)
	}
	infos, err := s.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []core.SessionInfo{{ID: "a", Agent: "agent", Title: "one", Events: 2}}
	if diff := cmp.Diff(want, infos, cmpopts.IgnoreFields(core.SessionInfo{}, "Created", "Updated")); diff != "" {
		t.Error(diff)
	}
	o, err := s.Open(t.Context(), "last")
	if err != nil || o.ID() != "a" {
		t.Fatalf("%v %v", o, err)
	}
	if err := o.Append(t.Context(), core.SessionEvent{Kind: "x:y"}, core.SessionEvent{Kind: "x:z", Data: []byte("1")}); err != nil {
		t.Fatal(err)
	}
	events, err := o.Events(t.Context())
	if err != nil || len(events) != 4 || events[3].Seq != 4 || events[2].Kind != "x:y" || events[3].Time.IsZero() {
		t.Errorf("%+v %v", events, err)
	}
}

func TestIDsAreChecked(t *testing.T) {
	s := newStore(t)
	fill(t, s, "a")
	for _, id := range []string{"a", "last", "a b", "../x", "-x", strings.Repeat("x", 200)} {
		if _, err := s.Create(t.Context(), core.SessionInfo{ID: id}); err == nil {
			t.Errorf("%q was taken", id)
		}
	}
	if _, err := s.Open(t.Context(), "b"); !errors.Is(err, core.ErrSessionUnknown) {
		t.Errorf("got %v", err)
	}
	if _, err := s.Read(t.Context(), "' OR 1=1 --"); !errors.Is(err, core.ErrSessionUnknown) {
		t.Errorf("got %v", err)
	}
}

func TestForkAtAnEvent(t *testing.T) {
	s := newStore(t)
	fill(t, s, "a", "one", "two", "three")
	for _, tt := range []struct {
		seq  int64
		want int
	}{{0, 3}, {2, 2}, {3, 3}} {
		f, err := s.Fork(t.Context(), "a", tt.seq)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(read(t, s, "a")[:tt.want], read(t, s, f.ID)); diff != "" || f.Parent != "a" || f.Title != "one" || f.Events != int64(tt.want) {
			t.Errorf("%+v: %s", f, diff)
		}
	}
	for _, seq := range []int64{-1, 4} {
		if _, err := s.Fork(t.Context(), "a", seq); err == nil || !strings.Contains(err.Error(), "events 1 to 3") {
			t.Errorf("got %v", err)
		}
	}
}
