package coretest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/coretest"
	"github.com/agentd-host/agentd/core/llm"
)

func TestMain(m *testing.M) { coretest.Main(m) }

type config struct {
	Greeting string `json:"greeting" jsonschema_description:"How to greet."`
}

var greeting = core.NewService[string]("greeting")

var greeter = core.Plugin[config]{
	Name: "greeter", Description: "Greets.", Needs: core.Needs(greeting),
	Apply: func(c *core.Context, cfg config) error {
		name, _ := greeting.Get(c)
		return errors.Join(
			c.Go("idle", func(ctx context.Context) error { <-ctx.Done(); return nil }),
			core.DefineTool(c, core.Tool{Name: "greet", Traits: core.Traits{Effect: core.Write}},
				func(ctx context.Context, _ struct{}) (string, error) {
					err := core.CurrentInvocation(ctx).Ask(ctx, core.Permission{Name: "speak", Target: name}, "to greet")
					return cfg.Greeting + " " + name, err
				}),
		)
	},
}

func TestStartRunsOnePluginWithWhatItNeeds(t *testing.T) {
	person := coretest.NewApprover(core.AnswerOnce, core.AnswerReject)
	policy := coretest.NewPolicy(person)
	fx := coretest.Start(t, greeter, config{"hello"}, coretest.Provide(greeting, "world"), coretest.WithPolicy(policy))
	if r := fx.Call("greet", nil); r.Err != nil || r.Text() != "hello world" {
		t.Errorf("got %q, %v", r.Text(), r.Err)
	}
	policy.Set("greet", core.Ask)
	if r := fx.Call(fx.Tool("greet").Name, map[string]any{}); r.Err != nil {
		t.Errorf("allowed once: %v", r.Err)
	}
	if r := fx.Call("greet", nil); r.Err == nil || r.Err.Code != core.CodeDenied {
		t.Errorf("rejected: %q, %v", r.Text(), r.Err)
	}
	person.SetAway(true)
	if r := fx.Call("greet", nil); r.Err == nil || r.Err.Code != core.CodeNobody {
		t.Errorf("nobody there: %q, %v", r.Text(), r.Err)
	}
	policy.Set("greet", core.Off)
	if r := fx.Call("greet", nil); r.Err == nil || r.Err.Code != core.CodeUnknown || len(fx.Tools()) != 0 {
		t.Errorf("off: %q, %v, %d tools", r.Text(), r.Err, len(fx.Tools()))
	}
	if n := len(person.Asked()); n != 2 {
		t.Errorf("asked %d times, want 2", n)
	}
}

func TestInvocationAskGoesToTheSamePolicy(t *testing.T) {
	person := coretest.NewApprover(core.AnswerReject)
	policy := coretest.NewPolicy(person)
	policy.Set("speak", core.Ask)
	fx := coretest.Start(t, greeter, config{"hello"}, coretest.Provide(greeting, "world"), coretest.WithPolicy(policy))
	if r := fx.Call("greet", nil); r.Err == nil || r.Err.Code != core.CodeDenied {
		t.Errorf("rejected within the tool: %q, %v", r.Text(), r.Err)
	}
	asked := person.Asked()
	if len(asked) != 1 || asked[0].Reason != "to greet" || asked[0].Permissions[0] != (core.Permission{Name: "speak", Target: "world"}) {
		t.Errorf("asked %+v", asked)
	}
}

func TestChecksOfAWellBehavedPlugin(t *testing.T) {
	coretest.CheckPlugin(t, greeter)
	coretest.CheckReload(t, greeter, config{}, 20, coretest.Provide(greeting, "x"))
}

// recorder is a test that notes its failures.
type recorder struct {
	testing.TB
	failures []string
}

func (r *recorder) Errorf(format string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

func TestChecksFindWhatIsLeftBehind(t *testing.T) {
	stop := make(chan struct{})
	defer close(stop)
	rude := core.Plugin[struct {
		N int `json:"n" jsonschema:"minimun=3"`
	}]{Name: "rude", Apply: func(c *core.Context, _ struct {
		N int `json:"n" jsonschema:"minimun=3"`
	}) error {
		go func() { <-stop }()
		return nil
	}}
	r := &recorder{TB: t}
	coretest.CheckPlugin(r, rude)
	if len(r.failures) != 2 {
		t.Errorf("CheckPlugin found %q, want the missing description and the tag", r.failures)
	}
	r = &recorder{TB: t}
	coretest.CheckReload(r, rude, struct {
		N int `json:"n" jsonschema:"minimun=3"`
	}{}, 2)
	if len(r.failures) != 1 {
		t.Errorf("CheckReload found %q, want the goroutines", r.failures)
	}
}

func TestCheckToolsFindsWhatIsNotSaid(t *testing.T) {
	run := func(context.Context, *core.Invocation) (core.Result, error) { return core.Result{}, nil }
	p := core.Plugin[struct{}]{Name: "p", Apply: func(c *core.Context, _ struct{}) error {
		return errors.Join(
			c.Tools().Define(core.Tool{Name: "fine", Description: "Does it.", Traits: core.Traits{Effect: core.Read}, Run: run}),
			c.Tools().Define(core.Tool{Name: "bare", Parameters: []byte(`{}`), Run: run}),
			c.Tools().Define(core.Tool{Name: "broken", Description: "x", Traits: core.Traits{Effect: core.Read},
				Parameters: []byte(`{"type":"any"}`), Run: run}))
	}}
	r := &recorder{TB: t}
	fx := coretest.Start(r, p, struct{}{})
	fx.CheckTools()
	if len(r.failures) != 4 {
		t.Errorf("found %q, want description, effect and schema of bare, schema of broken", r.failures)
	}
}

func TestModelPlaysItsScriptAndRecords(t *testing.T) {
	m := coretest.NewModel(coretest.Calls("a", `{"x":1}`, "b", ""), coretest.Fails(llm.ErrOverloaded, "busy"))
	m.Add(coretest.Says("done"))
	req := &llm.Request{Messages: []llm.Message{llm.UserText("hello")}}
	got, err := llm.Collect(m.Stream(t.Context(), req))
	if err != nil {
		t.Fatal(err)
	}
	want := []llm.ToolCall{{ID: "call1", Name: "a", Args: `{"x":1}`}, {ID: "call2", Name: "b"}}
	if diff := cmp.Diff(want, got.Message.Calls()); diff != "" || got.Reason != llm.ToolCalls {
		t.Errorf("reason %s, calls (-want +got):\n%s", got.Reason, diff)
	}
	req.Messages[0] = llm.UserText("changed")
	if _, err := llm.Collect(m.Stream(t.Context(), req)); err == nil || err.(*llm.Error).Kind != llm.ErrOverloaded {
		t.Errorf("second reply: %v", err)
	}
	if got, err := llm.Collect(m.Stream(t.Context(), req)); err != nil || got.Message.Text() != "done" || got.Reason != llm.Stop {
		t.Errorf("third reply: %+v, %v", got, err)
	}
	if first := m.Requests()[0].Messages[0].Text(); first != "hello" || m.Left() != 0 {
		t.Errorf("the recorded request changed to %q, %d replies left", first, m.Left())
	}
	if _, err := llm.Collect(m.Stream(t.Context(), req)); err == nil {
		t.Error("a request after the end of the script was answered")
	}
}

func ExampleApprover() {
	person := coretest.NewApprover(core.AnswerSession)
	answer, err := person.Ask(context.Background(), core.Approval{Tool: "run_command"})
	fmt.Println(answer.Kind, answer.Kind.Allows(), err)
	answer, _ = person.Ask(context.Background(), core.Approval{Tool: "run_command"})
	fmt.Println(answer.Kind, len(person.Asked()))
	// Output:
	// session true <nil>
	// reject 2
}

// A plugin with ten tools, three listeners and a goroutine is loaded and
// unloaded a thousand times: the counts before and after are the same, and no
// goroutine is left.
func TestAThousandLoadsLeaveNothing(t *testing.T) {
	busy := core.Plugin[struct{}]{Name: "busy", Apply: func(c *core.Context, _ struct{}) error {
		var errs []error
		for i := range 10 {
			errs = append(errs, core.DefineTool(c, core.Tool{Name: fmt.Sprintf("busy_%d", i)},
				func(context.Context, struct{}) (string, error) { return "", nil }))
		}
		for range 3 {
			errs = append(errs, core.ToolsChanged.On(c, func(context.Context, core.ToolChange) error { return nil }))
		}
		errs = append(errs, c.Go("wait", func(ctx context.Context) error {
			<-ctx.Done()
			return nil
		}))
		return errors.Join(errs...)
	}}
	coretest.CheckReload(t, busy, struct{}{}, 1000)
}
