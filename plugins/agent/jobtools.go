package agent

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/agentd-host/agentd/core"
)

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

// tell describes the job.
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
	j.cancelled = true
	s.mu.Unlock()
	j.Cancel()
	return j.cancelling(), nil
}
