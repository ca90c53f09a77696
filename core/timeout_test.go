package core

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// adopter keeps jobs.
type adopter struct {
	jobs chan Job
	err  error
}

func (a *adopter) Adopt(_ context.Context, j Job) (string, error) {
	if a.err != nil {
		return "", a.err
	}
	a.jobs <- j
	return "job-1", nil
}

func TestTimeouts(t *testing.T) {
	no := false
	tests := []struct {
		name     string
		traits   Traits
		provider *adopter
		took     time.Duration
		code     ErrorCode
		handle   string
	}{
		{"no provider, no trait: none", Traits{}, nil, time.Hour, "", ""},
		{"no provider: a trait aborts", Traits{Timeout: time.Second}, nil, time.Second, CodeTimeout, ""},
		{"a provider adopts at the trait", Traits{Timeout: time.Second}, &adopter{}, time.Second, "", "job-1"},
		{"a provider adopts at the default", Traits{}, &adopter{}, 180 * time.Second, "", "job-1"},
		{"background false aborts at the default", Traits{Background: &no}, &adopter{}, 180 * time.Second, CodeTimeout, ""},
		{"background false aborts at the trait", Traits{Background: &no, Timeout: time.Minute}, &adopter{}, time.Minute, CodeTimeout, ""},
		{"not adopted aborts", Traits{Timeout: time.Second}, &adopter{err: errors.New("full")}, time.Second, CodeTimeout, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t)
				l := keepLedger(t, h.Root())
				if tt.provider != nil {
					tt.provider.jobs = make(chan Job, 1)
					tooler(t, h.Root(), "agent", func(c *Context) error { return Background.Provide(c, tt.provider) })
				}
				slow := says("slow", "")
				slow.Traits = tt.traits
				slow.Traits.Effect = Read
				slow.Run = func(ctx context.Context, _ *Invocation) (Result, error) {
					select {
					case <-time.After(time.Hour):
						return TextResult("finished"), nil
					case <-ctx.Done():
						return Result{}, ctx.Err()
					}
				}
				mustDefine(t, h.Root(), slow)
				start := time.Now()
				turn, over := context.WithCancel(t.Context())
				r := h.Root().Tools().Execute(turn, Call{ID: "1", Name: "slow"})
				if took := time.Since(start); took != tt.took {
					t.Errorf("answered after %v, want %v", took, tt.took)
				}
				wantCode(t, r, tt.code)
				if r.Handle != tt.handle {
					t.Errorf("handle %q, want %q", r.Handle, tt.handle)
				}
				over()
				if tt.handle == "" {
					l.check(t, "1")
					return
				}
				l.mu.Lock()
				early := len(l.done["1"])
				l.mu.Unlock()
				if early != 0 {
					t.Error("the outcome was told before the job ended")
				}
				job := <-tt.provider.jobs
				wantText(t, <-job.Done, "finished")
				if took := time.Since(start); took != time.Hour {
					t.Errorf("finished after %v, want an hour", took)
				}
				if _, o := l.check(t, "1"); o.Result.Text() != "finished" {
					t.Errorf("told %q", o.Result.Text())
				}
			})
		})
	}
}

// An MCP client waits for its own answer: a handle would be nothing to it.
func TestACallOfAnMCPClientIsNotHandedToTheBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		tooler(t, h.Root(), "agent", func(c *Context) error {
			return Background.Provide(c, &adopter{jobs: make(chan Job, 1)})
		})
		long := says("long", "")
		long.Run = func(ctx context.Context, _ *Invocation) (Result, error) {
			select {
			case <-time.After(2 * syncTimeout):
				return TextResult("finished"), nil
			case <-ctx.Done():
				return Result{}, ctx.Err()
			}
		}
		mustDefine(t, h.Root(), long)
		call := Call{Name: "long", Via: ViaMCP}
		wantText(t, h.Root().Tools().Execute(t.Context(), call), "finished")
		long.Traits.Timeout = time.Second
		must(t, h.Root().Tools().Replace(long))
		wantCode(t, h.Root().Tools().Execute(t.Context(), call), CodeTimeout)
	})
}

func TestAnAdoptedJobCanBeCancelledAndEndsWithItsOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		a := &adopter{jobs: make(chan Job, 1)}
		tooler(t, h.Root(), "agent", func(c *Context) error { return Background.Provide(c, a) })
		f := tooler(t, h.Root(), "owner", func(c *Context) error {
			slow := says("slow", "")
			slow.Traits.Timeout = time.Second
			slow.Run = func(ctx context.Context, _ *Invocation) (Result, error) { <-ctx.Done(); return Result{}, ctx.Err() }
			mustDefine(t, c, slow)
			return nil
		})
		run(t, h.Root(), "slow", "")
		job := <-a.jobs
		job.Cancel()
		wantCode(t, <-job.Done, CodeCancelled)
		run(t, h.Root(), "slow", "")
		job = <-a.jobs
		must(t, f.Dispose(t.Context()))
		wantCode(t, <-job.Done, CodeGone)
	})
}

func TestAnAdoptedJobThatDoesNotEndIsToldAllTheSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		l := keepLedger(t, h.Root())
		a := &adopter{jobs: make(chan Job, 1)}
		tooler(t, h.Root(), "agent", func(c *Context) error { return Background.Provide(c, a) })
		release := make(chan struct{})
		deaf := says("deaf", "")
		deaf.Traits.Timeout = time.Second
		deaf.Run = func(context.Context, *Invocation) (Result, error) { <-release; return TextResult("late"), nil }
		mustDefine(t, h.Root(), deaf)
		h.Root().Tools().Execute(t.Context(), Call{ID: "1", Name: "deaf"})
		job := <-a.jobs
		job.Cancel()
		wantCode(t, <-job.Done, CodeCancelled)
		l.check(t, "1")
		close(release)
	})
}

func TestWaitingForAPersonDoesNotCountAsRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		withRules(t, h.Root(), &rules{decide: func(context.Context, DecideRequest) Decision {
			time.Sleep(time.Minute)
			return Decision{Verdict: Allow}
		}})
		tooler(t, h.Root(), "permissions", func(c *Context) error {
			return Permissions.Provide(c, authorizer(func() error { time.Sleep(time.Hour); return nil }))
		})
		short := func(name string, f ToolFunc) Tool {
			tool := says(name, "")
			tool.Traits.Timeout, tool.Run = 10*time.Second, f
			return tool
		}
		mustDefine(t, h.Root(),
			says("inner", "fine"),
			short("asks", func(ctx context.Context, c *Invocation) (Result, error) {
				time.Sleep(6 * time.Second)
				return TextResult("fine"), c.Ask(ctx, Permission{Name: "x"}, "")
			}),
			short("calls", func(ctx context.Context, c *Invocation) (Result, error) {
				time.Sleep(6 * time.Second)
				return h.Root().Tools().Execute(ctx, Call{Name: "inner"}), nil
			}),
			short("hangs", func(ctx context.Context, c *Invocation) (Result, error) {
				err := c.Ask(ctx, Permission{Name: "x"}, "")
				<-ctx.Done()
				return Result{}, errors.Join(err, ctx.Err())
			}))
		wantText(t, run(t, h.Root(), "asks", ""), "fine")
		wantText(t, run(t, h.Root(), "calls", ""), "fine")
		wantCode(t, run(t, h.Root(), "hangs", ""), CodeTimeout)
	})
}
