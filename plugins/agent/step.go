package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/llm"
)

// step is one call of the model with everything that follows from it. An
// empty reason means that the turn goes on.
func (t *turn) step(ctx context.Context) (core.StopReason, error) {
	if err := t.takeNotes(ctx); err != nil {
		return "", err
	}
	model, name, err := t.hub.models.Resolve(t.cfg.Model)
	if err != nil {
		return "", err
	}
	t.result.Model = name
	t.result.Steps++
	t.steps.Store(int64(t.result.Steps))
	answer, surface, err := t.answer(ctx, model)
	if err != nil {
		return "", errors.Join(err, t.keepText(ctx, answer))
	}
	if err := t.account(ctx, name, answer.Usage); err != nil {
		return "", err
	}
	calls := answer.Message.Calls()
	if len(answer.Message.Parts) > 0 {
		if err := t.append(ctx, core.EventMessage, answer.Message); err != nil {
			return "", err
		}
	}
	if len(calls) == 0 {
		return t.finish(answer), nil
	}
	return t.runCalls(ctx, calls, surface, answer.Reason == llm.Length)
}

// answer asks the model, and a second time with less if the conversation was
// too long for it.
func (t *turn) answer(ctx context.Context, model llm.Model) (llm.Answer, *core.Surface, error) {
	if err := t.fit(ctx, model, false); err != nil {
		return llm.Answer{}, nil, err
	}
	answer, surface, err := t.ask(ctx, model)
	var fault *llm.Error
	if !errors.As(err, &fault) || fault.Kind != llm.ErrTooLarge || ctx.Err() != nil {
		return answer, surface, err
	}
	if err := t.fit(ctx, model, true); err != nil {
		return answer, surface, errors.Join(fault, err)
	}
	return t.ask(ctx, model)
}

// ask builds the request and streams the answer.
func (t *turn) ask(ctx context.Context, model llm.Model) (llm.Answer, *core.Surface, error) {
	surface, err := t.surface(ctx, model.Describe())
	if err != nil {
		return llm.Answer{}, nil, err
	}
	req, err := t.request(ctx, &surface)
	if err != nil {
		return llm.Answer{}, nil, err
	}
	if err := tooMany(model.Describe(), surface.Tools); err != nil {
		return llm.Answer{}, nil, err
	}
	t.emit(core.AgentEvent{Kind: core.AgentStep, Model: t.result.Model, Tools: len(surface.Tools)})
	answer, err := collect(ctx, model, req, t.tell)
	if err == nil {
		t.measure(req, answer)
		answer.Message = t.unique(answer.Message)
	}
	return answer, &surface, err
}

// surface settles what this step shows.
func (t *turn) surface(ctx context.Context, info llm.Info) (core.Surface, error) {
	start := core.Surface{
		Viewer: t.viewer, Turn: t.id, Model: info, Tools: slices.Clip(t.hub.tools.List(t.viewer)),
		History: t.history.messages(), First: t.history.firstText(),
	}
	return core.ToolSurface.Run(ctx, start, func(_ context.Context, s core.Surface) (core.Surface, error) {
		return s, nil
	})
}

// request builds what is sent, and lets the listeners of llm:before have the
// last word.
func (t *turn) request(ctx context.Context, s *core.Surface) (*llm.Request, error) {
	messages := t.history.messages()
	req := &llm.Request{
		System:   []llm.Part{llm.NamedText("system", t.system)},
		Context:  s.Context,
		Messages: messages,
		Tools:    definitions(s),
		Limits:   llm.Limits{MaxTokens: t.cfg.MaxTokens, Effort: t.cfg.Effort},
		Cache:    llm.CacheHints{Key: t.session.ID(), Messages: len(messages)},
		Viewer:   t.viewer.LLM(),
		Native:   s.Native,
	}
	req.Cache.Prefix = t.prefix.same(req)
	return core.LLMBefore.Run(ctx, req, func(_ context.Context, r *llm.Request) (*llm.Request, error) {
		return r, nil
	})
}

// definitions are the surface's tools as a model sees them.
func definitions(s *core.Surface) []llm.Tool {
	out := make([]llm.Tool, 0, len(s.Tools)+len(s.Deferred))
	for i := range s.Tools {
		out = append(out, definition(&s.Tools[i], false))
	}
	if s.Native {
		for i := range s.Deferred {
			out = append(out, definition(&s.Deferred[i], true))
		}
	}
	return out
}

func definition(t *core.Tool, deferred bool) llm.Tool {
	return llm.Tool{Name: t.Name, Description: t.Description, Parameters: t.Parameters, Deferred: deferred}
}

// prefix remembers what a provider may have cached.
type prefix struct {
	system string
	tools  []llm.Tool
}

// same tells whether tools and system prompt are those of the last request.
func (p *prefix) same(req *llm.Request) bool {
	system := llm.PartsText(req.System)
	equal := p.system == system && slices.EqualFunc(p.tools, req.Tools, func(a, b llm.Tool) bool {
		return a.Name == b.Name && a.Description == b.Description && a.Deferred == b.Deferred &&
			string(a.Parameters) == string(b.Parameters)
	})
	p.system, p.tools = system, req.Tools
	return equal
}

// tooMany refuses more tools than the model takes, by their sources, before
// the provider does so in fewer words.
func tooMany(info llm.Info, tools []core.Tool) error {
	if info.MaxTools <= 0 || len(tools) <= info.MaxTools {
		return nil
	}
	counts := map[string]int{}
	for i := range tools {
		s := tools[i].Source
		counts[strings.TrimSpace(string(s.Kind)+" "+s.Name)]++
	}
	var by []string
	for _, source := range slices.Sorted(maps.Keys(counts)) {
		by = append(by, fmt.Sprintf("%s %d", source, counts[source]))
	}
	return fmt.Errorf("%s/%s takes at most %d tools, but %d are shown (%s): add the toolsearch plugin, "+
		"or narrow them with a filter or policy off",
		info.Provider, info.Model, info.MaxTools, len(tools), strings.Join(by, ", "))
}

// collect reads an answer to its end and tells of each event when it comes.
func collect(ctx context.Context, model llm.Model, req *llm.Request, tell func(llm.Event)) (llm.Answer, error) {
	var c llm.Collector
	for ev, err := range model.Stream(ctx, req) {
		if err != nil {
			return c.Answer(), err
		}
		c.Add(ev)
		tell(ev)
	}
	return c.Answer(), nil
}

// tell makes the model's event one of the turn.
func (t *turn) tell(ev llm.Event) {
	kind, ok := map[llm.EventKind]core.AgentEventKind{
		llm.TextDelta:      core.AgentText,
		llm.ReasoningDelta: core.AgentReasoning,
		llm.Reset:          core.AgentReset,
		llm.Warning:        core.AgentWarning,
	}[ev.Kind]
	if ok && (ev.Text != "" || ev.Kind == llm.Reset) {
		t.emit(core.AgentEvent{Kind: kind, Text: ev.Text})
	}
}

// tellTrouble tells, of an answer that nobody watches, why it takes so long.
func (t *turn) tellTrouble(ev llm.Event) {
	if ev.Kind == llm.Warning || ev.Kind == llm.Reset {
		t.emit(core.AgentEvent{Kind: core.AgentWarning, Text: ev.Text})
	}
}

// account counts what a step used.
func (t *turn) account(ctx context.Context, model string, u llm.Usage) error {
	cost := price(t.cfg.Prices, model, u)
	t.result.Usage = t.result.Usage.Add(u)
	t.result.Cost += cost
	t.emit(core.AgentEvent{Kind: core.AgentUsage, Model: model, Usage: &u})
	if u == (llm.Usage{}) {
		return nil
	}
	return t.append(ctx, eventUsage, usageRecord{Turn: t.id, Model: model, Usage: u, Cost: cost})
}

// unique gives calls ids that the session has not seen: some providers count
// from zero in each answer, some leave them out.
func (t *turn) unique(m llm.Message) llm.Message {
	here := map[string]bool{}
	for i, p := range m.Parts {
		if p.Kind != llm.ToolCallPart || p.Call == nil {
			continue
		}
		call := *p.Call
		for n := 1; call.ID == "" || here[call.ID] || t.history.ids[call.ID]; n++ {
			call.ID = fmt.Sprintf("%s_%d_%d", strings.TrimPrefix(t.id, "turn_"), t.result.Steps, n)
		}
		here[call.ID] = true
		m.Parts[i].Call = &call
	}
	return m
}

// keepText saves the text of an answer that was cut off; its calls are not
// complete and go.
func (t *turn) keepText(ctx context.Context, a llm.Answer) error {
	m := llm.Message{Role: llm.Assistant}
	for _, p := range a.Message.Parts {
		if p.Kind == llm.TextPart && p.Text != "" {
			m.Parts = append(m.Parts, p)
		}
	}
	if len(m.Parts) == 0 {
		return nil
	}
	t.result.Text = m.Text()
	return t.append(ctx, core.EventMessage, m)
}

// finish ends the turn with the model's own words, and flags an answer that
// is none.
func (t *turn) finish(a llm.Answer) core.StopReason {
	t.result.Text = a.Message.Text()
	switch {
	case a.Reason == llm.Length:
		t.result.Detail = "the answer was cut at the model's output limit"
	case a.Reason == llm.ContentFilter:
		t.result.Detail = "the provider's content filter ended the answer"
	case strings.TrimSpace(t.result.Text) == "":
		t.result.Detail = "the model gave an empty answer"
	}
	if t.result.Detail != "" {
		t.emit(core.AgentEvent{Kind: core.AgentWarning, Text: t.result.Detail})
	}
	return core.StopDone
}
