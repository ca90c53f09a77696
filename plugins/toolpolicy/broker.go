package toolpolicy

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/agentd-host/agentd/core"
)

// broker is the core.Broker: it brings questions to people and answers back.
// The questions of one session stand in a queue; the first is put to every
// asker that takes the session, and the first answer wins. Somebody who knows
// id and digest may answer any that waits.
type broker struct {
	timeout func() time.Duration
	// keep stores an answer that outlives its question, before anything
	// else of the session is asked. settled answers a waiting question from
	// what is stored by then.
	keep    func(q *question, a core.Answer) error
	settled func(q *question) (core.Answer, bool)
	// asNow is a question's approval as the rules of now have it. It is
	// called with mu held.
	asNow func(q *question) core.Approval
	asked func(ctx context.Context, a core.Approval)
	// vouch reports whether no call can have brought along an asker that
	// joins those that are there.
	vouch func(joins core.Asker, there []*asker) bool
	spawn func(name string, f func(context.Context) error) error

	mu     sync.Mutex // guards the fields below
	askers []*asker
	queues map[string][]*question
	order  uint64    // of questions over all sessions
	past   []string  // ids of questions that ended, the last maxPast
	halted []turnKey // turns that were stopped, the last maxPast
}

// maxPast is how many ended questions are told apart from unknown ones, and
// how many stopped turns are remembered.
const maxPast = 512

// turnKey identifies a turn of a session.
type turnKey struct{ session, turn string }

// question is an approval, or a free question, that waits.
type question struct {
	core.Approval
	free  *core.Question
	about *inquiry
	order uint64

	next    chan struct{} // closed when it is the first of its queue
	done    chan struct{} // closed when outcome is set
	outcome outcome
	ended   bool // guarded by the broker's mu
	asking  int  // askers that have not given up; guarded by the broker's mu
	errs    []error
}

func newBroker() *broker {
	return &broker{queues: map[string][]*question{}}
}

// Request asks and waits; see core.Broker.
func (b *broker) Request(ctx context.Context, a core.Approval) (core.Answer, error) {
	digest, err := digestOf(a)
	if err != nil {
		return core.Answer{}, err
	}
	a.Digest = digest
	if a.Rule == "" {
		a.Rule = "asked by a plugin"
	}
	q := &question{Approval: a, about: inquiryOf(a)}
	if ans, ok := b.settled(q); ok {
		return ans, nil
	}
	return b.request(ctx, a, q.about)
}

func digestOf(a core.Approval) (string, error) {
	if _, err := decodeArguments(a.Args); err != nil {
		return "", fmt.Errorf("arguments of %s: %w", a.Tool, err)
	}
	return core.ArgsDigest(a.Tool, a.Args), nil
}

// inquiryOf is what can be said about a call from its question alone.
func inquiryOf(a core.Approval) *inquiry {
	return &inquiry{
		tool: &core.Tool{Name: a.Tool, Source: a.Source, Traits: core.Traits{Effect: a.Effect}},
		args: a.Args, parts: a.Permissions, asks: []opinion{{core.Ask, a.Rule}},
	}
}

func (b *broker) request(ctx context.Context, a core.Approval, about *inquiry) (core.Answer, error) {
	o := b.resolve(ctx, a, about)
	return o.answer, o.err
}

// resolve takes an approval through its life as a question.
func (b *broker) resolve(ctx context.Context, a core.Approval, about *inquiry) outcome {
	a.ID, a.Created = rand.Text(), time.Now()
	a.Answers = offered(a)
	a.Effect = subjectOf(&core.Tool{Source: a.Source, Traits: core.Traits{Effect: a.Effect}}).Effect
	q := &question{Approval: a, about: about}
	switch err := b.wait(ctx, q); {
	case errors.Is(err, errStopped):
		return outcome{answer: core.Answer{Kind: core.AnswerStop}}
	case err != nil:
		return outcome{err: err}
	}
	return q.outcome
}

// offered returns the answers that a question takes: those asked for, or all
// that make sense where there may be no turn or session.
func offered(a core.Approval) []core.AnswerKind {
	all := a.Answers
	if len(all) == 0 {
		all = []core.AnswerKind{core.AnswerOnce, core.AnswerTurn, core.AnswerSession, core.AnswerAlways,
			core.AnswerReject, core.AnswerNever, core.AnswerStop}
	}
	return slices.DeleteFunc(slices.Clone(all), func(k core.AnswerKind) bool {
		return k == core.AnswerSession && a.Session == "" ||
			(k == core.AnswerTurn || k == core.AnswerStop) && a.Turn == ""
	})
}

// Ask puts a free question; see core.Broker.
func (b *broker) Ask(ctx context.Context, f core.Question) (core.Reply, error) {
	q := &question{free: &f}
	q.ID, q.Session, q.Created = rand.Text(), f.Session, time.Now()
	err := b.wait(ctx, q)
	return q.outcome.reply, err
}

// wait takes a question through its life.
func (b *broker) wait(ctx context.Context, q *question) error {
	q.next, q.done = make(chan struct{}), make(chan struct{})
	if err := b.enqueue(q); err != nil {
		return err
	}
	defer b.leave(q)
	select {
	case <-q.next:
	case <-q.done:
		return q.outcome.err
	case <-ctx.Done():
		return b.end(q, outcome{err: context.Cause(ctx)})
	}
	b.settleBy(b.settled, q) // by what came while it stood in the queue
	asking, stop := context.WithCancel(ctx)
	defer stop()
	timer := time.NewTimer(b.present(asking, q))
	defer timer.Stop()
	select {
	case <-q.done:
	case <-ctx.Done():
		b.end(q, outcome{err: context.Cause(ctx)})
	case <-timer.C:
		b.end(q, outcome{err: core.ErrApprovalExpired})
	}
	<-q.done
	return q.outcome.err
}

// enqueue appends the question to its session's queue, unless nobody could be
// asked or the turn was stopped.
func (b *broker) enqueue(q *question) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.haltedLocked(q.Session, q.Turn) {
		return errStopped
	}
	if len(b.takers(q)) == 0 {
		return core.ErrNobodyToAsk
	}
	b.order++
	q.order = b.order
	queue := append(b.queues[q.Session], q)
	b.queues[q.Session] = queue
	if len(queue) == 1 {
		close(q.next)
	}
	return nil
}

// shownLocked is a question as it is put to people now. mu is held.
func (b *broker) shownLocked(q *question) core.Approval {
	if q.free != nil {
		return q.Approval
	}
	return b.asNow(q)
}

func (b *broker) shown(q *question) core.Approval {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.shownLocked(q)
}

// sessions lists those in which somebody waits.
func (b *broker) sessions() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Sorted(maps.Keys(b.queues))
}

func (b *broker) waiting(session string) []*question {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.queues[session])
}

// Pending lists the questions that wait, oldest first; see core.Broker.
func (b *broker) Pending(session string) []core.Approval {
	b.mu.Lock()
	defer b.mu.Unlock()
	var open []*question
	for s, queue := range b.queues {
		if session != "" && s != session {
			continue
		}
		for _, q := range queue {
			if q.free == nil && !q.ended {
				open = append(open, q)
			}
		}
	}
	slices.SortFunc(open, func(x, y *question) int { return int(x.order) - int(y.order) })
	list := make([]core.Approval, len(open))
	for i, q := range open {
		list[i] = b.shownLocked(q)
	}
	return list
}

var _ core.Broker = (*broker)(nil)
