package toolpolicy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentd-host/agentd/core"
)

// ask puts a question in a goroutine; what comes back arrives on the channel.
type asked struct {
	ans core.Answer
	err error
}

func (h *house) ask(ctx context.Context, session, turn, tool, command string) chan asked {
	args, _ := json.Marshal(map[string]string{"command": command})
	out := make(chan asked, 1)
	go func() {
		ans, err := h.broker.Request(ctx, core.Approval{Tool: tool, Args: args, Effect: core.Exec, Session: session, Turn: turn})
		out <- asked{ans, err}
	}()
	synctest.Wait()
	return out
}

// inBubble runs a test with a house in a bubble with a clock of its own.
func inBubble(t *testing.T, f func(t *testing.T, h *house)) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, t.TempDir(), Config{})
		f(t, h)
		h.close()
	})
}

func TestRule09_OneQueueASessionFirstInFirstOut(t *testing.T) {
	inBubble(t, func(t *testing.T, h *house) {
		p := says()
		h.must(h.broker.AddAsker(h.c, p))
		var waiting []chan asked
		for i := range 3 {
			waiting = append(waiting, h.ask(h.c, "s1", "t", "x", fmt.Sprint("cmd", i)))
		}
		other := h.ask(h.c, "s2", "t", "x", "other")
		if p.count() != 2 {
			t.Fatalf("asked %d questions at once, want one a session", p.count())
		}
		pending := h.broker.Pending("s1")
		if len(pending) != 3 || len(h.broker.Pending("")) != 4 || len(h.broker.Pending("s3")) != 0 {
			t.Fatalf("pending: got %d of s1", len(pending))
		}
		for i, a := range pending {
			if want := fmt.Sprintf(`{"command":"cmd%d"}`, i); string(a.Args) != want {
				t.Errorf("place %d: got %s", i, a.Args)
			}
			h.must(h.broker.Answer(a.ID, a.Digest, core.Answer{Kind: core.AnswerOnce}))
			if got := <-waiting[i]; got.err != nil || got.ans.Kind != core.AnswerOnce {
				t.Errorf("got %+v", got)
			}
			synctest.Wait()
			if want := min(i+3, 4); p.count() != want {
				t.Errorf("after answer %d: %d were asked, want %d", i, p.count(), want)
			}
		}
		a := h.broker.Pending("s2")[0]
		h.must(h.broker.Answer(a.ID, a.Digest, core.Answer{Kind: core.AnswerReject}))
		<-other
	})
}

func TestRule09_E6_LosingExpiredForeignAndReplayedAnswersAreErrors(t *testing.T) {
	inBubble(t, func(t *testing.T, h *house) {
		h.must(h.broker.AddAsker(h.c, says()))
		q := h.ask(h.c, "s1", "t", "x", "ls")
		a := h.broker.Pending("")[0]
		always := core.Answer{Kind: core.AnswerAlways}
		for name, tt := range map[string]struct {
			id, digest string
			want       error
		}{
			"unknown id":     {"nonsense", a.Digest, core.ErrApprovalUnknown},
			"another digest": {a.ID, core.ArgsDigest("x", json.RawMessage(`{"command":"rm"}`)), core.ErrDigestMismatch},
		} {
			if err := h.broker.Answer(tt.id, tt.digest, always); !errors.Is(err, tt.want) {
				t.Errorf("%s: got %v, want %v", name, err, tt.want)
			}
		}
		if err := h.broker.Answer(a.ID, a.Digest, core.Answer{Kind: "maybe"}); err == nil || !strings.Contains(err.Error(), "takes") {
			t.Errorf("an answer that is none: got %v", err)
		}
		time.Sleep(2*time.Minute + time.Second)
		if got := <-q; !errors.Is(got.err, core.ErrApprovalExpired) {
			t.Errorf("got %+v, want expired", got)
		}
		if err := h.broker.Answer(a.ID, a.Digest, always); !errors.Is(err, core.ErrApprovalSettled) {
			t.Errorf("after the expiry: got %v", err)
		}
		q = h.ask(h.c, "s1", "t", "x", "ls")
		a = h.broker.Pending("")[0]
		h.must(h.broker.Answer(a.ID, a.Digest, core.Answer{Kind: core.AnswerOnce}))
		<-q
		if err := h.broker.Answer(a.ID, a.Digest, always); !errors.Is(err, core.ErrApprovalSettled) {
			t.Errorf("replayed: got %v", err)
		}
		if grants, err := h.admin.Grants(); err != nil || len(grants) != 0 {
			t.Errorf("grants left behind: %v, %v", grants, err)
		}
	})
}

func TestRule09_OneWinnerOfMany(t *testing.T) {
	inBubble(t, func(t *testing.T, h *house) {
		h.must(h.broker.AddAsker(h.c, says()))
		q := h.ask(h.c, "s1", "t", "x", "ls")
		a := h.broker.Pending("")[0]
		kinds := []core.AnswerKind{core.AnswerOnce, core.AnswerReject, core.AnswerTurn, core.AnswerSession, core.AnswerNever, core.AnswerAlways}
		var mu sync.Mutex
		var winners []core.AnswerKind
		var wg sync.WaitGroup
		for _, kind := range kinds {
			wg.Go(func() {
				if h.broker.Answer(a.ID, a.Digest, core.Answer{Kind: kind}) == nil {
					mu.Lock()
					defer mu.Unlock()
					winners = append(winners, kind)
				}
			})
		}
		wg.Wait()
		if got := <-q; len(winners) != 1 || got.ans.Kind != winners[0] {
			t.Errorf("winners %v, answer %+v", winners, got)
		}
	})
}

func TestRule09_TheFirstAskerWinsAndTheOthersStop(t *testing.T) {
	inBubble(t, func(t *testing.T, h *house) {
		slow := says()
		h.must(h.broker.AddAsker(h.c, slow))
		h.must(h.broker.AddAsker(h.c, says(core.AnswerOnce)))
		q := h.ask(h.c, "s1", "t", "x", "ls")
		if got := <-q; got.ans.Kind != core.AnswerOnce || got.ans.By != "tester" {
			t.Errorf("got %+v", got)
		}
		synctest.Wait()
		if slow.count() != 1 {
			t.Error("the other was not asked")
		}
	})
}

func TestRule10_TurnAndSessionSettleEqualQuestionsThatWait(t *testing.T) {
	for _, kind := range []core.AnswerKind{core.AnswerOnce, core.AnswerTurn, core.AnswerSession, core.AnswerNever} {
		t.Run(string(kind), func(t *testing.T) {
			inBubble(t, func(t *testing.T, h *house) {
				h.must(h.broker.AddAsker(h.c, says()))
				first, equal := h.ask(h.c, "s1", "t", "x", "a"), h.ask(h.c, "s1", "t", "x", "b")
				other := h.ask(h.c, "s1", "t", "y", "a")
				foreign := h.ask(h.c, "s2", "t", "x", "a")
				a := h.broker.Pending("s1")[0]
				h.must(h.broker.Answer(a.ID, a.Digest, core.Answer{Kind: kind, By: "me"}))
				<-first
				synctest.Wait()
				want := map[core.AnswerKind]int{core.AnswerOnce: 2, core.AnswerTurn: 1, core.AnswerSession: 1, core.AnswerNever: 1}[kind]
				if got := len(h.broker.Pending("s1")); got != want {
					t.Errorf("%d questions wait in the session, want %d", got, want)
				}
				wantForeign := 1
				if kind == core.AnswerNever {
					wantForeign = 0 // what is saved holds everywhere
				}
				if got := len(h.broker.Pending("s2")); got != wantForeign {
					t.Errorf("%d questions wait in the other session, want %d", got, wantForeign)
				}
				if kind != core.AnswerOnce {
					if got := <-equal; got.ans.Kind.Allows() != kind.Allows() || got.ans.By != "me" {
						t.Errorf("the equal one got %+v", got)
					}
				}
				for _, a := range h.broker.Pending("") {
					h.must(h.broker.Answer(a.ID, a.Digest, core.Answer{Kind: core.AnswerReject}))
				}
				<-other
				<-foreign
			})
		})
	}
}

func TestH11_StopRejectsWhatTheTurnHasNotBegun(t *testing.T) {
	inBubble(t, func(t *testing.T, h *house) {
		h.must(h.broker.AddAsker(h.c, says()))
		first, second := h.ask(h.c, "s1", "turn1", "x", "a"), h.ask(h.c, "s1", "turn1", "y", "b")
		a := h.broker.Pending("s1")[0]
		h.must(h.broker.Answer(a.ID, a.Digest, core.Answer{Kind: core.AnswerStop, Text: "enough"}))
		for _, q := range []chan asked{first, second} {
			if got := <-q; got.ans.Kind != core.AnswerStop || got.ans.Text != "enough" {
				t.Errorf("got %+v", got)
			}
		}
		r := h.call("r", "") // auto, of the same turn, not begun
		h.wants(r, core.CodeDenied)
		if !r.Err.Stop {
			t.Error("the result does not ask the turn to stop")
		}
		if got := <-h.ask(h.c, "s1", "turn1", "x", "late"); got.ans.Kind != core.AnswerStop {
			t.Errorf("a later question of the turn: got %+v", got)
		}
		h.wants(h.callIn(h.c, viewer, "turn2", "r", ""), "")
	})
}

func TestRule13_ACancelledTurnWithdrawsItsQuestions(t *testing.T) {
	inBubble(t, func(t *testing.T, h *house) {
		h.must(h.broker.AddAsker(h.c, says()))
		ctx, cancel := context.WithCancel(h.c)
		shown, queued := h.ask(ctx, "s1", "t", "x", "a"), h.ask(ctx, "s1", "t", "x", "b")
		next := h.ask(h.c, "s1", "t", "x", "c")
		cancel()
		for _, q := range []chan asked{shown, queued} {
			if got := <-q; !errors.Is(got.err, context.Canceled) {
				t.Errorf("got %+v", got)
			}
		}
		synctest.Wait()
		pending := h.broker.Pending("")
		if len(pending) != 1 || string(pending[0].Args) != `{"command":"c"}` {
			t.Fatalf("got %v", pending)
		}
		h.must(h.broker.Answer(pending[0].ID, pending[0].Digest, core.Answer{Kind: core.AnswerOnce}))
		<-next
	})
}

func TestRule11_NobodyToAsk(t *testing.T) {
	inBubble(t, func(t *testing.T, h *house) {
		if got := <-h.ask(h.c, "s1", "t", "x", "a"); !errors.Is(got.err, core.ErrNobodyToAsk) {
			t.Errorf("no asker: got %+v", got)
		}
		p := says(core.AnswerOnce)
		p.takes = func(session string) bool { return session == "s1" }
		h.must(h.broker.AddAsker(h.c, p))
		if got := <-h.ask(h.c, "s2", "t", "x", "a"); !errors.Is(got.err, core.ErrNobodyToAsk) {
			t.Errorf("an asker for another session: got %+v", got)
		}
		h.must(h.broker.AddAsker(h.c, &failing{}))
		if got := <-h.ask(h.c, "s3", "t", "x", "a"); !errors.Is(got.err, core.ErrNobodyToAsk) || !strings.Contains(got.err.Error(), "no line") {
			t.Errorf("askers that fail: got %+v", got)
		}
		if got := <-h.ask(h.c, "s1", "t", "x", "a"); got.err != nil {
			t.Errorf("one of two fails: got %+v", got)
		}
	})
}

type failing struct{}

func (*failing) Name() string      { return "failing" }
func (*failing) Takes(string) bool { return true }
func (*failing) Ask(context.Context, core.Approval) (core.Answer, error) {
	return core.Answer{}, errors.New("no line")
}

func TestAnAskerThatGoesIsNotWaitedFor(t *testing.T) {
	inBubble(t, func(t *testing.T, h *house) {
		scope, err := h.c.Scope("terminal")
		h.must(err)
		h.must(h.broker.AddAsker(scope.Context, says()))
		q := h.ask(h.c, "s1", "t", "x", "a")
		h.must(scope.Dispose(h.c))
		if got := <-q; !errors.Is(got.err, core.ErrNobodyToAsk) {
			t.Errorf("got %+v", got)
		}
		if got := <-h.ask(h.c, "s1", "t", "x", "a"); !errors.Is(got.err, core.ErrNobodyToAsk) {
			t.Errorf("afterwards: got %+v", got)
		}
	})
}

func TestAnAskerThatPanicsIsContained(t *testing.T) {
	inBubble(t, func(t *testing.T, h *house) {
		h.must(h.broker.AddAsker(h.c, &panicking{}))
		got := <-h.ask(h.c, "s1", "t", "x", "a")
		if !errors.Is(got.err, core.ErrNobodyToAsk) || !strings.Contains(got.err.Error(), "panicked") {
			t.Errorf("got %+v", got)
		}
		h.wants(h.call("r", ""), "")
	})
}

type panicking struct{ failing }

func (*panicking) Ask(context.Context, core.Approval) (core.Answer, error) { panic("oh") }

func TestThePatternOfAnAnswerHasToFitTheCall(t *testing.T) {
	inBubble(t, func(t *testing.T, h *house) {
		h.must(h.broker.AddAsker(h.c, says()))
		done := make(chan core.Result, 1)
		go func() { done <- h.call("x", "git status") }()
		synctest.Wait()
		a := h.broker.Pending("s1")[0]
		for _, pattern := range []string{"*", "y", "x(rm *)", "effect:exec", "x("} {
			if err := h.broker.Answer(a.ID, a.Digest, core.Answer{Kind: core.AnswerAlways, Pattern: pattern}); err == nil {
				t.Errorf("%q: got no error", pattern)
			}
		}
		h.must(h.broker.Answer(a.ID, a.Digest, core.Answer{Kind: core.AnswerAlways, Pattern: "x(command=git *)"}))
		h.wants(<-done, "")
		go func() { done <- h.call("x", "git log") }()
		h.wants(<-done, "")
		go func() { done <- h.call("x", "rm x") }()
		synctest.Wait()
		if got := h.broker.Pending("s1"); len(got) != 1 {
			t.Fatalf("got %d questions, want the grant not to cover it", len(got))
		}
		a = h.broker.Pending("s1")[0]
		h.must(h.broker.Answer(a.ID, a.Digest, core.Answer{Kind: core.AnswerReject}))
		h.wants(<-done, core.CodeDenied)
	})
}

func TestT7_CallersWithoutASessionShareNothing(t *testing.T) {
	inBubble(t, func(t *testing.T, h *house) {
		p := says(core.AnswerSession)
		h.must(h.broker.AddAsker(h.c, p))
		got := <-h.ask(h.c, "", "", "x", "a")
		if !errors.Is(got.err, core.ErrNobodyToAsk) {
			t.Errorf("an answer that was not offered: got %+v", got)
		}
		want := []core.AnswerKind{core.AnswerOnce, core.AnswerAlways, core.AnswerReject, core.AnswerNever}
		if !slices.Equal(p.last().Answers, want) {
			t.Errorf("offered %v, want %v", p.last().Answers, want)
		}
	})
}

// talker also takes free questions.
type talker struct{ *person }

func (talker) Question(ctx context.Context, q core.Question) (core.Reply, error) {
	return core.Reply{Text: "answer to " + q.Text}, nil
}

func TestFreeQuestionsUseTheSameQueue(t *testing.T) {
	inBubble(t, func(t *testing.T, h *house) {
		p := says()
		h.must(h.broker.AddAsker(h.c, p))
		if _, err := h.broker.Ask(h.c, core.Question{Session: "s1", Text: "why"}); !errors.Is(err, core.ErrNobodyToAsk) {
			t.Errorf("no questioner: got %v", err)
		}
		h.must(h.broker.AddAsker(h.c, talker{p}))
		first := h.ask(h.c, "s1", "t", "x", "a")
		reply := make(chan core.Reply, 1)
		go func() {
			r, err := h.broker.Ask(h.c, core.Question{Session: "s1", Text: "why"})
			if err != nil {
				t.Error(err)
			}
			reply <- r
		}()
		synctest.Wait()
		if len(reply) != 0 {
			t.Error("the free question did not wait for its turn")
		}
		a := h.broker.Pending("s1")
		h.must(h.broker.Answer(a[0].ID, a[0].Digest, core.Answer{Kind: core.AnswerOnce}))
		<-first
		if r := <-reply; r.Text != "answer to why" {
			t.Errorf("got %+v", r)
		}
	})
}

func TestTheInboxHoldsQuestionsForWhoeverAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, t.TempDir(), Config{Approval: ApprovalConfig{Inbox: true}})
		q := h.ask(h.c, "s1", "t", "x", "a")
		a := h.broker.Pending("")[0]
		h.must(h.broker.Answer(a.ID, a.Digest, core.Answer{Kind: core.AnswerOnce, By: "socket"}))
		if got := <-q; got.err != nil || got.ans.By != "socket" {
			t.Errorf("got %+v", got)
		}
		h.close()
	})
}
