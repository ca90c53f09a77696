package memory_test

import (
	"context"
	"errors"
	"testing"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/coretest"
	"github.com/agentd-host/agentd/core/llm"
	"github.com/agentd-host/agentd/plugins/agent"
	"github.com/agentd-host/agentd/plugins/memory"
)

// loaded loads a plugin and waits for it.
func loaded[C any](t *testing.T, c *core.Context, p core.Plugin[C], cfg C) *core.Fiber {
	t.Helper()
	f, err := core.Load(c, p, cfg)
	if err == nil {
		err = f.Ready(t.Context())
	}
	if err != nil {
		t.Fatalf("%s: %v", p.Name, err)
	}
	return f
}

// TestSessionsSurviveTheComingAndGoingOfMemory: a conversation that began in
// the process goes on when memory is added; what memory keeps is there again
// when it comes back, and unknown while it is gone.
func TestSessionsSurviveTheComingAndGoingOfMemory_H16(t *testing.T) {
	host := core.New(nil)
	defer func() {
		if err := host.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	}()
	root := host.Root()
	if err := core.Environment.Provide(root, core.Paths{State: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	model := coretest.NewModel()
	loaded(t, root, agent.Hub, struct{}{})
	loaded(t, root, agent.Plugin, agent.Config{})
	var user *core.Context
	loaded(t, root, core.Plugin[struct{}]{Name: "user", Needs: core.Needs(core.Models, core.Agents), Apply: func(c *core.Context, _ struct{}) error {
		user = c
		models, _ := core.Models.Get(c)
		return models.Add(c, "scripted", model)
	}}, struct{}{})
	say := func(session string) (core.TurnResult, error) {
		t.Helper()
		model.Add(coretest.Says("ok"))
		agents, _ := core.Agents.Get(user)
		return agents.Run(t.Context(), core.Turn{Session: session, Message: llm.UserText("x")})
	}
	must := func(res core.TurnResult, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return res.Session
	}
	early := must(say(""))
	f := loaded(t, root, memory.Plugin, memory.Config{})
	must(say(early))
	kept := must(say(""))
	if err := f.Dispose(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := say(kept); !errors.Is(err, core.ErrSessionUnknown) {
		t.Errorf("got %v", err)
	}
	loaded(t, root, memory.Plugin, memory.Config{})
	must(say(kept))
	must(say(early))
	reqs := model.Requests()
	if n := len(reqs[len(reqs)-1].Messages); n != 5 {
		t.Errorf("the early session has %d messages, want 5", n)
	}
}

// TestACancelledTurnIsWrittenDown: the host closes in order right after a turn
// was cancelled that writes to the store.
func TestACancelledTurnIsWrittenDown(t *testing.T) {
	speaking := make(chan struct{})
	model := coretest.NewModel(coretest.Reply{Wait: func(ctx context.Context) { close(speaking); <-ctx.Done() }})
	err := withHost(t.Context(), t.TempDir(), model, func(s core.SessionStore) core.SessionStore { return s },
		func(c *core.Context) error {
			agents, _ := core.Agents.Get(c)
			ctx, cancel := context.WithCancel(t.Context())
			go func() { <-speaking; cancel() }()
			res, err := agents.Run(ctx, core.Turn{Message: llm.UserText("x")})
			if res.Stop != core.StopCancelled {
				t.Errorf("got %+v", res)
			}
			return err
		})
	if err != nil {
		t.Error(err)
	}
}
