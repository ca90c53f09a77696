package agent

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/coretest"
	"github.com/agentd-host/agentd/core/llm"
)

// slow defines a tool that passes its time-out and ends when told to.
func (r *rig) slow(timeout time.Duration, end <-chan string) {
	r.tool("slow", core.Traits{Timeout: timeout}, func(ctx context.Context, _ map[string]any) (string, error) {
		select {
		case s := <-end:
			return s, nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	})
}

func lastText(r *rig) string {
	reqs := r.model.Requests()
	ms := reqs[len(reqs)-1].Messages
	var all []string
	for _, m := range ms {
		all = append(all, m.Text())
		for _, p := range m.Parts {
			if p.Result != nil {
				all = append(all, llm.PartsText(p.Result.Parts))
			}
		}
	}
	return strings.Join(all, "\n")
}

// inBubble runs f with a fake clock and closes the host inside of it.
func inBubble(t *testing.T, f func(t *testing.T) *rig) {
	synctest.Test(t, func(t *testing.T) {
		r := f(t)
		synctest.Wait()
		if err := r.host.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestBackgroundJobOutlivesItsTurnAndAnswersInTheNext(t *testing.T) {
	inBubble(t, func(t *testing.T) *rig {
		end := make(chan string, 1)
		r := newRig(t, Config{}, coretest.Calls("slow", `{}`), coretest.Says("it runs"), coretest.Says("thanks"))
		r.slow(time.Second, end)
		bus := r.onBus(core.AgentJob)
		res := r.say("", "go")
		if res.Text != "it runs" || !strings.Contains(lastText(r), "job_") {
			t.Fatalf("got %+v: %s", res, lastText(r))
		}
		end <- "the result"
		synctest.Wait()
		r.say(res.Session, "and?")
		if text := lastText(r); !strings.Contains(text, "the result") || !strings.Contains(text, "finished after") {
			t.Errorf("got %s", text)
		}
		if got := bus(); len(got) != 1 || !strings.Contains(got[0].Text, jobDone) || got[0].Session != res.Session {
			t.Errorf("on the bus %+v", got)
		}
		if got := r.seen(core.AgentJob); len(got) != 0 {
			t.Errorf("the watcher of a turn that is over was told %+v", got)
		}
		return r
	})
}

func TestJobThatEndsWithinTheTurnIsToldAtTheNextStep(t *testing.T) {
	inBubble(t, func(t *testing.T) *rig {
		end := make(chan string, 1)
		r := newRig(t, Config{}, coretest.Calls("slow", `{}`), coretest.Calls("finish", `{}`), coretest.Says("done"))
		r.slow(time.Second, end)
		r.tool("finish", core.Traits{}, func(context.Context, map[string]any) (string, error) {
			end <- "early result"
			synctest.Wait()
			return "ok", nil
		})
		r.say("", "go")
		if text := lastText(r); !strings.Contains(text, "early result") {
			t.Errorf("got %s", text)
		}
		return r
	})
}

func TestJobToolsAreShownWhereThereAreJobs(t *testing.T) {
	inBubble(t, func(t *testing.T) *rig {
		r := newRig(t, Config{}, coretest.Calls("slow", `{}`), coretest.Says("a"), coretest.Says("b"))
		r.slow(time.Second, nil)
		r.say("", "go")
		r.say("", "another session")
		reqs := r.model.Requests()
		for i, want := range []int{1, 4, 1} {
			if got := len(reqs[i].Tools); got != want {
				t.Errorf("request %d shows %d tools, want %d", i, got, want)
			}
		}
		return r
	})
}

func TestJobsCanBeWatchedWaitedForAndCancelled(t *testing.T) {
	inBubble(t, func(t *testing.T) *rig {
		with := onJob()
		end := make(chan string, 1)
		r := newRig(t, Config{}, coretest.Calls("slow", `{}`), with("job_output", ""), with("job_wait", `,"seconds":5`), with("job_cancel", ""),
			with("job_wait", ""), coretest.Says("done"), coretest.Says("later"))
		r.slow(time.Second, end)
		begin := time.Now()
		res := r.say("", "go")
		got := r.results()
		for i, want := range []string{"job_", "has been running", "has been running", "is being cancelled", "was cancelled"} {
			if text := llm.PartsText(got[i].Parts); !strings.Contains(text, want) {
				t.Errorf("result %d: %q, want %q", i, text, want)
			}
		}
		if took := time.Since(begin); took != 6*time.Second {
			t.Errorf("took %s", took)
		}
		r.say(res.Session, "x")
		if n := strings.Count(lastText(r), "[background]"); n != 0 {
			t.Errorf("the model was told %d times of what it did itself", n)
		}
		return r
	})
}

// onJob makes calls of tools for the first job that the model was told of.
func onJob() func(tool, more string) coretest.Reply {
	var handle string
	return func(tool, more string) coretest.Reply {
		return coretest.Reply{Then: func(req *llm.Request) coretest.Reply {
			for _, m := range req.Messages {
				for _, p := range m.Parts {
					if p.Result == nil {
						continue
					}
					if _, after, found := strings.Cut(llm.PartsText(p.Result.Parts), "job_"); found && handle == "" {
						handle = "job_" + after[:6]
					}
				}
			}
			return coretest.Calls(tool, `{"handle":"`+handle+`"`+more+`}`)
		}}
	}
}

func TestAResultThatWasWaitedForIsToldOnce(t *testing.T) {
	for _, size := range []int{1, 2000} { // whole, and cut at the budget for it
		inBubble(t, func(t *testing.T) *rig {
			end := make(chan string, 1)
			r := newRig(t, Config{Budgets: Budgets{ToolOutput: 1000}}, coretest.Calls("slow", `{}`), onJob()("job_wait", ""), coretest.Says("done"), coretest.Says("more"))
			r.slow(time.Second, end)
			time.AfterFunc(5*time.Second, func() { end <- "THE-RESULT" + strings.Repeat(".", size) })
			res := r.say("", "go")
			r.say(res.Session, "and?")
			if n := strings.Count(lastText(r), "THE-RESULT"); n != 1 {
				t.Errorf("told %d times", n)
			}
			if h, err := r.log(res.Session); err != nil || len(h.jobs) != 1 {
				t.Errorf("%+v, %v", h, err)
			} else {
				for _, j := range h.jobs {
					if j.State != jobDone {
						t.Errorf("in the log %+v", j)
					}
				}
			}
			return r
		})
	}
}

func TestAResultWhoseWaitWasCutOffIsToldLater(t *testing.T) {
	inBubble(t, func(t *testing.T) *rig {
		end := make(chan string, 1)
		r := newRig(t, Config{}, coretest.Calls("slow", `{}`), onJob()("job_wait", ""), coretest.Says("more"))
		r.slow(time.Second, end)
		load(t, r.host.Root(), core.Plugin[struct{}]{Name: "cut", Apply: func(c *core.Context, _ struct{}) error {
			return c.Tools().Use(0, func(next core.Handler) core.Handler {
				return func(ctx context.Context, call *core.Invocation) core.Result {
					res := next(ctx, call)
					if call.Name == "job_wait" { // what it said does not come through
						return core.TextResult("lost")
					}
					return res
				}
			})
		}}, struct{}{})
		time.AfterFunc(5*time.Second, func() { end <- "THE-RESULT" })
		r.say("", "go")
		if n := strings.Count(lastText(r), "THE-RESULT"); n != 1 {
			t.Errorf("told %d times", n)
		}
		return r
	})
}

func TestE32_JobsOfOtherSessionsDoNotExist(t *testing.T) {
	inBubble(t, func(t *testing.T) *rig {
		r := newRig(t, Config{}, coretest.Calls("slow", `{}`), coretest.Says("a"))
		r.slow(time.Second, nil)
		r.say("", "go")
		reqs := r.model.Requests()
		_, after, _ := strings.Cut(lastText(r), "job_")
		foreign := "job_" + after[:6]
		r.model.Add(coretest.Calls("slow", `{}`), coretest.Calls("job_output", `{"handle":"`+foreign+`"}`), coretest.Says("b"))
		r.say("", "other session")
		if got := r.results()[1]; !got.IsError || !strings.Contains(llm.PartsText(got.Parts), "no job") {
			t.Errorf("after %d requests: %+v", len(reqs), got)
		}
		return r
	})
}

func TestAgentWithoutBackgroundCancelsLongCalls(t *testing.T) {
	inBubble(t, func(t *testing.T) *rig {
		no := false
		r := newRig(t, Config{Background: &no}, coretest.Calls("slow", `{}`), coretest.Says("a"))
		r.slow(time.Second, nil)
		r.say("", "go")
		if got := r.results()[0]; !got.IsError || strings.Contains(llm.PartsText(got.Parts), "job_") {
			t.Errorf("got %+v", got)
		}
		return r
	})
}

func TestJobOfAProcessThatEndedIsInterrupted(t *testing.T) {
	r := newRig(t, Config{}, coretest.Says("a"), coretest.Says("b"))
	session := r.say("", "x").Session
	h, _ := hubOf(r)
	s, err := h.local.Open(t.Context(), session)
	if err != nil {
		t.Fatal(err)
	}
	ev, err := event(eventJob, jobRecord{Handle: "job_gone", Tool: "slow", CallID: "c", State: jobRunning})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Append(t.Context(), ev); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	r.say(session, "y")
	if text := lastText(r); strings.Count(text, "job job_gone (slow) was interrupted") != 1 {
		t.Errorf("got %s", text)
	}
}

// onBus gathers events of one kind from the host's bus.
func (r *rig) onBus(kind core.AgentEventKind) func() []core.AgentEvent {
	r.t.Helper()
	var mu sync.Mutex
	var got []core.AgentEvent
	load(r.t, r.host.Root(), core.Plugin[struct{}]{Name: "bus", Apply: func(c *core.Context, _ struct{}) error {
		return core.AgentEvents.On(c, func(_ context.Context, ev core.AgentEvent) error {
			mu.Lock()
			defer mu.Unlock()
			if ev.Kind == kind {
				got = append(got, ev)
			}
			return nil
		})
	}}, struct{}{})
	return func() []core.AgentEvent {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(got)
	}
}

// log folds a session of the process.
func (r *rig) log(session string) (*history, error) {
	h, _ := hubOf(r)
	events, err := h.local.Read(r.t.Context(), session)
	if err != nil {
		return nil, err
	}
	return fold(events)
}

// hubOf finds the hub of a rig.
func hubOf(r *rig) (h *hub, ok bool) {
	r.t.Helper()
	load(r.t, r.host.Root(), core.Plugin[struct{}]{Name: "peek", Needs: core.Needs(hubs), Apply: func(c *core.Context, _ struct{}) error {
		h, ok = hubs.Get(c)
		return nil
	}}, struct{}{})
	return h, ok
}
