package memory

import (
	"context"
	"database/sql"
	"fmt"
	"testing"

	"github.com/agentd-host/agentd/core"
)

// populate fills a store with sessions of 1,000 events each.
func populate(b *testing.B, s *store, sessions int) {
	b.Helper()
	events := make([]core.SessionEvent, 1000)
	for i := range events {
		events[i] = core.SessionEvent{Kind: core.EventMessage, Data: fmt.Appendf(nil, `{"role":"user","parts":[{"kind":"text","text":"message %d of a session"}]}`, i)}
	}
	for i := range sessions {
		n, err := s.insert(b.Context(), core.SessionInfo{ID: fmt.Sprint("s", i)})
		if err == nil {
			err = s.db.inTx(b.Context(), func(tx *sql.Tx) error {
				return appendEvents(b.Context(), tx, n, append([]core.SessionEvent(nil), events...))
			})
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSessions shows that opening, listing and appending do not depend on
// how much is in the file.
func BenchmarkSessions(b *testing.B) {
	for _, sessions := range []int{10, 1000} {
		s := newStore(b)
		populate(b, s, sessions)
		name := func(op string) string { return fmt.Sprintf("%s/%d", op, sessions) }
		b.Run(name("open"), func(b *testing.B) {
			for b.Loop() {
				o, err := s.Open(b.Context(), "s5")
				if err != nil {
					b.Fatal(err)
				}
				if err := o.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name("events"), func(b *testing.B) {
			for b.Loop() {
				if events, err := s.Read(b.Context(), "s5"); err != nil || len(events) < 1000 {
					b.Fatal(len(events), err)
				}
			}
		})
		b.Run(name("list"), func(b *testing.B) {
			for b.Loop() {
				if _, err := s.List(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
		o, err := s.Open(b.Context(), "s6")
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name("append"), func(b *testing.B) {
			b.ReportAllocs()
			ev := core.SessionEvent{Kind: "x:y", Data: []byte(`{"n":1}`)}
			for b.Loop() {
				if err := o.Append(context.WithoutCancel(b.Context()), ev); err != nil {
					b.Fatal(err)
				}
			}
		})
		if err := o.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
