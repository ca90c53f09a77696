package agent

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/llm"
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
	done    chan struct{} // closed when result is there

	// the fields below are guarded by jobs.mu
	ended     time.Time
	result    core.Result
	cancelled bool
	told      bool // the model has the result already
}

// note is what a job has to say to its session.
type note struct {
	record jobRecord
	text   string // empty: the model knows already
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
	s.hub.deliver(context.WithoutCancel(ctx), j, n)
	return nil
}

// finish notes the result and makes what the session is told of it.
func (s *jobs) finish(j *job, res core.Result) note {
	s.mu.Lock()
	defer s.mu.Unlock()
	j.ended, j.result = time.Now(), res
	close(j.done)
	state := jobDone
	switch {
	case j.cancelled:
		state = jobCancelled
	case res.Err != nil:
		state = jobFailed
	}
	n := note{record: j.record(state)}
	if !j.told {
		n.text = j.describe()
		j.told = true
	}
	return n
}

func (j *job) record(state string) jobRecord {
	return jobRecord{Handle: j.handle, Tool: j.Tool.Name, CallID: j.Call.ID, State: state}
}

// describe says what became of the job. The caller holds jobs.mu.
func (j *job) describe() string {
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
	text := fmt.Sprintf("job %s (%s) %s after %s", j.handle, j.Tool.Name, how,
		j.ended.Sub(j.started).Round(time.Millisecond))
	if out := j.result.Text(); out != "" {
		text += ":\n" + out
	}
	return text
}

// deliver brings a note to its session: to the turn that runs in it, else
// into the log, for the next one.
func (h *hub) deliver(ctx context.Context, j *job, n note) {
	ended := core.AgentEvent{
		Kind: core.AgentJob, CallID: j.Call.ID, Tool: j.Tool.Name, Text: n.record.Handle + " " + n.record.State,
	}
	if t := h.inSession(j.session); t != nil && t.take(n) {
		t.emit(ended)
		return
	}
	defer j.turn.emit(ended)
	err := h.withStore(ctx, func(ctx context.Context, s core.SessionStore) error {
		session, release, err := h.open(ctx, j.turn.agent.name, s, core.Turn{Session: j.session})
		if err != nil {
			return err
		}
		defer release()
		events, err := n.events()
		if err != nil {
			return err
		}
		return session.Append(ctx, events...)
	})
	level := slog.LevelError
	if h.c.Err() != nil {
		level = slog.LevelDebug // the host goes; the next turn finds the job interrupted
	}
	if err != nil {
		h.c.Logger().Log(ctx, level, "delivering a job's result", "job", j.handle, "session", j.session, "error", err)
	}
}

// events are what a note leaves in the log.
func (n note) events() ([]core.SessionEvent, error) {
	rec, err := event(eventJob, n.record)
	if err != nil || n.text == "" {
		return []core.SessionEvent{rec}, err
	}
	msg, err := event(core.EventMessage, llm.Message{
		Role: llm.User, Parts: []llm.Part{llm.NamedText("job", "[background] "+n.text)},
	})
	return []core.SessionEvent{rec, msg}, err
}

// take accepts a note for the running turn; false once the turn is closing.
func (t *turn) take(n note) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return false
	}
	t.notes = append(t.notes, n)
	return true
}

// takeNotes writes down what jobs answered since the last step.
func (t *turn) takeNotes(ctx context.Context) error {
	t.mu.Lock()
	notes := t.notes
	t.notes = nil
	t.mu.Unlock()
	for _, n := range notes {
		events, err := n.events()
		if err != nil {
			return err
		}
		if err := t.session.Append(context.WithoutCancel(ctx), events...); err != nil {
			return err
		}
		for _, ev := range events {
			if err := t.history.add(ev); err != nil {
				return err
			}
		}
	}
	return nil
}

// closeNotes takes the last notes; later ones go to the log by themselves.
func (t *turn) closeNotes(ctx context.Context) error {
	t.mu.Lock()
	t.over = true
	t.mu.Unlock()
	return t.takeNotes(ctx)
}

// settleJobs says of jobs that the log has as running, but that no process
// runs any more, that they were interrupted.
func (t *turn) settleJobs(ctx context.Context) error {
	var lost []jobRecord
	for _, r := range t.history.jobs {
		if r.State == jobRunning && !t.hub.jobs.live(r.Handle) {
			lost = append(lost, r)
		}
	}
	slices.SortFunc(lost, func(a, b jobRecord) int { return cmp.Compare(a.Handle, b.Handle) })
	for _, r := range lost {
		r.State = jobInterrupted
		t.take(note{r, fmt.Sprintf("job %s (%s) was interrupted: the process that ran it ended", r.Handle, r.Tool)})
	}
	return t.takeNotes(ctx)
}

// open registers the tools by which a model follows its jobs, when the first
// job comes: most hosts never have one. They are shown in sessions that have
// jobs.
func (s *jobs) open() error {
	s.opening.Lock()
	defer s.opening.Unlock()
	if s.opened {
		return nil
	}
	if err := s.define(s.hub.c); err != nil {
		return err
	}
	s.opened = true
	return nil
}

func (s *jobs) define(c *core.Context) error {
	type handle struct {
		Handle string `json:"handle" jsonschema_description:"The job's handle, job_..."`
	}
	type wait struct {
		Handle  string `json:"handle" jsonschema_description:"The job's handle, job_..."`
		Seconds int    `json:"seconds,omitempty" jsonschema:"default=60,minimum=1,maximum=3600" jsonschema_description:"How long to wait at most."`
	}
	traits := core.Traits{Effect: core.Read, Parallel: true}
	no := false
	return errors.Join(
		c.Tools().Visibility(func(v core.Viewer, t *core.Tool) bool {
			return !jobTools[t.Name] || s.has(v.Session)
		}),
		core.DefineTool(c, core.Tool{Name: "job_output", Title: "Job output", Traits: traits,
			Description: "Shows the state of a background job, and its result once there is one."},
			func(ctx context.Context, in handle) (string, error) { return s.output(ctx, in.Handle) }),
		core.DefineTool(c, core.Tool{Name: "job_wait", Title: "Wait for a job",
			Traits:      core.Traits{Effect: core.Read, Parallel: true, Timeout: time.Hour + time.Minute, Background: &no},
			Description: "Waits for the end of a background job and shows its result."},
			func(ctx context.Context, in wait) (string, error) { return s.wait(ctx, in.Handle, in.Seconds) }),
		core.DefineTool(c, core.Tool{Name: "job_cancel", Title: "Cancel a job", Traits: traits,
			Description: "Cancels a background job."},
			func(ctx context.Context, in handle) (string, error) { return s.cancel(ctx, in.Handle) }),
	)
}

var jobTools = map[string]bool{"job_output": true, "job_wait": true, "job_cancel": true}

// mine finds a job of the session that the call belongs to.
func (s *jobs) mine(ctx context.Context, handle string) (*job, error) {
	t := turnOf(ctx)
	if t == nil {
		return nil, errors.New("jobs belong to a session; this call has none")
	}
	return s.find(t.session.ID(), handle)
}

func (s *jobs) output(ctx context.Context, handle string) (string, error) {
	j, err := s.mine(ctx, handle)
	if err != nil {
		return "", err
	}
	return s.tell(j), nil
}

// tell describes the job; a result that is shown here needs no message later.
func (s *jobs) tell(j *job) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return j.describe()
}

func (s *jobs) wait(ctx context.Context, handle string, seconds int) (string, error) {
	j, err := s.mine(ctx, handle)
	if err != nil {
		return "", err
	}
	timer := time.NewTimer(time.Duration(cmp.Or(seconds, 60)) * time.Second)
	defer timer.Stop()
	select {
	case <-j.done:
	case <-timer.C:
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	return s.tell(j), nil
}

func (s *jobs) cancel(ctx context.Context, handle string) (string, error) {
	j, err := s.mine(ctx, handle)
	if err != nil {
		return "", err
	}
	s.mu.Lock()
	if !j.ended.IsZero() {
		defer s.mu.Unlock()
		return j.describe(), nil
	}
	j.cancelled, j.told = true, true
	s.mu.Unlock()
	j.Cancel()
	return fmt.Sprintf("job %s (%s) is being cancelled", j.handle, j.Tool.Name), nil
}

var _ core.Adopter = (*jobs)(nil)
