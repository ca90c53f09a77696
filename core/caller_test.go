package core

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentd-host/agentd/core/llm"
)

// recorder is a caller that answers forms with a text and notes what it is
// told.
type recorder struct {
	journal
	reply Reply
	takes time.Duration
}

func (r *recorder) Can(q Inquiry) bool { _, ok := q.(*Elicitation); return ok }

func (r *recorder) Ask(_ context.Context, qs ...Inquiry) error {
	time.Sleep(r.takes)
	for i, q := range qs {
		e, ok := q.(*Elicitation)
		if !ok {
			return ErrNobodyToAsk
		}
		r.add("%s: %s", InquiryName(q, i), e.Text)
		e.Reply = r.reply
	}
	return nil
}

func (r *recorder) Tell(n Notice) {
	switch n := n.(type) {
	case Progress:
		r.add("progress %v", n)
	case LogMessage:
		r.add("log %v %v", n.Level, n.Data)
	}
}

// inTool calls a tool that does f.
func inTool(ctx context.Context, t *testing.T, h *Host, traits Traits, f func(context.Context) error) Result {
	t.Helper()
	s, err := h.Root().Scope("tool")
	must(t, err)
	traits.Effect = Read
	must(t, s.Tools().Define(Tool{Name: "tool", Traits: traits,
		Run: func(ctx context.Context, _ *Invocation) (Result, error) { return Result{}, f(ctx) }}))
	r := h.Root().Tools().Execute(ctx, Call{Name: "tool", Viewer: Viewer{Session: "s"}})
	must(t, s.Dispose(t.Context()))
	return r
}

const ageForm = `{"type":"object","properties":{"age":{"type":"integer"},"unit":{"type":"string","default":"years"}},"required":["age"]}`

func TestACallerIsAskedAndToldFromWithinItsTool(t *testing.T) {
	h := newHost(t)
	who := &recorder{reply: Reply{Data: json.RawMessage(`{"age":7}`)}}
	var asked Elicitation
	r := inTool(WithCaller(t.Context(), who), t, h, Traits{}, func(ctx context.Context) error {
		CurrentInvocation(ctx).Progress(Progress{Done: 1, Total: 2})
		CallerOf(ctx).Tell(LogMessage{Level: slog.LevelWarn, Data: "hm"})
		asked = Elicitation{Text: "How old?", Schema: json.RawMessage(ageForm)}
		return CallerOf(ctx).Ask(ctx, &asked, &Elicitation{Name: "again", Text: "Sure?"})
	})
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	who.want(t, "progress 1 of 2", "log WARN hm", "question-1: How old?", "again: Sure?")
	if got, want := string(asked.Reply.Data), `{"age":7,"unit":"years"}`; got != want {
		t.Errorf("the form holds %s, want %s", got, want)
	}
}

func TestAnswersFitTheForm(t *testing.T) {
	h := newHost(t)
	for name, tc := range map[string]struct {
		schema, data string
		want         string
	}{
		"wrong type":      {ageForm, `{"age":"old"}`, "age"},
		"missing":         {ageForm, `{}`, "age"},
		"no object":       {ageForm, `7`, "no object"},
		"a broken schema": {`{"type":7}`, `{}`, "form"},
	} {
		t.Run(name, func(t *testing.T) {
			who := &recorder{reply: Reply{Data: json.RawMessage(tc.data)}}
			r := inTool(WithCaller(t.Context(), who), t, h, Traits{}, func(ctx context.Context) error {
				return CallerOf(ctx).Ask(ctx, &Elicitation{Schema: json.RawMessage(tc.schema)})
			})
			if r.Err == nil {
				t.Fatal("the answer was taken")
			}
			contains(t, r.Err.Message, tc.want)
		})
	}
	who := &recorder{reply: Reply{Declined: true}}
	r := inTool(WithCaller(t.Context(), who), t, h, Traits{}, func(ctx context.Context) error {
		return CallerOf(ctx).Ask(ctx, &Elicitation{Schema: json.RawMessage(ageForm)})
	})
	if r.Err != nil {
		t.Errorf("a no is an error: %v", r.Err)
	}
}

func TestAskingDoesNotCountTowardsTheTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		who := &recorder{takes: time.Hour}
		r := inTool(WithCaller(t.Context(), who), t, h, Traits{Timeout: time.Second}, func(ctx context.Context) error {
			return CallerOf(ctx).Ask(ctx, &Elicitation{Text: "?"})
		})
		if r.Err != nil {
			t.Error(r.Err)
		}
	})
}

func TestWithoutAnybodyCallersSaySo(t *testing.T) {
	h := newHost(t)
	all := []Inquiry{&Elicitation{}, &Sampling{}, &Roots{}}
	for _, q := range all {
		if CallerOf(t.Context()).Can(q) {
			t.Errorf("outside of a host %T can be answered", q)
		}
		wantErr(t, CallerOf(t.Context()).Ask(t.Context(), q), ErrNobodyToAsk)
		r := inTool(t.Context(), t, h, Traits{}, func(ctx context.Context) error {
			if CallerOf(ctx).Can(q) {
				t.Errorf("without plugins %T can be answered", q)
			}
			CallerOf(ctx).Tell(LogMessage{Data: 7})
			return CallerOf(ctx).Ask(ctx, q)
		})
		if r.Err == nil || !errors.Is(r.Err, ErrNobodyToAsk) {
			t.Errorf("%T: %v", q, r.Err)
		}
	}
}

// person answers free questions.
type person struct {
	Broker
	asked chan Question
}

func (p *person) Ask(_ context.Context, q Question) (Reply, error) {
	p.asked <- q
	return Reply{Data: json.RawMessage(`{"age":7}`)}, nil
}

// oneModel is a registry of one model, which says how many messages it got.
type oneModel struct{ ModelRegistry }

func (m oneModel) Resolve(string) (llm.Model, string, error) { return m, "one/model", nil }
func (oneModel) Describe() llm.Info                          { return llm.Info{} }
func (oneModel) Stream(_ context.Context, r *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		yield(llm.Event{Kind: llm.TextDelta, Text: "to " + r.Viewer.Session + ": " + r.Messages[0].Text()}, nil)
	}
}

type folder string

func (f folder) Path() string { return string(f) }

// A call that no client made asks the person of its session and the agent's
// own model.
func TestTheHostIsACallerToo(t *testing.T) {
	h := newHost(t)
	p := &person{asked: make(chan Question, 1)}
	must(t, Approvals.Provide(h.Root(), p), Models.Provide(h.Root(), oneModel{}), Workspace.Provide(h.Root(), folder("/work")))
	form := &Elicitation{Text: "How old?", Schema: json.RawMessage(ageForm)}
	model := &Sampling{Request: llm.Request{Messages: []llm.Message{llm.UserText("hello")}}}
	roots := &Roots{}
	r := inTool(t.Context(), t, h, Traits{}, func(ctx context.Context) error { return CallerOf(ctx).Ask(ctx, form, model, roots) })
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	if q := <-p.asked; q.Session != "s" || q.From != "tool" || q.Text != "How old?" {
		t.Errorf("the person was asked %+v", q)
	}
	if string(form.Reply.Data) != `{"age":7,"unit":"years"}` {
		t.Errorf("form = %s", form.Reply.Data)
	}
	if model.Model != "one/model" || model.Answer.Text() != "to s: hello" {
		t.Errorf("model = %+v", model)
	}
	if len(roots.Folders) != 1 || roots.Folders[0] != (Folder{"file:///work", "work"}) {
		t.Errorf("roots = %v", roots.Folders)
	}
}
