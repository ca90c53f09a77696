package agent

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentd-host/agentd/core"
)

// The states of a job.
const (
	jobRunning     = "running"
	jobDone        = "done"
	jobFailed      = "failed"
	jobCancelled   = "cancelled"
	jobInterrupted = "interrupted" // the process ended before the job did
)

// jobRecord is the state of a background job in the session's log.
type jobRecord struct {
	Handle string `json:"handle"`
	Tool   string `json:"tool"`
	CallID string `json:"callId"`
	State  string `json:"state"`
}

// keptJobs bounds how many finished jobs are kept for job_output.
const keptJobs = 200

// jobs is the core.Adopter: it keeps calls going that outlive their turn.
type jobs struct {
	hub *hub

	opening sync.Mutex // guards opened
	opened  bool       // the tools for jobs are registered

	mu   sync.Mutex // guards the fields below
	jobs map[string]*job
}

// job is one call in the background.
type job struct {
	core.Job
	handle  string
	session string
	turn    *turn // which it was adopted in; may be over
	started time.Time
	done    chan struct{} // closed when result is there, and in the mailbox

	// the fields below are guarded by jobs.mu
	ended     time.Time
	result    core.Result
	cancelled bool
}

func newJobs(h *hub) *jobs { return &jobs{hub: h, jobs: map[string]*job{}} }

// Adopt takes a call over. It refuses what has no session to answer to, and
// what its agent does not want in the background.
func (s *jobs) Adopt(ctx context.Context, in core.Job) (string, error) {
	t := turnOf(ctx)
	if t == nil {
		return "", errors.New("a call outside of a turn can't go on in the background: nobody would get its result")
	}
	if !t.cfg.background() {
		return "", fmt.Errorf("agent %s runs nothing in the background", t.agent.name)
	}
	j := &job{
		Job: in, handle: "job_" + strings.ToLower(rand.Text()[:6]), session: t.session.ID(), turn: t,
		started: time.Now(), done: make(chan struct{}),
	}
	if err := s.open(); err != nil {
		return "", err
	}
	ev, err := event(eventJob, j.record(jobRunning))
	if err != nil {
		return "", err
	}
	if err := t.session.Append(context.WithoutCancel(ctx), ev); err != nil {
		return "", err
	}
	s.add(j)
	s.hub.c.Tools().Refresh() // the session sees the tools for jobs now
	if err := s.hub.c.Go("job "+j.handle+" "+j.Tool.Name, func(ctx context.Context) error { return s.follow(ctx, j) }); err != nil {
		s.drop(j)
		return "", err
	}
	return j.handle, nil
}

func (s *jobs) add(j *job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.evict()
	s.jobs[j.handle] = j
}

// evict drops the job that ended first, if there are too many. The caller
// holds the lock.
func (s *jobs) evict() {
	if len(s.jobs) < keptJobs {
		return
	}
	var oldest *job
	for _, j := range s.jobs {
		if !j.ended.IsZero() && (oldest == nil || j.ended.Before(oldest.ended)) {
			oldest = j
		}
	}
	if oldest != nil {
		delete(s.jobs, oldest.handle)
	}
}

func (s *jobs) drop(j *job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.jobs, j.handle)
}

// forget drops the ended jobs of some sessions.
func (s *jobs) forget(of func(session string) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.jobs, func(_ string, j *job) bool { return !j.ended.IsZero() && of(j.session) })
}

// find gives a job of this session; others do not exist for it.
func (s *jobs) find(session, handle string) (*job, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if j := s.jobs[handle]; j != nil && j.session == session {
		return j, nil
	}
	var mine []string
	for _, j := range s.jobs {
		if j.session == session {
			mine = append(mine, j.handle)
		}
	}
	if len(mine) == 0 {
		return nil, fmt.Errorf("no job %q: this session has none", handle)
	}
	slices.Sort(mine)
	return nil, fmt.Errorf("no job %q: this session has %s", handle, strings.Join(mine, ", "))
}

// has tells whether a session has jobs.
func (s *jobs) has(session string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, j := range s.jobs {
		if j.session == session {
			return true
		}
	}
	return false
}

// live tells whether a job of this handle runs, or ran, in this process.
func (s *jobs) live(handle string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.jobs[handle] != nil
}

// follow waits for the job's end and delivers the result. When the host goes
// the job is cancelled; what it still answers is delivered.
func (s *jobs) follow(ctx context.Context, j *job) error {
	var res core.Result
	select {
	case res = <-j.Done:
	case <-ctx.Done():
		j.Cancel()
		res = <-j.Done
	}
	n := s.finish(j, res)
	s.hub.mail.put(j.session, n)
	close(j.done) // not before: who waited for it looks into the mailbox next
	if s.hub.deliver(context.WithoutCancel(ctx), j, n) {
		s.hub.redeliver(ctx, j)
	}
	return nil
}

// finish notes the result and makes what the session is told of it.
func (s *jobs) finish(j *job, res core.Result) note {
	s.mu.Lock()
	defer s.mu.Unlock()
	j.ended, j.result = time.Now(), res
	state := jobDone
	switch {
	case j.cancelled:
		state = jobCancelled
	case res.Err != nil:
		state = jobFailed
	}
	n := note{record: j.record(state), text: j.describe(), known: []string{j.headline()}}
	if j.cancelled {
		n.known = append(n.known, j.cancelling())
	}
	return n
}

func (j *job) record(state string) jobRecord {
	return jobRecord{Handle: j.handle, Tool: j.Tool.Name, CallID: j.Call.ID, State: state}
}

// describe says what became of the job. The caller holds jobs.mu.
func (j *job) describe() string {
	text := j.headline()
	if out := j.result.Text(); out != "" {
		text += ":\n" + out
	}
	return text
}

// headline is the first line of describe. Once the job ended it stays the
// same. The caller holds jobs.mu.
func (j *job) headline() string {
	if j.ended.IsZero() {
		return fmt.Sprintf("job %s (%s) has been running for %s", j.handle, j.Tool.Name,
			time.Since(j.started).Round(time.Second))
	}
	how := "finished"
	if j.result.Err != nil {
		how = "failed"
	}
	if j.cancelled {
		how = "was cancelled"
	}
	return fmt.Sprintf("job %s (%s) %s after %s", j.handle, j.Tool.Name, how,
		j.ended.Sub(j.started).Round(time.Millisecond))
}

// cancelling is what a model reads that cancels the job.
func (j *job) cancelling() string {
	return fmt.Sprintf("job %s (%s) is being cancelled", j.handle, j.Tool.Name)
}

var _ core.Adopter = (*jobs)(nil)
