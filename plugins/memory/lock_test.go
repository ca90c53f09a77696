package memory

import (
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentd-host/agentd/core"
)

func TestOneWriterASession(t *testing.T) {
	s := newStore(t)
	other := openStore(t, s.db.file) // as another process would
	fill(t, s, "a", "one")
	o, err := s.Open(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	for _, from := range []*store{s, other} {
		if _, err := from.Open(t.Context(), "a"); !errors.Is(err, core.ErrSessionBusy) || !strings.Contains(err.Error(), ": a") {
			t.Errorf("got %v", err)
		}
		for _, r := range []core.ClearRequest{{Session: "a"}, {All: true}, {All: true, Types: []string{"jobs"}}} {
			if _, err := from.Delete(t.Context(), r); !errors.Is(err, core.ErrSessionBusy) {
				t.Errorf("%+v: got %v", r, err)
			}
		}
		if gone, err := from.Prune(t.Context(), time.Now().Add(time.Hour), false); err != nil || len(gone) != 0 {
			t.Errorf("pruned %v, %v", gone, err)
		}
	}
	if len(read(t, other, "a")) != 1 {
		t.Error("reading needs a lock")
	}
	if err := errors.Join(o.Close(), o.Close()); err != nil {
		t.Fatal(err)
	}
	if err := o.Append(t.Context(), core.SessionEvent{Kind: "x"}); err == nil {
		t.Error("a closed session was written to")
	}
	o, err = other.Open(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	if err := o.Close(); err != nil {
		t.Error(err)
	}
	left, err := os.ReadDir(s.locks.dir)
	if err != nil || len(left) != 1 {
		t.Errorf("lock files left: %v, %v", left, err)
	}
}

// TestLocksExcludeUnderContention: whoever has the lock has it alone, while
// lock files come and go.
func TestLocksExcludeUnderContention(t *testing.T) {
	s := newStore(t)
	var wg sync.WaitGroup
	var mu sync.Mutex
	holders, taken := 0, 0
	for range 8 {
		wg.Go(func() {
			for range 200 {
				l, err := s.locks.session(1, "a")
				if errors.Is(err, core.ErrSessionBusy) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				holders++
				taken++
				if holders != 1 {
					t.Errorf("%d holders", holders)
				}
				mu.Unlock()
				mu.Lock()
				holders--
				mu.Unlock()
				if err := l.release(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if taken == 0 {
		t.Error("never taken")
	}
}
