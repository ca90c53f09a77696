package core

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"
)

var (
	seedFlag = flag.Uint64("core.seed", 0, "replay this schedule only")
	runsFlag = flag.Int("core.runs", 150, "number of schedules of the property tests")
)

// seeds lists the seeds to run.
func seeds(n int) []uint64 {
	if *seedFlag != 0 {
		return []uint64{*seedFlag}
	}
	all := make([]uint64, n)
	for i := range all {
		all[i] = uint64(i) + 1
	}
	return all
}

func TestPropertiesFreeRunning(t *testing.T) {
	for _, seed := range seeds(*runsFlag / 3) {
		w := newWorld(t, nil, seed, seed%4 == 0)
		w.freely()
		within(t, func() {
			ctx := context.Background()
			var actors sync.WaitGroup
			for range 4 {
				actors.Go(func() {
					for range 15 {
						w.operate(ctx)
					}
				})
			}
			actors.Wait()
			w.settle(ctx)
			w.checkConfluence()
			w.checkGone(ctx)
		})
		w.report(seed)
	}
}

func TestPropertiesReplayable(t *testing.T) {
	for _, seed := range seeds(*runsFlag) {
		trace := runScheduled(t, seed)
		if seed%25 != 1 {
			continue
		}
		if again := runScheduled(t, seed); !slices.Equal(trace, again) {
			t.Fatalf("seed %d: %d steps, then %d: not replayable", seed, len(trace), len(again))
		}
	}
}

// runScheduled runs one world under a scheduler and returns what it did.
func runScheduled(t *testing.T, seed uint64) []string {
	s := &scheduler{rng: rand.New(rand.NewPCG(seed, 2)), finished: make(chan struct{})}
	w := newWorld(t, s, seed, seed%4 == 0)
	w.yield = func() { s.yield("plugin") }
	w.wait = func(done <-chan struct{}) { s.wait(done, nil, nil, 0) }
	ctx := context.Background()
	s.run(func() {
		done := make(chan struct{})
		left := 4
		for range left {
			s.spawn(func() {
				for range 12 {
					w.operate(ctx)
				}
				if left--; left == 0 {
					close(done)
				}
			})
		}
		s.wait(done, nil, nil, 0)
		w.settle(ctx)
		w.checkConfluence()
		w.checkGone(ctx)
	})
	if s.stuck != "" {
		w.fault("states %v", w.states())
		w.fault("nothing can go on: %s", s.stuck)
	}
	w.report(seed)
	return s.trace
}

// A scheduler is a seam that lets one goroutine run at a time and chooses the
// next by a seeded generator: the same seed is the same run.
type scheduler struct {
	rng      *rand.Rand
	mu       sync.Mutex // guards what follows; the generator too
	parked   []*parking
	tasks    int // spawned and not ended
	trace    []string
	stuck    string
	finished chan struct{} // closed when the run is over
}

// parking is a goroutine that waits for its turn.
type parking struct {
	point                string
	done, cancel, circle <-chan struct{}
	waits, limited       bool
	turn                 chan outcome
}

// run runs main and everything that it spawns, to the end.
func (s *scheduler) run(main func()) {
	s.spawn(main)
	s.mu.Lock()
	s.next()
	s.mu.Unlock()
	<-s.finished
}

func (s *scheduler) spawn(f func()) {
	p := &parking{point: "spawn", turn: make(chan outcome, 1)}
	s.mu.Lock()
	s.tasks++
	s.parked = append(s.parked, p)
	s.mu.Unlock()
	go func() {
		<-p.turn
		defer s.exit()
		f()
	}()
}

func (s *scheduler) exit() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tasks--
	s.next()
}

func (s *scheduler) yield(point string) {
	s.park(&parking{point: point, turn: make(chan outcome, 1)})
}

func (s *scheduler) wait(done, cancel, circle <-chan struct{}, limit time.Duration) outcome {
	return s.park(&parking{
		point: "wait", done: done, cancel: cancel, circle: circle, waits: true, limited: limit > 0,
		turn: make(chan outcome, 1),
	})
}

func (s *scheduler) park(p *parking) outcome {
	s.mu.Lock()
	s.parked = append(s.parked, p)
	s.next()
	s.mu.Unlock()
	return <-p.turn
}

// ready reports whether p may go on, and with which outcome.
func (p *parking) ready() (outcome, bool) {
	if !p.waits {
		return waitDone, true
	}
	for _, c := range []struct {
		ch <-chan struct{}
		o  outcome
	}{{p.done, waitDone}, {p.circle, waitCircle}, {p.cancel, waitCancelled}} {
		select {
		case <-c.ch:
			return c.o, true
		default:
		}
	}
	return 0, false
}

// next gives the turn to one that is ready; time passes only when none is.
func (s *scheduler) next() {
	if len(s.trace) > 50_000 {
		s.stuck = fmt.Sprintf("it goes round: %v", s.trace[len(s.trace)-20:])
	}
	if s.tasks == 0 || s.stuck != "" {
		s.finish()
		return
	}
	var ready []int
	var outcomes []outcome
	for i, p := range s.parked {
		if o, ok := p.ready(); ok {
			ready, outcomes = append(ready, i), append(outcomes, o)
		}
	}
	if len(ready) == 0 {
		for i, p := range s.parked {
			if p.limited {
				ready, outcomes = append(ready, i), append(outcomes, waitTimeout)
			}
		}
	}
	if len(ready) == 0 {
		s.stuck = fmt.Sprintf("%d of %d tasks are parked", len(s.parked), s.tasks)
		s.finish()
		return
	}
	k := s.rng.IntN(len(ready))
	i := ready[k]
	p := s.parked[i]
	s.parked = slices.Delete(s.parked, i, i+1)
	s.trace = append(s.trace, fmt.Sprintf("%d/%d %s", k, len(ready), p.point))
	p.turn <- outcomes[k]
}

func (s *scheduler) finish() {
	select {
	case <-s.finished:
	default:
		close(s.finished)
	}
}
