package agent

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/llm"
)

// overtime is the cause when the wall budget of a turn ends it, and those that
// it called.
type overtime struct{ of *turn }

func (overtime) Error() string { return "the turn took longer than its budget" }

// turn is one message to an agent on its way through the loop. Its fields
// belong to the goroutine of run, but for those that say otherwise.
type turn struct {
	hub     *hub
	agent   *agent
	cfg     *Config // as of the beginning
	caller  *turn   // whose call began this one; nil at the top
	id      string
	session core.Session
	viewer  core.Viewer
	message llm.Message
	depth   int
	started time.Time
	system  string

	history *history
	repeats *repeats
	prefix  prefix
	result  core.TurnResult
	// Of the last request: what the provider counted, for how many entries,
	// and an estimate of its definitions.
	counted, countedAt, toolTokens int

	events *emitter     // any goroutine
	steps  atomic.Int64 // written by run alone

	mu     sync.Mutex      // guards the fields below
	over   bool            // no more notes are taken
	nobody []string        // tools that were refused as nobody could be asked
	below  core.TurnResult // usage and cost of agents that this one called
}

type turnKey struct{}

func withTurn(ctx context.Context, t *turn) context.Context {
	return context.WithValue(ctx, turnKey{}, t)
}

// turnOf gives the innermost turn that ctx belongs to, nil if there is none.
func turnOf(ctx context.Context) *turn {
	t, _ := ctx.Value(turnKey{}).(*turn)
	return t
}

// newTurn reads the session and gets everything ready.
func newTurn(ctx context.Context, h *hub, m *member[*agent], s core.Session, in core.Turn) (*turn, error) {
	a := m.value
	t := &turn{
		hub: h, agent: a, cfg: a.config.Load(), caller: turnOf(ctx),
		id: "turn_" + strings.ToLower(rand.Text()[:12]), session: s, message: in.Message,
		depth: in.Depth, started: time.Now(), viewer: a.viewer(s.ID(), in.User),
	}
	t.viewer.Parent = in.Parent
	t.events = newEmitter(t.deliver(ctx, in.Watch))
	t.repeats = newRepeats(t.cfg.Budgets.Repeats)
	t.result = core.TurnResult{Session: s.ID(), Agent: a.name}
	var err error
	if t.system, err = a.prompt(t.cfg); err != nil {
		return nil, err
	}
	events, err := s.Events(ctx)
	if err != nil {
		return nil, err
	}
	if t.history, err = fold(events); err != nil {
		return nil, fmt.Errorf("session %s: %w", s.ID(), err)
	}
	return t, nil
}

// run is the turn from its first event to its last.
func (t *turn) run(ctx context.Context) (core.TurnResult, error) {
	stop, err := t.begin(ctx)
	if err == nil && stop == "" {
		bounded, cancel := t.bound(ctx)
		stop, err = t.loop(bounded)
		cancel()
	}
	if err != nil {
		stop, t.result.Detail = core.StopError, err.Error()
	}
	return t.end(ctx, stop), err
}

// bound applies the wall budget.
func (t *turn) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	if t.cfg.Budgets.Wall <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, t.cfg.Budgets.Wall, overtime{t})
}

// begin writes the message down and checks whether the turn may go on.
func (t *turn) begin(ctx context.Context) (core.StopReason, error) {
	_, name, err := t.hub.models.Resolve(t.cfg.Model)
	if err != nil {
		return "", err
	}
	t.result.Model = name
	t.emit(core.AgentEvent{Kind: core.AgentTurn, Model: name})
	if err := t.settleJobs(ctx); err != nil {
		return "", err
	}
	if err := t.append(ctx, eventTurn, turnRecord{t.id, t.agent.name, t.viewer.User}); err != nil {
		return "", err
	}
	if err := t.append(ctx, core.EventMessage, t.message); err != nil {
		return "", err
	}
	if t.depth > t.cfg.Budgets.Depth {
		t.result.Detail = fmt.Sprintf("agents call agents more than %d deep", t.cfg.Budgets.Depth)
		return core.StopDepth, nil
	}
	if missing := t.missing(); len(missing) > 0 {
		t.result.Detail = strings.Join(missing, ", ")
		return core.StopMissing, nil
	}
	return "", nil
}

// missing lists the required tools that the agent does not see.
func (t *turn) missing() []string {
	if len(t.cfg.Require) == 0 {
		return nil
	}
	list := t.hub.tools.List(t.viewer)
	return slices.DeleteFunc(slices.Clone(t.cfg.Require), func(name string) bool {
		return slices.ContainsFunc(list, func(tool core.Tool) bool { return tool.Name == name })
	})
}

// loop goes step by step until something ends the turn.
func (t *turn) loop(ctx context.Context) (core.StopReason, error) {
	budget := t.cfg.Budgets
	for {
		stop, err := t.step(ctx)
		if ended := t.interrupted(ctx); ended != "" {
			return ended, nil
		}
		if stop != "" || err != nil {
			return stop, err
		}
		used := t.used()
		switch {
		case budget.Tokens > 0 && used >= budget.Tokens:
			t.result.Detail = fmt.Sprintf("%d tokens used, the budget is %d", used, budget.Tokens)
			return core.StopTokens, nil
		case t.result.Steps >= budget.Steps:
			t.result.Detail = fmt.Sprintf("the budget is %d", budget.Steps)
			return core.StopSteps, nil
		}
	}
}

// interrupted tells whether, and why, the turn's context ended.
func (t *turn) interrupted(ctx context.Context) core.StopReason {
	if ctx.Err() == nil {
		return ""
	}
	cause := context.Cause(ctx)
	var late overtime
	if !errors.As(cause, &late) {
		t.result.Detail = cause.Error()
		return core.StopCancelled
	}
	whose := ""
	if late.of != t {
		whose = " of its caller, " + late.of.agent.name + ","
	}
	t.result.Detail = fmt.Sprintf("the budget%s is %s", whose, late.of.cfg.Budgets.Wall)
	return core.StopWall
}

// end writes down how the turn ended and says so.
func (t *turn) end(ctx context.Context, stop core.StopReason) core.TurnResult {
	if err := t.closeNotes(ctx); err != nil {
		t.hub.c.Logger().Error("writing what jobs answered", "session", t.session.ID(), "error", err)
	}
	t.settle()
	t.result.Stop = stop
	t.result.Elapsed = time.Since(t.started)
	t.result.Denied = t.denied()
	if err := t.append(ctx, eventFinish, t.result); err != nil {
		t.hub.c.Logger().Error("writing the end of a turn", "session", t.session.ID(), "error", err)
	}
	res := t.result
	t.emit(core.AgentEvent{Kind: core.AgentFinish, Model: res.Model, Text: res.Detail, Result: &res})
	t.events.end()
	return res
}

// add counts what an agent used that this turn called, and remembers what it
// was refused.
func (t *turn) add(res core.TurnResult) {
	t.mu.Lock()
	t.below.Usage = t.below.Usage.Add(res.Usage)
	t.below.Cost += res.Cost
	t.mu.Unlock()
	for _, tool := range res.Denied {
		t.refusedByNobody(tool)
	}
}

// used are the tokens so far, those of called agents among them.
func (t *turn) used() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	u := t.result.Usage.Add(t.below.Usage)
	return u.Input + u.Output
}

// settle puts what called agents used into the result.
func (t *turn) settle() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.result.Usage = t.result.Usage.Add(t.below.Usage)
	t.result.Cost += t.below.Cost
	t.below = core.TurnResult{}
}

// append writes an event to the session and folds it into the history. It is
// done also when the turn was cancelled: what happened, happened.
func (t *turn) append(ctx context.Context, kind string, data any) error {
	ev, err := event(kind, data)
	if err != nil {
		return err
	}
	if err := t.session.Append(context.WithoutCancel(ctx), ev); err != nil {
		return fmt.Errorf("session %s: %w", t.session.ID(), err)
	}
	t.history.apply(0, data)
	return nil
}

// refusedByNobody notes a tool that was refused since nobody could be asked.
func (t *turn) refusedByNobody(tool string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !slices.Contains(t.nobody, tool) {
		t.nobody = append(t.nobody, tool)
	}
}

func (t *turn) denied() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Sorted(slices.Values(t.nobody))
}
