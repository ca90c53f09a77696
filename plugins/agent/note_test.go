package agent

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/coretest"
	"github.com/agentd-host/agentd/core/llm"
)

func TestAResultIsKeptWhileItsSessionIsBusy(t *testing.T) {
	inBubble(t, func(t *testing.T) *rig {
		end := make(chan string, 2)
		r := newRig(t, Config{}, coretest.Calls("slow", `{}`), coretest.Calls("slow", `{}`), coretest.Says("they run"),
			coretest.Says("a"), coretest.Says("b"))
		r.slow(time.Second, end)
		res := r.say("", "go")
		h, _ := hubOf(r)
		other, err := h.local.Open(t.Context(), res.Session) // as the turn of another process does
		if err != nil {
			t.Fatal(err)
		}
		end <- "first result"
		synctest.Wait()
		end <- "second result"
		synctest.Wait()
		if err := other.Close(); err != nil {
			t.Fatal(err)
		}
		for _, say := range []string{"and?", "and again?"} {
			r.say(res.Session, say)
			text := lastText(r)
			first, second := strings.Index(text, "first result"), strings.Index(text, "second result")
			if first < 0 || second < first || strings.Count(text, "[background]") != 2 {
				t.Errorf("%s: got %s", say, text)
			}
		}
		return r
	})
}

func TestAResultIsWrittenOnceItsSessionIsFree(t *testing.T) {
	inBubble(t, func(t *testing.T) *rig {
		end := make(chan string, 1)
		r := newRig(t, Config{}, coretest.Calls("slow", `{}`), coretest.Says("it runs"))
		r.slow(time.Second, end)
		session := r.say("", "go").Session
		h, _ := hubOf(r)
		other, err := h.local.Open(t.Context(), session)
		if err != nil {
			t.Fatal(err)
		}
		end <- "the result"
		time.Sleep(time.Minute)
		if err := other.Close(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		past, err := r.log(session)
		if err != nil {
			t.Fatal(err)
		}
		if got := show(past.messages()); !strings.HasSuffix(got[len(got)-1], "the result") {
			t.Errorf("got %q", got)
		}
		return r
	})
}

func TestAResultThatCouldNotBeWrittenIsToldInTheNextTurn(t *testing.T) {
	inBubble(t, func(t *testing.T) *rig {
		end := make(chan string, 1)
		r := newRig(t, Config{}, coretest.Calls("slow", `{}`), coretest.Calls("break", `{}`), coretest.Says("never said"), coretest.Says("a"))
		disk := &faulty{SessionStore: newStore()}
		load(t, r.host.Root(), core.Plugin[struct{}]{
			Name: "disk", Provides: core.Provides(core.Sessions),
			Apply: func(c *core.Context, _ struct{}) error { return core.Sessions.Provide(c, disk) },
		}, struct{}{})
		r.slow(time.Second, end)
		r.tool("break", core.Traits{}, func(context.Context, map[string]any) (string, error) {
			end <- "the result"
			synctest.Wait()
			disk.full = true
			return "ok", nil
		})
		res, err := r.run(t.Context(), core.Turn{Message: llm.UserText("go")})
		if !errors.Is(err, errFull) {
			t.Fatalf("got %+v, %v", res, err)
		}
		disk.full = false
		r.say(res.Session, "and?")
		if text := lastText(r); strings.Count(text, "the result") != 1 {
			t.Errorf("got %s", text)
		}
		return r
	})
}

func TestAResultIsToldInTheTurnThatWasAboutToBegin(t *testing.T) {
	inBubble(t, func(t *testing.T) *rig {
		end := make(chan string, 1)
		r := newRig(t, Config{}, coretest.Calls("slow", `{}`), coretest.Says("it runs"), coretest.Says("a"))
		disk := &faulty{SessionStore: newStore()}
		load(t, r.host.Root(), core.Plugin[struct{}]{
			Name: "disk", Provides: core.Provides(core.Sessions),
			Apply: func(c *core.Context, _ struct{}) error { return core.Sessions.Provide(c, disk) },
		}, struct{}{})
		r.slow(time.Second, end)
		res := r.say("", "go")
		disk.reading = func() {
			end <- "the result"
			synctest.Wait()
		}
		r.say(res.Session, "and?")
		if text := lastText(r); strings.Count(text, "the result") != 1 {
			t.Errorf("got %s", text)
		}
		return r
	})
}

// faulty is a store whose disk can be full.
type faulty struct {
	core.SessionStore
	full    bool
	reading func() // called once before a session is read
}

var errFull = errors.New("the disk is full")

func (f *faulty) Create(ctx context.Context, info core.SessionInfo) (core.Session, error) {
	s, err := f.SessionStore.Create(ctx, info)
	return &faultySession{s, f}, err
}

func (f *faulty) Open(ctx context.Context, id string) (core.Session, error) {
	s, err := f.SessionStore.Open(ctx, id)
	return &faultySession{s, f}, err
}

type faultySession struct {
	core.Session
	disk *faulty
}

func (s *faultySession) Append(ctx context.Context, events ...core.SessionEvent) error {
	if s.disk.full {
		return errFull
	}
	return s.Session.Append(ctx, events...)
}

func (s *faultySession) Events(ctx context.Context) ([]core.SessionEvent, error) {
	if f := s.disk.reading; f != nil {
		s.disk.reading = nil
		f()
	}
	return s.Session.Events(ctx)
}
