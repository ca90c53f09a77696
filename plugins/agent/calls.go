package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/llm"
)

// batches splits calls into runs of neighbours that may go side by side; a
// call that may not is a batch by itself. The numbers are places in the
// answer.
func batches(n int, parallel func(i int) bool) [][]int {
	var out [][]int
	together := false
	for i := range n {
		if p := parallel(i); p && together {
			out[len(out)-1] = append(out[len(out)-1], i)
		} else {
			out = append(out, []int{i})
			together = p
		}
	}
	return out
}

// answerRun runs the calls of one answer.
type answerRun struct {
	t       *turn
	calls   []llm.ToolCall
	args    []json.RawMessage
	notes   [][]string // what was repaired
	tools   map[string]*core.Tool
	results []*core.Result // nil = did not run
	slots   chan struct{}  // one token for each call that may run now

	mu      sync.Mutex // guards the fields below
	stopped string     // why no further call begins, empty if they do
}

// runCalls runs the calls, writes the results down in the order of the calls,
// and says whether that ends the turn.
func (t *turn) runCalls(
	ctx context.Context, calls []llm.ToolCall, s *core.Surface, cut bool,
) (core.StopReason, error) {
	r := &answerRun{
		t: t, calls: calls, tools: map[string]*core.Tool{},
		args: make([]json.RawMessage, len(calls)), notes: make([][]string, len(calls)),
		results: make([]*core.Result, len(calls)), slots: make(chan struct{}, t.cfg.Budgets.Parallel),
	}
	r.prepare(s, cut)
	if err := r.run(ctx); err != nil {
		return "", err
	}
	if r.stopped != "" {
		t.result.Detail = r.stopped
		return core.StopPerson, nil
	}
	if tool, reached := t.repeats.add(calls); reached {
		t.result.Detail = fmt.Sprintf("%s was called with the same arguments %d times", tool, t.repeats.limit)
		return core.StopRepeats, nil
	}
	return "", nil
}

// prepare finds the tools and mends arguments. What was cut off at the output
// limit is not mended: it may be half of what was meant.
func (r *answerRun) prepare(s *core.Surface, cut bool) {
	for i, c := range r.calls {
		r.args[i] = json.RawMessage(c.Args)
		if !cut {
			r.args[i], r.notes[i] = repair(c.Args)
		}
		r.find(c.Name, s.Tools)
	}
}

// find looks a tool up for its short views: among those shown, else among all
// that the agent sees.
func (r *answerRun) find(name string, shown []core.Tool) {
	for _, list := range [][]core.Tool{shown, r.t.hub.tools.List(r.t.viewer)} {
		for i := range list {
			if list[i].Name == name {
				r.tools[name] = &list[i]
				return
			}
		}
	}
}

// parallel tells whether a call may run beside its neighbours: by the trait
// of its tool, or of the one that a bridge calls. One for an unknown tool
// only gets an error.
func (r *answerRun) parallel(i int) bool {
	traits, known := r.t.hub.tools.Traits(r.call(i))
	return traits.Parallel || !known
}

// call is what Execute gets.
func (r *answerRun) call(i int) core.Call {
	return core.Call{
		ID: r.calls[i].ID, Name: r.calls[i].Name, Args: r.args[i], Viewer: r.t.viewer, Via: core.ViaModel,
		MaxResult: r.t.cfg.Budgets.ToolOutput, Turn: r.t.id,
	}
}

// run goes batch by batch. Each result is written down when it is there, so
// that a crash loses no more than what still runs.
func (r *answerRun) run(ctx context.Context) error {
	done := make(chan int)
	for _, batch := range batches(len(r.calls), r.parallel) {
		if ctx.Err() != nil || r.stop() != "" {
			break
		}
		for _, i := range batch {
			go r.one(ctx, i, done)
		}
		var fault error
		for range batch {
			if err := r.record(ctx, <-done); err != nil && fault == nil {
				fault = err
			}
		}
		if fault != nil {
			return fault
		}
	}
	return r.recordRest(ctx)
}

// one runs a call when there is room for it.
func (r *answerRun) one(ctx context.Context, i int, done chan<- int) {
	defer func() { done <- i }()
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	case <-ctx.Done():
		return
	}
	if ctx.Err() != nil || r.stop() != "" {
		return
	}
	res := r.execute(withCall(ctx, r.calls[i].ID), i)
	r.results[i] = &res
	if res.Err != nil && res.Err.Stop {
		r.halt(cmp.Or(res.Err.Message, "a person ended the turn"))
	}
}

func (r *answerRun) stop() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stopped
}

func (r *answerRun) halt(why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped == "" {
		r.stopped = why
	}
}

// execute is the one way from an answer to a tool.
func (r *answerRun) execute(ctx context.Context, i int) core.Result {
	t, c := r.t, r.calls[i]
	if len(r.notes[i]) > 0 {
		t.emit(core.AgentEvent{
			Kind: core.AgentWarning, CallID: c.ID, Tool: c.Name,
			Text: "the arguments were damaged and repaired: " + strings.Join(r.notes[i], ", "),
		})
	}
	begin := time.Now()
	res := t.hub.tools.Execute(ctx, r.call(i))
	ev := core.AgentEvent{
		Kind: core.AgentCallFinished, CallID: c.ID, Tool: c.Name,
		Render: renderResult(r.tools[c.Name], res), Duration: time.Since(begin),
	}
	if res.Err != nil {
		ev.Code, ev.Text = res.Err.Code, res.Err.Message
		if res.Err.Code == core.CodeNobody {
			t.refusedByNobody(res.Err.Tool)
		}
	}
	t.emit(ev)
	return res
}

// record writes a result down. A call that did not run gets none here.
func (r *answerRun) record(ctx context.Context, i int) error {
	res := r.results[i]
	if res == nil {
		return nil
	}
	parts := res.Parts
	if len(r.notes[i]) > 0 {
		note := "[the arguments were no valid JSON and were repaired: " + strings.Join(r.notes[i], ", ") + "]"
		parts = append([]llm.Part{llm.Text(note)}, parts...)
	}
	if len(parts) == 0 {
		parts = []llm.Part{llm.Text("(no output)")}
	}
	return r.write(ctx, i, parts, res.Err != nil)
}

func (r *answerRun) write(ctx context.Context, i int, parts []llm.Part, isError bool) error {
	return r.t.append(ctx, core.EventMessage, llm.Message{
		Role: llm.ToolRole, Parts: []llm.Part{resultPart(r.calls[i], parts, isError)},
	})
}

// recordRest answers the calls that did not run.
func (r *answerRun) recordRest(ctx context.Context) error {
	why := "interrupted: the turn ended before this call began; it did not run"
	if stopped := r.stop(); stopped != "" {
		why = "not run: " + stopped
	}
	for i, res := range r.results {
		if res != nil {
			continue
		}
		if err := r.write(ctx, i, []llm.Part{llm.Text(why)}, true); err != nil {
			return err
		}
	}
	return nil
}

// renderCall and renderResult give the tool's own short view. Without one
// they give nothing; whoever shows the call then makes its own.
func renderCall(t *core.Tool, args json.RawMessage) string {
	if t == nil || t.RenderCall == nil {
		return ""
	}
	return contained(func() string { return t.RenderCall(args) })
}

func renderResult(t *core.Tool, res core.Result) string {
	if t == nil || t.RenderResult == nil {
		return ""
	}
	return contained(func() string { return t.RenderResult(res) })
}

// contained calls a plugin's pure function; a panic in it counts as nothing.
func contained(f func() string) (s string) {
	defer func() {
		if recover() != nil {
			s = ""
		}
	}()
	return f()
}

type callKey struct{}

func withCall(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, callKey{}, id)
}

// callOf gives the id of the model's call that ctx belongs to.
func callOf(ctx context.Context) string {
	id, _ := ctx.Value(callKey{}).(string)
	return id
}
