package toolpolicy

import (
	"errors"
	"fmt"
	"slices"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/pattern"
)

type outcome struct {
	answer  core.Answer
	granted bool // the answer is that of a grant, nobody was asked
	reply   core.Reply
	err     error
}

// errStopped is how enqueue refuses a question of a stopped turn.
var errStopped = errors.New("the turn was stopped")

// errNotTaken is how settle refuses an answer of a kind that is not offered.
var errNotTaken = errors.New("the question does not take this answer")

// Answer settles a question; see core.Broker.
func (b *broker) Answer(id, digest string, ans core.Answer) error {
	b.mu.Lock()
	q := b.findLocked(id)
	past := slices.Contains(b.past, id)
	b.mu.Unlock()
	switch {
	case q == nil && past:
		return core.ErrApprovalSettled
	case q == nil || q.free != nil:
		return core.ErrApprovalUnknown
	}
	return b.settle(q, digest, ans, "")
}

func (b *broker) findLocked(id string) *question {
	for _, queue := range b.queues {
		for _, q := range queue {
			if q.ID == id {
				return q
			}
		}
	}
	return nil
}

// settle gives a question its answer if it is the first and fits. What else
// the answer settles is settled before the question ends: until then nothing
// that stands behind it is put to anybody.
func (b *broker) settle(q *question, digest string, ans core.Answer, through string) error {
	if digest != q.Digest {
		return core.ErrDigestMismatch
	}
	if takes := b.shown(q).Answers; !slices.Contains(takes, ans.Kind) {
		return fmt.Errorf("%w: it takes %v, got %q", errNotTaken, takes, ans.Kind)
	}
	if ans.By == "" {
		ans.By = through
	}
	if err := checkPattern(q, ans); err != nil {
		return err
	}
	if !b.claim(q) {
		return core.ErrApprovalSettled
	}
	err := b.keep(q, ans)
	switch ans.Kind {
	case core.AnswerStop:
		b.halt(q.Session, q.Turn, ans)
	case core.AnswerTurn, core.AnswerSession:
		b.resettle(b.settled, q.Session)
	case core.AnswerAlways, core.AnswerNever:
		b.resettle(b.settled, b.sessions()...)
	}
	b.finish(q, outcome{answer: ans})
	return err
}

// checkPattern refuses a pattern that is not about the call in question.
func checkPattern(q *question, ans core.Answer) error {
	if ans.Pattern == "" {
		return nil
	}
	p, err := parsePattern(ans.Pattern)
	if err != nil {
		return err
	}
	g := &Grant{Tool: q.Tool, With: answerScopes(q.Approval, ans)[0].with, compiled: p, Allow: true}
	if p.Kind != pattern.Name || !g.about(q.about, true) {
		return fmt.Errorf("pattern %q does not fit this call of %s", ans.Pattern, q.Tool)
	}
	return nil
}

// claim makes the caller the one who ends the question.
func (b *broker) claim(q *question) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if q.ended {
		return false
	}
	q.ended = true
	return true
}

func (b *broker) finish(q *question, o outcome) {
	q.outcome = o
	close(q.done)
}

// tryEnd is claim and finish.
func (b *broker) tryEnd(q *question, o outcome) {
	if b.claim(q) {
		b.finish(q, o)
	}
}

// end is tryEnd; the error is that of the outcome that counts.
func (b *broker) end(q *question, o outcome) error {
	b.tryEnd(q, o)
	<-q.done
	return q.outcome.err
}

// leave takes an ended question out of its queue; the next one moves up.
func (b *broker) leave(q *question) {
	b.mu.Lock()
	defer b.mu.Unlock()
	queue := b.queues[q.Session]
	i := slices.Index(queue, q)
	if i < 0 {
		return
	}
	if queue = slices.Delete(queue, i, i+1); len(queue) == 0 {
		delete(b.queues, q.Session)
	} else {
		b.queues[q.Session] = queue
	}
	if b.past = append(b.past, q.ID); len(b.past) > maxPast {
		b.past = slices.Delete(b.past, 0, 1)
	}
	if i == 0 && len(queue) > 0 {
		close(queue[0].next)
	}
}

// resettle answers waiting questions for which settled has an answer.
func (b *broker) resettle(settled func(*question) (core.Answer, bool), sessions ...string) {
	for _, session := range sessions {
		for _, q := range b.waiting(session) {
			b.settleBy(settled, q)
		}
	}
}

func (b *broker) settleBy(settled func(*question) (core.Answer, bool), q *question) {
	if q.free != nil {
		return
	}
	if ans, ok := settled(q); ok {
		b.tryEnd(q, outcome{answer: ans, granted: true})
	}
}

// halt rejects what a turn has not begun, now and later.
func (b *broker) halt(session, turn string, ans core.Answer) {
	b.mu.Lock()
	b.halted = append(b.halted, turnKey{session, turn})
	b.halted = b.halted[max(0, len(b.halted)-maxPast):]
	var same []*question
	for _, q := range b.queues[session] {
		if q.Turn == turn && q.free == nil {
			same = append(same, q)
		}
	}
	b.mu.Unlock()
	for _, q := range same {
		b.tryEnd(q, outcome{answer: core.Answer{Kind: core.AnswerStop, Text: ans.Text, By: ans.By}})
	}
}

// stopped reports whether a person stopped the turn.
func (b *broker) stopped(session, turn string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.haltedLocked(session, turn)
}

func (b *broker) haltedLocked(session, turn string) bool {
	return turn != "" && slices.Contains(b.halted, turnKey{session, turn})
}
