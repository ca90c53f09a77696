package toolpolicy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/agentd-host/agentd/core"
)

// asker is one way to a person. ctx ends when it is taken away.
type asker struct {
	core.Asker
	ctx     context.Context
	end     context.CancelFunc
	busy    sync.WaitGroup
	vouched bool // no call can have brought it along
}

// takers are the askers that can put q to somebody now. mu is held.
func (b *broker) takers(q *question) []*asker {
	var takers []*asker
	for _, a := range b.askers {
		if _, free := a.Asker.(core.Questioner); q.free != nil && !free {
			continue
		}
		if q.about != nil && q.about.vouched && !a.vouched {
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
	if q.ended {
		b.mu.Unlock()
		return timeout
	}
	takers := b.takers(q)
	q.asking = len(takers)
	q.Expires = time.Now().Add(timeout)
	for _, a := range takers {
		a.busy.Add(1)
	}
	shown := b.shownLocked(q)
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

// put has one asker ask, until somebody answered or the asker is gone. Who
// gives an answer that the question took when it was shown, but no longer
// does, is asked again.
func (b *broker) put(ctx, own context.Context, a *asker, q *question, shown core.Approval) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for _, ends := range []context.Context{own, a.ctx} {
		stop := context.AfterFunc(ends, cancel)
		defer stop()
	}
	err := b.putOnce(ctx, a, q, shown)
	for errors.Is(err, errNotTaken) {
		now := b.shown(q)
		if slices.Equal(now.Answers, shown.Answers) {
			break
		}
		shown = now
		err = b.putOnce(ctx, a, q, shown)
	}
	if err != nil && !errors.Is(err, core.ErrApprovalSettled) {
		b.gaveUp(q, a, err)
	}
}

func (b *broker) putOnce(ctx context.Context, a *asker, q *question, shown core.Approval) error {
	o, err := callAsker(ctx, a, q.free, shown)
	switch {
	case err != nil:
		return err
	case q.free != nil:
		b.tryEnd(q, o)
		return nil
	}
	return b.settle(q, shown.Digest, o.answer, a.Name())
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
	a.vouched = b.vouch != nil && b.vouch(ask, b.askers)
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
