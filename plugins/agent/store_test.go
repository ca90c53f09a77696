package agent

import (
	"errors"
	"testing"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/llm"
)

func TestStoreHasOneWriterASession(t *testing.T) {
	s := newStore()
	a, err := s.Create(t.Context(), core.SessionInfo{ID: "a"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Open(t.Context(), "a"); !errors.Is(err, core.ErrSessionBusy) {
		t.Errorf("got %v", err)
	}
	if _, err := s.Create(t.Context(), core.SessionInfo{ID: "a"}); err == nil {
		t.Error("created twice")
	}
	if _, err := s.Delete(t.Context(), core.ClearRequest{Session: "a"}); !errors.Is(err, core.ErrSessionBusy) {
		t.Errorf("got %v", err)
	}
	if err := errors.Join(a.Close(), a.Close()); err != nil {
		t.Error(err)
	}
	if err := a.Append(t.Context(), core.SessionEvent{}); err == nil {
		t.Error("a closed session was written to")
	}
	if _, err := s.Open(t.Context(), "last"); err != nil {
		t.Error(err)
	}
}

func TestStoreForksAndClears(t *testing.T) {
	s := newStore()
	a, err := s.Create(t.Context(), core.SessionInfo{ID: "a"})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"one", "two", "three"} {
		ev, err := event(core.EventMessage, llm.UserText(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Append(t.Context(), ev, core.SessionEvent{Kind: "x:y", Data: []byte(`1`)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	fork, err := s.Fork(t.Context(), "a", 3)
	if err != nil || fork.Parent != "a" || fork.Events != 3 || fork.Title != "one" {
		t.Errorf("got %+v, %v", fork, err)
	}
	if _, err := s.Fork(t.Context(), "a", 9); err == nil {
		t.Error("forked at an event that is not there")
	}
	report, err := s.Delete(t.Context(), core.ClearRequest{Session: "a", Types: []string{core.MemoryMessages}})
	if err != nil || report[core.MemoryMessages] != 3 || report["x"] != 3 {
		t.Errorf("got %v, %v", report, err)
	}
	left, err := s.Read(t.Context(), "a")
	if err != nil || len(left) != 1 || left[0].Kind != core.EventCleared || left[0].Seq != 7 {
		t.Errorf("got %+v, %v", left, err)
	}
	if events, err := s.Read(t.Context(), fork.ID); err != nil || len(events) != 3 {
		t.Errorf("the fork has %d events, %v", len(events), err)
	}
	if _, err := s.Delete(t.Context(), core.ClearRequest{All: true}); err != nil {
		t.Error(err)
	}
	if infos, err := s.List(t.Context()); err != nil || len(infos) != 0 {
		t.Errorf("got %v, %v", infos, err)
	}
}

func TestStoreForgetsTheOldestSessions(t *testing.T) {
	s := newStore()
	for range keptSessions + 10 {
		h, err := s.Create(t.Context(), core.SessionInfo{})
		if err != nil {
			t.Fatal(err)
		}
		if err := h.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(s.sessions); n != keptSessions {
		t.Errorf("%d sessions are kept", n)
	}
}
