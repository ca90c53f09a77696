package toolpolicy

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentd-host/agentd/core"
)

func TestRule10_AnswersLastAsLongAsTheirName(t *testing.T) {
	tests := []struct {
		kind core.AnswerKind
		// Whether a second call in the same turn, one in the next turn, one
		// in another session and one after a restart is asked about.
		again, turn, session, restart bool
		refuses                       bool
	}{
		{core.AnswerOnce, true, true, true, true, false},
		{core.AnswerTurn, false, true, true, true, false},
		{core.AnswerSession, false, false, true, true, false},
		{core.AnswerAlways, false, false, false, false, false},
		{core.AnswerReject, true, true, true, true, true},
		{core.AnswerNever, false, false, false, false, true},
	}
	for _, tt := range tests {
		t.Run("H2_T56_"+string(tt.kind), func(t *testing.T) {
			state := t.TempDir()
			h := newHouse(t, state, Config{})
			p := says(tt.kind, core.AnswerOnce)
			h.must(h.broker.AddAsker(h.c, p))
			code := core.ErrorCode("")
			if tt.refuses {
				code = core.CodeDenied
			}
			h.wants(h.call("x", "ls"), code)
			other := viewer
			other.Session = "s2"
			steps := []struct {
				name  string
				v     core.Viewer
				turn  string
				asked bool
			}{
				{"same turn", viewer, "turn1", tt.again}, {"next turn", viewer, "turn2", tt.turn}, {"other session", other, "turn3", tt.session},
			}
			for _, s := range steps {
				before := p.count()
				h.callIn(h.c, s.v, s.turn, "x", "ls")
				if asked := p.count() > before; asked != s.asked {
					t.Errorf("%s: asked %v, want %v", s.name, asked, s.asked)
				}
			}
			h.close()
			h = newHouse(t, state, Config{})
			p = says(core.AnswerOnce)
			h.must(h.broker.AddAsker(h.c, p))
			h.call("x", "ls")
			if asked := p.count() > 0; asked != tt.restart {
				t.Errorf("after a restart: asked %v, want %v", asked, tt.restart)
			}
		})
	}
}

func TestT17_AskOnceOffersNothingThatLasts(t *testing.T) {
	h := newHouse(t, t.TempDir(), Config{})
	p := says(core.AnswerAlways, core.AnswerOnce)
	h.must(h.broker.AddAsker(h.c, p))
	h.wants(h.call("x", "ls"), "")
	h.set("x = ask!")
	h.wants(h.call("x", "ls"), "")
	h.wants(h.call("x", "ls"), "")
	if p.count() != 3 {
		t.Errorf("asked %d times, want each time", p.count())
	}
	if got := p.last().Answers; !slices.Equal(got, []core.AnswerKind{core.AnswerOnce, core.AnswerReject}) {
		t.Errorf("offered %v", got)
	}
}

func TestRule02_T19_AnAskWrittenAfterAGrantWins(t *testing.T) {
	state := t.TempDir()
	h := newHouse(t, state, Config{})
	p := says(core.AnswerAlways, core.AnswerOnce)
	h.must(h.broker.AddAsker(h.c, p))
	h.wants(h.call("x", "ls"), "")
	h.wants(h.call("x", "ls"), "")
	if p.count() != 1 {
		t.Fatalf("asked %d times, want once", p.count())
	}
	h.set("x = ask")
	h.wants(h.call("x", "ls"), "")
	if p.count() != 2 {
		t.Error("the newer ask did not win over the grant")
	}
	e := h.admin.Explain(viewer, &core.Tool{Name: "x", Traits: core.Traits{Effect: core.Exec}}, nil)
	if grants, err := h.admin.Grants(); err != nil || len(grants) != 1 || !grants[0].Shadowed {
		t.Errorf("the grant is not listed as shadowed: %+v, %v", grants, err)
	}
	if len(e.Shadowed) != 1 || !strings.Contains(e.String(), "shadowed grant") {
		t.Errorf("the grant is not shown as shadowed: %+v", e)
	}
	// Off and back again, also over a restart that nobody saw: still newer.
	h.close()
	h = newHouse(t, state, Config{}, "x = ask")
	p = says(core.AnswerOnce)
	h.must(h.broker.AddAsker(h.c, p))
	h.call("x", "ls")
	if p.count() != 1 {
		t.Error("after a restart the older grant settled the newer ask")
	}
}

func TestH4_GrantsAreListedAndRevokedWithImmediateEffect(t *testing.T) {
	h := newHouse(t, t.TempDir(), Config{})
	p := says(core.AnswerAlways, core.AnswerSession, core.AnswerOnce)
	h.must(h.broker.AddAsker(h.c, p))
	h.call("x", "ls")
	h.call("w", "")
	grants, err := h.admin.Grants()
	h.must(err)
	if len(grants) != 2 || grants[0].Tool != "x" || grants[0].By != "tester" || grants[0].When.IsZero() || grants[1].Session != "s1" {
		t.Fatalf("got %+v", grants)
	}
	if grants[0].Shadowed || grants[1].Shadowed {
		t.Error("a grant in force is listed as shadowed")
	}
	// One by another process, one by this.
	h.must(revokeElsewhere(h.admin.GrantsFile(), grants[0].ID))
	h.must(h.admin.Revoke(grants[1].ID))
	h.call("x", "ls")
	h.call("w", "")
	if p.count() != 4 {
		t.Errorf("asked %d times, want 4", p.count())
	}
	if err := h.admin.Revoke("nonsense"); !errors.Is(err, ErrNoGrant) {
		t.Errorf("got %v", err)
	}
}

func TestRule13_TwoEqualCallsAreAskedOneAfterTheOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, t.TempDir(), Config{})
		p := says()
		h.must(h.broker.AddAsker(h.c, p))
		results := make(chan core.Result, 2)
		for range 2 {
			go func() { results <- h.call("x", "same") }()
		}
		synctest.Wait()
		h.wants(h.call("r", ""), "") // an auto sibling does not wait for them
		for i := range 2 {
			synctest.Wait()
			if p.count() != i+1 {
				t.Fatalf("asked %d times before answer %d", p.count(), i+1)
			}
			a := p.last()
			h.must(h.broker.Answer(a.ID, a.Digest, core.Answer{Kind: core.AnswerOnce}))
		}
		h.wants(<-results, "")
		h.wants(<-results, "")
		h.close()
	})
}

func TestRule14_ASubAgentAsksThroughTheSessionThatBegan(t *testing.T) {
	h := newHouse(t, t.TempDir(), Config{})
	p := says(core.AnswerSession)
	p.takes = func(session string) bool { return session == "s1" }
	h.must(h.broker.AddAsker(h.c, p))
	sub := core.Viewer{Agent: "helper", Session: "sub", Parent: "s1"}
	h.wants(h.callIn(h.c, sub, "subturn", "x", "ls"), "")
	if p.last().Session != "s1" || p.last().Agent != "helper" {
		t.Errorf("asked as %+v", p.last())
	}
	h.wants(h.call("x", "ls"), "") // the same person said yes for the session
	if p.count() != 1 {
		t.Errorf("asked %d times", p.count())
	}
	h.wants(h.callIn(h.c, core.Viewer{Session: "sub"}, "t", "x", "ls"), core.CodeNobody)
}

func TestT79_AGrantIsNeverForgotten(t *testing.T) {
	h := newHouse(t, t.TempDir(), Config{})
	p := says(core.AnswerSession)
	h.must(h.broker.AddAsker(h.c, p))
	for range 1000 {
		if r := h.call("x", "ls"); r.Err != nil {
			t.Fatal(r.Err)
		}
	}
	if p.count() != 1 {
		t.Errorf("asked %d times, want once", p.count())
	}
}

// What an answer settles is settled before anything else is put to anybody.
func TestRule10_NothingIsAskedBetweenAnAnswerAndWhatItSettles(t *testing.T) {
	for kind, runs := range map[core.AnswerKind]int{core.AnswerSession: 3, core.AnswerAlways: 3, core.AnswerStop: 0} {
		for range 20 {
			inBubble(t, func(t *testing.T, h *house) {
				p := says(kind, core.AnswerOnce)
				h.must(h.broker.AddAsker(h.c, p))
				b := h.broker.(*broker)
				keep, settled := b.keep, b.settled
				b.keep = func(q *question, ans core.Answer) error {
					time.Sleep(time.Second) // until the others wait
					return keep(q, ans)
				}
				b.settled = func(q *question) (core.Answer, bool) {
					time.Sleep(time.Second) // until whoever may go on has gone on
					return settled(q)
				}
				res := make(chan core.Result, 3)
				for range cap(res) {
					go func() { res <- h.call("x", "same") }()
				}
				for range cap(res) {
					<-res
				}
				if p.count() != 1 || h.times("x") != runs {
					t.Errorf("%s: asked %d times, ran %d", kind, p.count(), h.times("x"))
				}
			})
		}
	}
}

// A question that waits takes no answer that lasts once the policy allows
// none, and no grant settles it.
func TestE13_AnAskThatBecomesAskOnceHoldsForQuestionsThatWait(t *testing.T) {
	for name, patient := range map[string]bool{"by id": false, "by the asker": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, h *house) {
				h.set("x = ask")
				p := says()
				if patient {
					p = says(core.AnswerSession, core.AnswerOnce)
					p.until = make(chan struct{})
				}
				h.must(h.broker.AddAsker(h.c, p))
				res := make(chan core.Result, 2)
				for range 2 {
					go func() { res <- h.call("x", "same") }()
				}
				synctest.Wait()
				h.set("x = ask!")
				for _, a := range h.broker.Pending("s1") {
					if want := []core.AnswerKind{core.AnswerOnce, core.AnswerReject}; !slices.Equal(a.Answers, want) || a.Saved != "" || a.Rule != "agent.yml: x = ask!" {
						t.Errorf("offered: %v by %s, saved in %q", a.Answers, a.Rule, a.Saved)
					}
					if !patient && h.broker.Answer(a.ID, a.Digest, core.Answer{Kind: core.AnswerSession}) == nil {
						t.Error("an answer for the session was taken")
					}
				}
				if patient {
					close(p.until)
				} else {
					a := h.broker.Pending("s1")[0]
					h.must(h.broker.Answer(a.ID, a.Digest, core.Answer{Kind: core.AnswerOnce}))
					h.wants(<-res, "")
					synctest.Wait()
					a = h.broker.Pending("s1")[0]
					h.must(h.broker.Answer(a.ID, a.Digest, core.Answer{Kind: core.AnswerOnce}))
					h.wants(<-res, "")
				}
				if patient {
					h.wants(<-res, "")
					h.wants(<-res, "")
				}
				if want := map[bool]int{false: 2, true: 3}[patient]; p.count() != want {
					t.Errorf("asked %d times, want %d", p.count(), want)
				}
				if grants, err := h.admin.Grants(); err != nil || len(grants) != 0 {
					t.Errorf("left behind: %v, %v", grants, err)
				}
			})
		})
	}
}

// An answer settles its equals by the rules of now, not by those that asked.
func TestE13_ANewerAskHoldsForQuestionsThatWait(t *testing.T) {
	inBubble(t, func(t *testing.T, h *house) {
		h.set("x = ask")
		h.must(h.broker.AddAsker(h.c, says()))
		res := make(chan core.Result, 3)
		other := viewer
		other.Session = "s2"
		go func() { res <- h.callIn(h.c, other, "t", "x", "same") }()
		go func() { res <- h.call("x", "same") }()
		synctest.Wait()
		// Between keeping the answer and settling the others a rule comes.
		b := h.broker.(*broker)
		keep := b.keep
		b.keep = func(q *question, ans core.Answer) error {
			defer h.set("x = ask", "x(*) = ask")
			return keep(q, ans)
		}
		a := h.broker.Pending("s1")[0]
		h.must(h.broker.Answer(a.ID, a.Digest, core.Answer{Kind: core.AnswerAlways}))
		h.wants(<-res, "")
		synctest.Wait()
		left := h.broker.Pending("s2")
		if len(left) != 1 {
			t.Fatal("a grant settled what a newer rule asks about")
		}
		h.must(h.broker.Answer(left[0].ID, left[0].Digest, core.Answer{Kind: core.AnswerReject}))
		<-res
	})
}

// A tool p that needs, beside itself, guarded for what holds ".git", and whose
// target goes with what stands after a "<".
func (h *house) defineParted() {
	h.define(core.Tool{Name: "p", Traits: core.Traits{Effect: core.Write}, Permission: func(a json.RawMessage) ([]core.Permission, error) {
		var in struct{ Command string }
		err := json.Unmarshal(a, &in)
		target, with, _ := strings.Cut(in.Command, "<")
		need := []core.Permission{{Name: "tool:p", Target: target, With: with}}
		if strings.Contains(target, ".git") {
			need = append(need, core.Permission{Name: "test:guarded", Target: target})
		}
		return need, err
	}})
}

func TestRule06_AGrantAboutTheToolDoesNotCoverItsOtherPermissions(t *testing.T) {
	for _, pattern := range []string{"p(**)", "p", "p(docs/*)", "p(docs/a)"} {
		h := newHouse(t, t.TempDir(), Config{}, "w = ask")
		h.defineParted()
		p := &person{answers: []core.Answer{{Kind: core.AnswerSession, Pattern: pattern}, {Kind: core.AnswerReject}}}
		h.must(h.broker.AddAsker(h.c, p))
		h.wants(h.call("p", "docs/a"), "")
		h.wants(h.call("p", "docs/a"), "")
		if p.count() > 1 {
			t.Errorf("%s: asked again", pattern)
		}
		h.wants(h.call("p", "docs/.git"), core.CodeDenied)
		h.set("w = ask", "test:guarded = auto")
		if pattern == "p(docs/a)" {
			continue
		}
		h.wants(h.call("p", "docs/.git"), "")
	}
}

// An answer that is kept covers a target with what it went with, and no other.
func TestRule10_AGrantIsBoundToWhatTheTargetGoesWith(t *testing.T) {
	for _, tt := range []struct {
		kind    core.AnswerKind
		pattern string
	}{{core.AnswerTurn, ""}, {core.AnswerSession, ""}, {core.AnswerAlways, ""}, {core.AnswerAlways, "p(s*)"}} {
		h := newHouse(t, t.TempDir(), Config{})
		h.defineParted()
		p := &person{answers: []core.Answer{{Kind: tt.kind, Pattern: tt.pattern}, {Kind: core.AnswerReject}}}
		h.must(h.broker.AddAsker(h.c, p))
		h.wants(h.call("p", "sh<one"), "")
		h.wants(h.call("p", "sh<one"), "")
		h.wants(h.call("p", "sh<two"), core.CodeDenied)
		h.wants(h.call("p", "sh"), core.CodeDenied)
		grants, err := h.admin.Grants()
		if err != nil || len(grants) != 1 || grants[0].With != "one" {
			t.Errorf("got %+v, %v", grants, err)
		}
		if text := AnswerWords(p.asked[0]); !strings.Contains(text, "p(sh) with one\n") {
			t.Errorf("the question does not say it:\n%s", text)
		}
	}
	h := newHouse(t, t.TempDir(), Config{}, "p = auto")
	h.defineParted()
	p := says(core.AnswerNever)
	h.must(h.broker.AddAsker(h.c, p))
	h.wants(h.call("p", "sh<one"), "") // rules look at the target alone
	h.set("p = ask")
	// A never about a target with something is about that; one about a target
	// with nothing is about the target.
	for command, asked := range map[string]int{"rm<one": 2, "sh": 1} {
		p.asked = nil
		for range 2 {
			h.wants(h.call("p", command), core.CodeDenied)
		}
		h.wants(h.call("p", command+"<two"), core.CodeDenied)
		if p.count() != asked {
			t.Errorf("%s: asked %d times, want %d", command, p.count(), asked)
		}
	}
}
