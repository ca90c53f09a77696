package coretest

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"sync"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/llm"
)

// Model is a scripted model: it plays the given replies, one for each request,
// and records the requests. When the script is over it answers with an error
// that says so. It is safe for concurrent use.
//
// It is a core.ModelProvider too, of itself under any name:
//
//	model := coretest.NewModel(coretest.Calls("read_file", `{"path":"x"}`), coretest.Says("done"))
type Model struct {
	// Info is what Describe answers. Set it before the model is used; the
	// default is provider and model "scripted" that can do everything.
	Info llm.Info
	// Lacks makes the provider unready for this reason.
	Lacks string

	mu       sync.Mutex // guards the fields below
	script   []Reply
	requests []*llm.Request
	calls    int
}

// Reply is one answer of a scripted model. The zero value is an empty answer.
type Reply struct {
	Reasoning string
	Text      string
	// Calls without an ID get one that counts up.
	Calls []llm.ToolCall
	// Usage is reported if it is not zero.
	Usage llm.Usage
	// Reason is how the answer ends; empty is what fits its content.
	Reason llm.FinishReason
	// Err ends the stream after everything above.
	Err error
	// Wait, if set, is called before anything is yielded. It may block until
	// ctx ends.
	Wait func(ctx context.Context)
	// Then, if set, makes the reply from the request; the other fields are
	// not used then.
	Then func(req *llm.Request) Reply
	// Events, if set, are yielded in place of Reasoning, Text, Calls, Usage
	// and the finish.
	Events []llm.Event
}

// Says is a reply of text.
func Says(text string) Reply { return Reply{Text: text} }

// Calls is a reply that calls tools: names and arguments in turns.
func Calls(nameArgs ...string) Reply {
	if len(nameArgs)%2 != 0 {
		panic("coretest.Calls: names and arguments come in pairs")
	}
	var r Reply
	for i := 0; i < len(nameArgs); i += 2 {
		r.Calls = append(r.Calls, llm.ToolCall{Name: nameArgs[i], Args: nameArgs[i+1]})
	}
	return r
}

// Fails is a reply that is an error.
func Fails(kind llm.ErrorKind, message string) Reply {
	return Reply{Err: &llm.Error{Kind: kind, Provider: "scripted", Message: message, ToolIndex: -1}}
}

// NewModel makes a model that plays the replies.
func NewModel(script ...Reply) *Model {
	return &Model{
		Info: llm.Info{Provider: "scripted", Model: "scripted", Capabilities: llm.Capabilities{
			Tools: true, ParallelCalls: true, Strict: true, Reasoning: true, Images: true,
		}},
		script: script,
	}
}

// Add appends to the script.
func (m *Model) Add(script ...Reply) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.script = append(m.script, script...)
}

// Requests are the requests so far, as they were when they came.
func (m *Model) Requests() []*llm.Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]*llm.Request(nil), m.requests...)
}

// Left counts the replies that were not played.
func (m *Model) Left() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.script)
}

// Describe gives Info.
func (m *Model) Describe() llm.Info { return m.Info }

// Stream plays the next reply.
func (m *Model) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		reply := m.next(req)
		if reply.Wait != nil {
			reply.Wait(ctx)
		}
		for _, ev := range reply.events() {
			if ctx.Err() != nil {
				break
			}
			if !yield(ev, nil) {
				return
			}
		}
		err := reply.Err
		if ctx.Err() != nil {
			err = &llm.Error{
				Kind: llm.ErrCancelled, Provider: m.Info.Provider, Message: "cancelled", ToolIndex: -1,
				Cause: context.Cause(ctx),
			}
		}
		if err != nil {
			yield(llm.Event{}, err)
		}
	}
}

// next records the request and takes the next reply.
func (m *Model) next(req *llm.Request) Reply {
	m.mu.Lock()
	m.requests = append(m.requests, copyRequest(req))
	reply := Reply{Err: &llm.Error{
		Kind: llm.ErrBadRequest, Provider: m.Info.Provider, ToolIndex: -1,
		Message: fmt.Sprintf("the script is over: request %d was not expected", len(m.requests)),
	}}
	if len(m.script) > 0 {
		reply, m.script = m.script[0], m.script[1:]
	}
	m.mu.Unlock()
	if reply.Then != nil {
		reply = reply.Then(req)
	}
	return m.withIDs(reply)
}

func (m *Model) withIDs(r Reply) Reply {
	m.mu.Lock()
	defer m.mu.Unlock()
	r.Calls = append([]llm.ToolCall(nil), r.Calls...)
	for i := range r.Calls {
		if r.Calls[i].ID == "" {
			m.calls++
			r.Calls[i].ID = fmt.Sprintf("call%d", m.calls)
		}
	}
	return r
}

// copyRequest keeps what the caller might change later.
func copyRequest(req *llm.Request) *llm.Request {
	raw, err := json.Marshal(req)
	if err != nil {
		panic("coretest.Model: the request is no plain data: " + err.Error())
	}
	var out llm.Request
	if err := json.Unmarshal(raw, &out); err != nil {
		panic("coretest.Model: the request does not survive JSON: " + err.Error())
	}
	return &out
}

// events plays the reply, in pieces as a provider would.
func (r Reply) events() []llm.Event {
	if r.Events != nil {
		return r.Events
	}
	var evs []llm.Event
	if r.Reasoning != "" {
		evs = append(evs, llm.Event{Kind: llm.ReasoningDelta, Text: r.Reasoning})
	}
	for _, piece := range Halves(r.Text) {
		evs = append(evs, llm.Event{Kind: llm.TextDelta, Text: piece})
	}
	for i, c := range r.Calls {
		evs = append(evs, llm.Event{Kind: llm.ToolCallStart, Index: i, ID: c.ID, Name: c.Name})
		for _, piece := range Halves(c.Args) {
			evs = append(evs, llm.Event{Kind: llm.ToolCallDelta, Index: i, Text: piece})
		}
		evs = append(evs, llm.Event{Kind: llm.ToolCallEnd, Index: i})
	}
	if r.Usage != (llm.Usage{}) {
		usage := r.Usage
		evs = append(evs, llm.Event{Kind: llm.UsageReport, Usage: &usage})
	}
	if r.Err != nil {
		return evs
	}
	reason := r.Reason
	if reason == "" {
		reason = llm.Stop
		if len(r.Calls) > 0 {
			reason = llm.ToolCalls
		}
	}
	return append(evs, llm.Event{Kind: llm.Finish, Reason: reason})
}

// Halves cuts a text in two, between runes; one that is too short for that
// stays whole, and nothing gives nothing.
func Halves(s string) []string {
	runes := []rune(s)
	if len(runes) < 2 {
		if s == "" {
			return nil
		}
		return []string{s}
	}
	return []string{string(runes[:len(runes)/2]), string(runes[len(runes)/2:])}
}

// Model makes the model core.ModelProvider of itself.
func (m *Model) Model(string) (llm.Model, error) { return m, nil }

// Ready tells whether Lacks is empty.
func (m *Model) Ready() (bool, string) { return m.Lacks == "", m.Lacks }

var (
	_ llm.Model          = (*Model)(nil)
	_ core.ModelProvider = (*Model)(nil)
)
