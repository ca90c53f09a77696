package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agentd-host/agentd/core"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A server keeps one configured server connected: it starts it, notices its
// end, starts it again. One goroutine, run, does all that; everybody else
// asks it.
type server struct {
	name   string
	cfg    ServerConfig
	hub    *hub
	log    *slog.Logger
	redact func(string) string
	limit  *limiter
	login  *login // used by run only, made with the first connection over HTTP
	second bool   // a second connection: its tools are those of the first

	// onState is told of each change, from the goroutine of run.
	onState func(core.SourceState)
	// onTools is given each new list of tools, likewise.
	onTools func(ctx context.Context, t toolList)
	// onChange is told what else of the server's changed: "prompts",
	// "resources", or a resource that was updated.
	onChange func(method string, params json.RawMessage)

	fetches atomic.Int64  // lists asked for
	wake    chan struct{} // an attempt is wanted
	refresh chan struct{} // the tools may have changed

	memoryFile string     // empty: nothing is kept
	saving     sync.Mutex // one save at a time; taken before mu

	mu       sync.Mutex // guards the fields below
	state    core.SourceState
	current  *session
	attempt  *attempt // under way or wanted
	err      error    // of the last attempt, or how the session ended
	failures int      // in a row
	reached  bool     // it was there once
	busy     int      // calls under way
	used     time.Time
	closed   bool
	tools    toolList
	memory   remembered
	lists    int
	level    mcp.LoggingLevel            // that was asked for
	subs     map[string]map[any]struct{} // who listens to which resource
	loginURL string                      // that a person must open
	held     *hold                       // keeps it from starting
	warnings []string
	leaving  map[*session]struct{} // of no more use, with calls under way

	retired sync.WaitGroup // on leaving sessions, of run
}

// An attempt is a start that several callers may wait for.
type attempt struct {
	done chan struct{}
	err  error
}

// toolList is one generation of a server's tools.
type toolList struct {
	defs     []*definition
	problems []string
	cached   bool // from an earlier run
}

var errServerClosed = errors.New("the server was removed from the configuration")

func newServer(h *hub, name string, cfg ServerConfig, log *slog.Logger) *server {
	cfg = cfg.withDefaults()
	return &server{
		name: name, cfg: cfg, hub: h, log: log, redact: cfg.redactor(h.secrets),
		limit: newLimiter(cfg.Rate, cfg.Concurrency), memoryFile: memoryFile(h.state, name),
		onState: func(core.SourceState) {}, onTools: func(context.Context, toolList) {},
		onChange: func(string, json.RawMessage) {},
		wake:     make(chan struct{}, 1), refresh: make(chan struct{}, 1),
		state: core.SourceConnecting, used: time.Now(), subs: map[string]map[any]struct{}{},
		leaving: map[*session]struct{}{},
	}
}

// session returns the live connection, starting the server if need be. An
// attempt that is under way is shared, and goes on when ctx ends. One that
// began before we asked may fail of what is over by now: then one more is made.
func (s *server) session(ctx context.Context) (*session, error) {
	for last := false; ; {
		s.mu.Lock()
		if s.closed {
			s.mu.Unlock()
			return nil, errServerClosed
		}
		if x := s.current; x != nil && x.alive() {
			s.mu.Unlock()
			return x, nil
		}
		mine := s.attempt == nil
		a := s.wantLocked()
		s.mu.Unlock()
		last = last || mine
		select {
		case <-a.done:
			if a.err != nil && (last || s.barren()) {
				return nil, a.err
			}
			last = last || a.err != nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// wantLocked asks run for an attempt. s.mu is held.
func (s *server) wantLocked() *attempt {
	if s.attempt == nil {
		s.attempt = &attempt{done: make(chan struct{})}
		signal(s.wake)
	}
	return s.attempt
}

// signal sets a flag that somebody will look at.
func signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// run keeps the server until ctx ends.
func (s *server) run(ctx context.Context) error {
	var learning sync.WaitGroup
	defer learning.Wait()
	defer s.shut(ctx)
	known := recall(s.memoryFile, s.cfg)
	s.mu.Lock()
	s.memory = known
	s.mu.Unlock()
	if len(known.Tools) > 0 {
		defs, problems := readDefinitions(known.Tools)
		s.setTools(ctx, toolList{defs, problems, true})
	}
	if !s.cfg.Lazy || (len(known.Tools) == 0 && !s.second) {
		s.mu.Lock()
		s.wantLocked()
		s.mu.Unlock()
	} else {
		s.setState(core.SourceReady) // it starts with the first call
	}
	retry := newAlarm()
	idle, again := newAlarm(), newAlarm()
	var refresh refresher
	for {
		var ended chan struct{}
		if x := s.live(); x != nil {
			ended = x.ended
		}
		select {
		case <-ctx.Done():
			return nil
		case <-s.wake:
			retry.off()
			if s.try(ctx) {
				learning.Go(func() { s.learnLists(ctx) })
			} else if !s.barren() {
				retry.in(s.delay())
			}
			idle.in(s.cfg.IdleStop)
		case <-retry.c():
			if s.stillHeld() {
				retry.in(heldEvery)
				continue
			}
			s.mu.Lock()
			s.wantLocked()
			s.mu.Unlock()
		case <-ended:
			if s.lost() {
				retry.in(s.delay())
			}
		case <-s.refresh:
			again.in(max(refresh.due(time.Now()), time.Microsecond))
		case <-again.c():
			before := s.generation()
			_ = s.fetchTools(ctx, s.live()) // the last list stays
			refresh.fetched(time.Now(), s.generation() != before)
		case <-idle.c():
			idle.in(s.rest())
		}
	}
}

func (s *server) live() *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current
}

// try makes the attempt that is wanted.
func (s *server) try(ctx context.Context) bool {
	s.mu.Lock()
	a, old := s.attempt, s.current
	if a == nil {
		a = &attempt{done: make(chan struct{})}
		s.attempt = a
	}
	s.mu.Unlock()
	if old != nil && old.alive() {
		s.settle(a, nil)
		return true
	}
	if old != nil {
		s.lost()
	}
	if err := s.consent(ctx); err != nil {
		s.failed(ctx, a, err)
		return false
	}
	if s.stateNow() != core.SourceReady {
		s.setState(core.SourceConnecting)
	}
	x, err := s.connect(ctx)
	if err == nil {
		if err = s.fetchTools(ctx, x); err != nil {
			x.close()
		}
	}
	if err != nil {
		s.failed(ctx, a, err)
		return false
	}
	listened := s.renew(ctx, x)
	s.mu.Lock()
	s.current, s.err, s.used, s.reached = x, nil, time.Now(), true
	s.mu.Unlock()
	s.setState(core.SourceReady)
	s.settle(a, nil)
	s.missed(listened)
	return true
}

// settle ends an attempt.
func (s *server) settle(a *attempt, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a.err = err
	if s.attempt == a {
		s.attempt = nil
	}
	close(a.done)
}

func (s *server) failed(ctx context.Context, a *attempt, err error) {
	err = s.named(err)
	state := core.SourceUnavailable
	s.mu.Lock()
	s.err = err
	if s.held != nil {
		state = core.SourceHeld // which is no failure
	} else {
		s.failures++
	}
	n := s.failures
	s.mu.Unlock()
	s.setState(state)
	if state != core.SourceHeld && !s.second && ctx.Err() == nil && n <= 3 {
		s.log.Warn("MCP server does not start", "server", s.name, "err", err, "attempt", n)
	}
	s.settle(a, err)
}

// named is why there is no connection: of that nothing is the answer to a call.
func (s *server) named(err error) error { return &serverError{s.name, s.clean(&noAnswer{err})} }

// healthy is how long a connection must have held for its end to count as the
// first failure and not as one more.
const healthy = 30 * time.Second

// lost takes note of the end of the connection. It reports whether to start
// again by itself.
func (s *server) lost() bool {
	s.mu.Lock()
	x := s.current
	s.current = nil
	if x == nil {
		s.mu.Unlock()
		return false
	}
	if time.Since(x.began) >= healthy {
		s.failures = 0
	}
	s.failures++
	cause := x.err
	if cause == nil {
		cause = errors.New("the server closed the connection")
	}
	s.err = s.named(cause)
	err, again := s.err, !s.cfg.Lazy || s.busy > 0 || len(s.subs) > 0
	s.mu.Unlock()
	s.retire(x)
	s.setState(core.SourceUnavailable)
	s.log.Warn("MCP server ended", "server", s.name, "err", err)
	return again
}

const (
	firstDelay = time.Second
	maxDelay   = 5 * time.Minute
)

// delay is how long to wait before the next start: twice as long with each
// failure in a row, with a fifth of chance so that servers which fell
// together do not rise together. One that is held only looks again.
func (s *server) delay() time.Duration {
	s.mu.Lock()
	n, held := s.failures, s.held != nil
	s.mu.Unlock()
	if held {
		return heldEvery
	}
	d := firstDelay
	for i := 1; i < n && d < maxDelay; i++ {
		d *= 2
	}
	d = min(d, maxDelay)
	return d + time.Duration(rand.Int64N(int64(d)/5+1))
}

// retire closes a connection. If it is still there, calls may be under way on
// it, for which nobody else waits.
func (s *server) retire(x *session) {
	select {
	case <-x.gone:
		x.close()
		return
	default:
	}
	s.mu.Lock()
	s.leaving[x] = struct{}{}
	s.mu.Unlock()
	s.retired.Go(func() {
		x.close()
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.leaving, x)
	})
}

// rest stops a server that nobody uses. Its tools stay; the next call starts
// it. One that is used is left for as long as it says.
func (s *server) rest() (left time.Duration) {
	s.mu.Lock()
	x := s.current
	if left = s.idleLeft(); left > 0 || x == nil {
		s.mu.Unlock()
		return left
	}
	s.current = nil
	s.mu.Unlock()
	x.close()
	s.log.Debug("MCP server stopped, it was not used", "server", s.name)
	return 0
}

// idleLeft is how long the server may stay unused before it is stopped. s.mu
// is held.
func (s *server) idleLeft() time.Duration {
	if s.busy > 0 || len(s.subs) > 0 {
		return s.cfg.IdleStop
	}
	return s.cfg.IdleStop - time.Since(s.used)
}

// shut ends everything, at the end of run.
func (s *server) shut(ctx context.Context) {
	s.mu.Lock()
	x, a := s.current, s.attempt
	s.current, s.attempt, s.closed = nil, nil, true
	for old := range s.leaving {
		old.abandon(errServerClosed)
	}
	s.mu.Unlock()
	if a != nil {
		a.err = errServerClosed
		close(a.done)
	}
	if x != nil {
		x.abandon(errServerClosed) // calls of tools had their time before
		x.close()
	}
	s.retired.Wait()
	if s.login != nil {
		s.login.close(ctx)
	}
}

func (s *server) stateNow() core.SourceState {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}

func (s *server) setState(state core.SourceState) {
	s.mu.Lock()
	s.state = state
	s.mu.Unlock()
	s.onState(state)
}

// generation counts the lists of tools that differed.
func (s *server) generation() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lists
}

func (s *server) setTools(ctx context.Context, t toolList) {
	s.mu.Lock()
	s.tools = t
	s.lists++
	s.mu.Unlock()
	s.onTools(ctx, t)
}

// clean takes secrets out of an error's text. What it wraps stays, for those
// who look at the kind and not at the text.
func (s *server) clean(err error) error {
	text := s.redact(err.Error())
	if text == err.Error() {
		return err
	}
	return &redacted{text, err}
}

type redacted struct {
	text string
	err  error
}

func (r *redacted) Error() string { return r.text }
func (r *redacted) Unwrap() error { return r.err }

// An alarm is a timer that can be off. It belongs to one goroutine.
type alarm struct{ t *time.Timer }

func newAlarm() *alarm {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return &alarm{t}
}

func (a *alarm) c() <-chan time.Time { return a.t.C }
func (a *alarm) off()                { a.t.Stop() }

// in sets it, replacing what was set; zero is off.
func (a *alarm) in(d time.Duration) {
	a.t.Stop()
	if d > 0 {
		a.t.Reset(d)
	}
}
