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
	asked   func(ctx context.Context, a core.Approval)
	spawn   func(name string, f func(context.Context) error) error

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

type outcome struct {
	answer core.Answer
	reply  core.Reply
	err    error
}

// asker is one way to a person. ctx ends when it is taken away.
type asker struct {
	core.Asker
	ctx  context.Context
	end  context.CancelFunc
	busy sync.WaitGroup
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
	if _, err := canonicalJSON(a.Args); err != nil {
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
	a.ID, a.Created = rand.Text(), time.Now()
	a.Answers = offered(a)
	q := &question{Approval: a, about: about}
	err := b.wait(ctx, q)
	if errors.Is(err, errStopped) {
		return core.Answer{Kind: core.AnswerStop}, nil
	}
	return q.outcome.answer, err
}

// errStopped is how enqueue refuses a question of a stopped turn.
var errStopped = errors.New("the turn was stopped")

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

// takers are the askers that can put q to somebody now. mu is held.
func (b *broker) takers(q *question) []*asker {
	var takers []*asker
	for _, a := range b.askers {
		if _, free := a.Asker.(core.Questioner); q.free != nil && !free {
			continue
		}
		if a.Takes(q.Session) {
			takers = append(takers, a)
		}
	}
	return takers
}

// present puts the first question of a queue to everybody who takes it, and
// returns how long to wait for an answer.
func (b *broker) present(ctx context.Context, q *question) time.Duration {
	timeout := b.timeout()
	b.mu.Lock()
	takers := b.takers(q)
	q.asking = len(takers)
	q.Expires = time.Now().Add(timeout)
	for _, a := range takers {
		a.busy.Add(1)
	}
	shown := q.Approval
	b.mu.Unlock()
	if len(takers) == 0 {
		b.end(q, outcome{err: core.ErrNobodyToAsk})
		return timeout
	}
	if q.free == nil && b.asked != nil {
		b.asked(ctx, shown)
	}
	for _, a := range takers {
		err := b.spawn("ask "+a.Name(), func(own context.Context) error {
			defer a.busy.Done()
			b.put(ctx, own, a, q, shown)
			return nil
		})
		if err != nil {
			a.busy.Done()
			b.gaveUp(q, a, err)
		}
	}
	return timeout
}

// put has one asker ask, until somebody answered or the asker is gone.
func (b *broker) put(ctx, own context.Context, a *asker, q *question, shown core.Approval) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for _, ends := range []context.Context{own, a.ctx} {
		stop := context.AfterFunc(ends, cancel)
		defer stop()
	}
	o, err := callAsker(ctx, a, q.free, shown)
	if err == nil && q.free == nil {
		err = b.settle(q, shown.Digest, o.answer, a.Name())
	} else if err == nil {
		b.end(q, o)
	}
	if err != nil && !errors.Is(err, core.ErrApprovalSettled) {
		b.gaveUp(q, a, err)
	}
}

// callAsker calls an asker and contains its panic.
func callAsker(ctx context.Context, a *asker, free *core.Question, shown core.Approval) (o outcome, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("asker %s panicked: %v", a.Name(), v)
		}
	}()
	if free != nil {
		o.reply, err = a.Asker.(core.Questioner).Question(ctx, *free)
		return o, err
	}
	o.answer, err = a.Asker.Ask(ctx, shown)
	return o, err
}

// gaveUp notes that an asker got no answer. When the last one gave up, nobody
// can be asked.
func (b *broker) gaveUp(q *question, a *asker, err error) {
	b.mu.Lock()
	q.asking--
	q.errs = append(q.errs, fmt.Errorf("%s: %w", a.Name(), err))
	last := q.asking == 0
	errs := errors.Join(q.errs...)
	b.mu.Unlock()
	if last {
		b.end(q, outcome{err: fmt.Errorf("%w: %w", core.ErrNobodyToAsk, errs)})
	}
}

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

// settle gives a question its answer if it is the first and fits.
func (b *broker) settle(q *question, digest string, ans core.Answer, through string) error {
	if digest != q.Digest {
		return core.ErrDigestMismatch
	}
	if !slices.Contains(q.Answers, ans.Kind) {
		return fmt.Errorf("this question takes %v, got %q", q.Answers, ans.Kind)
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
	b.finish(q, outcome{answer: ans})
	if ans.Kind == core.AnswerStop {
		b.halt(q.Session, q.Turn, ans)
	}
	switch ans.Kind {
	case core.AnswerTurn, core.AnswerSession:
		b.resettle(b.settled, q.Session)
	case core.AnswerAlways, core.AnswerNever:
		b.resettle(b.settled, b.sessions()...)
	}
	return err
}

// checkPattern refuses a pattern that is not about the call in question.
func checkPattern(q *question, ans core.Answer) error {
	if ans.Pattern == "" {
		return nil
	}
	p, err := ParsePattern(ans.Pattern)
	if err != nil {
		return err
	}
	g := &Grant{Tool: q.Tool, compiled: p, Allow: true}
	if p.kind != kindName && p.kind != kindNameArgs || !g.about(q.about, true) {
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

// end is claim and finish; the error is that of the outcome that counts.
func (b *broker) end(q *question, o outcome) error {
	if b.claim(q) {
		b.finish(q, o)
	}
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
			if q.free != nil {
				continue
			}
			if ans, ok := settled(q); ok {
				b.end(q, outcome{answer: ans})
			}
		}
	}
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
		b.end(q, outcome{answer: core.Answer{Kind: core.AnswerStop, Text: ans.Text, By: ans.By}})
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
		list[i] = q.Approval
	}
	return list
}

// AddAsker registers a way to reach a person; see core.Broker.
func (b *broker) AddAsker(c *core.Context, ask core.Asker) error {
	_, err := c.Effect("asker "+ask.Name(), func(c *core.Context) (func(context.Context) error, error) {
		a := b.addAsker(c, ask)
		return func(ctx context.Context) error { return b.removeAsker(ctx, a) }, nil
	})
	return err
}

func (b *broker) addAsker(ctx context.Context, ask core.Asker) *asker {
	a := &asker{Asker: ask}
	a.ctx, a.end = context.WithCancel(ctx)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.askers = append(b.askers, a)
	return a
}

// removeAsker ends what the asker asks and waits for it.
func (b *broker) removeAsker(ctx context.Context, a *asker) error {
	b.mu.Lock()
	b.askers = slices.DeleteFunc(b.askers, func(x *asker) bool { return x == a })
	b.mu.Unlock()
	a.end()
	idle := make(chan struct{})
	go func() {
		a.busy.Wait()
		close(idle)
	}()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("asker %s does not end", a.Name())
	}
}

var _ core.Broker = (*broker)(nil)
