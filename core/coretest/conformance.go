package coretest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentd-host/agentd/core/llm"
)

// Answer is what a fake provider is to answer, in no provider's words. The
// adapter's test says it in its provider's.
type Answer struct {
	Text  []string // one piece for each event
	Calls []llm.ToolCall
	Usage llm.Usage
	// Status is that of an HTTP error with Message, 0 for success.
	Status     int
	Message    string
	RetryAfter time.Duration
	// Hang: after the text nothing comes until the client goes.
	Hang bool
	// Cut: after the text the connection ends.
	Cut bool
	// Length: the answer ends at the output limit.
	Length bool
}

// Refuse writes the header of an answer with an error status. The body, in the
// provider's words, is the caller's.
func (a Answer) Refuse(w http.ResponseWriter) {
	if a.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(a.RetryAfter.Seconds())))
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(a.Status)
}

// TestModel checks that an adapter keeps the contract of llm.Model. start runs
// a fake provider that gives this answer to every request, until the test
// ends, and returns a model that talks to it, without retries.
func TestModel(t *testing.T, start func(t *testing.T, a Answer) llm.Model) {
	t.Helper()
	for _, tt := range conformance {
		t.Run(tt.name, func(t *testing.T) {
			m := start(t, tt.answer)
			info := m.Describe()
			if info.Provider == "" || info.Model == "" || !info.Capabilities.Tools {
				t.Errorf("the model describes itself as %+v", info)
			}
			tt.check(t, m)
		})
	}
}

// conformanceRequest is what all cases send.
func conformanceRequest() *llm.Request {
	return &llm.Request{
		System:   []llm.Part{llm.NamedText("system", "Be brief.")},
		Messages: []llm.Message{llm.UserText("Hello")},
		Tools: []llm.Tool{
			{Name: "look_up", Description: "Looks up.", Parameters: json.RawMessage(`{"type":"object","properties":{"q":{"type":"string"}}}`)},
			{Name: "now", Description: "The time."},
		},
	}
}

type conformanceCase struct {
	name   string
	answer Answer
	check  func(*testing.T, llm.Model)
}

var conformance = []conformanceCase{
	{"text arrives in pieces and ends with its reason", Answer{Text: []string{"Hel", "lo ", "there"}}, func(t *testing.T, m llm.Model) {
		var pieces []string
		var last llm.Event
		for ev, err := range m.Stream(t.Context(), conformanceRequest()) {
			if err != nil {
				t.Fatal(err)
			}
			if ev.Kind == llm.TextDelta {
				pieces = append(pieces, ev.Text)
			}
			last = ev
		}
		if diff := cmp.Diff([]string{"Hel", "lo ", "there"}, pieces); diff != "" {
			t.Error(diff)
		}
		if last.Kind != llm.Finish || last.Reason != llm.Stop {
			t.Errorf("the last event is %+v", last)
		}
	}},
	{"one call", Answer{Calls: []llm.ToolCall{{ID: "c1", Name: "look_up", Args: `{"q":"x y"}`}}}, wantCalls(`c1 look_up {"q":"x y"}`)},
	{"text and two parallel calls", Answer{Text: []string{"Both."}, Calls: []llm.ToolCall{
		{ID: "c1", Name: "look_up", Args: `{"q":"a"}`}, {ID: "c2", Name: "look_up", Args: `{"q":"b"}`}}},
		wantCalls(`c1 look_up {"q":"a"}`, `c2 look_up {"q":"b"}`)},
	{"a call without arguments", Answer{Calls: []llm.ToolCall{{ID: "c1", Name: "now"}}}, func(t *testing.T, m llm.Model) {
		calls := collect(t, m).Message.Calls()
		if len(calls) != 1 || calls[0].Args != "" && calls[0].Args != "{}" {
			t.Errorf("got %+v", calls)
		}
	}},
	{"long output", Answer{Text: repeat("0123456789", 5000)}, func(t *testing.T, m llm.Model) {
		if got := collect(t, m).Message.Text(); got != strings.Repeat("0123456789", 5000) {
			t.Errorf("got %d bytes", len(got))
		}
	}},
	{"unicode", Answer{Text: []string{"日本", "🙂\u2028", "é\n\"\\"}, Calls: []llm.ToolCall{{ID: "c1", Name: "look_up", Args: `{"q":"日本 🙂"}`}}}, func(t *testing.T, m llm.Model) {
		a := collect(t, m)
		if got := a.Message.Text(); got != "日本🙂\u2028é\n\"\\" {
			t.Errorf("got %q", got)
		}
		if calls := a.Message.Calls(); len(calls) != 1 || calls[0].Args != `{"q":"日本 🙂"}` {
			t.Errorf("got %+v", calls)
		}
	}},
	{"usage", Answer{Text: []string{"x"}, Usage: llm.Usage{Input: 100, Output: 7, CacheRead: 60}}, func(t *testing.T, m llm.Model) {
		if u := collect(t, m).Usage; u.Input != 100 || u.Output != 7 || u.CacheRead != 60 {
			t.Errorf("got %+v", u)
		}
	}},
	{"the output limit", Answer{Text: []string{"half"}, Length: true}, func(t *testing.T, m llm.Model) {
		if a := collect(t, m); a.Reason != llm.Length {
			t.Errorf("got %+v", a)
		}
	}},
	{"cancel", Answer{Text: []string{"first"}, Hang: true}, func(t *testing.T, m llm.Model) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var failure error
		for ev, err := range m.Stream(ctx, conformanceRequest()) {
			if ev.Kind == llm.TextDelta {
				cancel()
			}
			failure = err
		}
		wantFault(t, failure, llm.ErrCancelled)
		if !errors.Is(failure, context.Canceled) {
			t.Errorf("%v does not say that the context was cancelled", failure)
		}
	}},
	{"leaving the loop", Answer{Text: []string{"first"}, Hang: true}, func(t *testing.T, m llm.Model) {
		for ev := range m.Stream(t.Context(), conformanceRequest()) {
			if ev.Kind == llm.TextDelta {
				break
			}
		}
	}},
	{"a stream that is cut", Answer{Text: []string{"half"}, Cut: true}, wantError(llm.ErrTransient)},
	{"wrong credentials", Answer{Status: 401, Message: "invalid key"}, wantError(llm.ErrAuth)},
	{"a bad request", Answer{Status: 400, Message: "no such parameter"}, wantError(llm.ErrBadRequest)},
	{"overloaded", Answer{Status: 503, Message: "overloaded"}, wantError(llm.ErrOverloaded)},
	{"a failure of the server", Answer{Status: 500, Message: "oops"}, wantError(llm.ErrTransient)},
	{"too large", Answer{Status: 413, Message: "request too large"}, wantError(llm.ErrTooLarge)},
	{"rate limited", Answer{Status: 429, Message: "slow down", RetryAfter: 7 * time.Second}, func(t *testing.T, m llm.Model) {
		_, err := llm.Collect(m.Stream(t.Context(), conformanceRequest()))
		if e := wantFault(t, err, llm.ErrRateLimited); e != nil && e.RetryAfter != 7*time.Second {
			t.Errorf("retry after %s", e.RetryAfter)
		}
	}},
}

func repeat(s string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = s
	}
	return out
}

func collect(t *testing.T, m llm.Model) llm.Answer {
	t.Helper()
	a, err := llm.Collect(m.Stream(t.Context(), conformanceRequest()))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func wantCalls(want ...string) func(*testing.T, llm.Model) {
	return func(t *testing.T, m llm.Model) {
		a := collect(t, m)
		var got []string
		for _, c := range a.Message.Calls() {
			got = append(got, fmt.Sprintf("%s %s %s", c.ID, c.Name, c.Args))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if a.Reason != llm.ToolCalls {
			t.Errorf("the answer ends with %q", a.Reason)
		}
	}
}

func wantError(kind llm.ErrorKind) func(*testing.T, llm.Model) {
	return func(t *testing.T, m llm.Model) {
		_, err := llm.Collect(m.Stream(t.Context(), conformanceRequest()))
		wantFault(t, err, kind)
	}
}

func wantFault(t *testing.T, err error, kind llm.ErrorKind) *llm.Error {
	t.Helper()
	var e *llm.Error
	if !errors.As(err, &e) {
		t.Errorf("want an *llm.Error, got %T: %v", err, err)
		return nil
	}
	if e.Kind != kind || e.Provider == "" || e.Message == "" {
		t.Errorf("want the kind %s, got %+v", kind, e)
	}
	return e
}
