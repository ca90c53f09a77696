package llm_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/agentd-host/agentd/core/llm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func stream(err error, events ...llm.Event) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		for _, ev := range events {
			if !yield(ev, nil) {
				return
			}
		}
		if err != nil {
			yield(llm.Event{}, err)
		}
	}
}

func TestCollectFoldsInterleavedCallsInTheirOrder(t *testing.T) {
	got, err := llm.Collect(stream(nil,
		llm.Event{Kind: llm.ReasoningDelta, Text: "hm", Opaque: []byte(`"sig"`)},
		llm.Event{Kind: llm.TextDelta, Text: "Hel"},
		llm.Event{Kind: llm.TextDelta, Text: "lo"},
		llm.Event{Kind: llm.ToolCallStart, Index: 0, ID: "a", Name: "read_file"},
		llm.Event{Kind: llm.ToolCallStart, Index: 1, ID: "b", Name: "list_files"},
		llm.Event{Kind: llm.ToolCallDelta, Index: 1, Text: "{}"},
		llm.Event{Kind: llm.ToolCallDelta, Index: 0, Text: `{"path":`},
		llm.Event{Kind: llm.ToolCallDelta, Index: 0, Text: `"x"}`},
		llm.Event{Kind: llm.ToolCallEnd, Index: 0},
		llm.Event{Kind: llm.UsageReport, Usage: &llm.Usage{Input: 3, Output: 4}},
		llm.Event{Kind: llm.Finish, Reason: llm.ToolCalls},
	))
	if err != nil {
		t.Fatal(err)
	}
	want := llm.Answer{
		Message: llm.Message{Role: llm.Assistant, Parts: []llm.Part{
			{Kind: llm.ReasoningPart, Text: "hm", Opaque: []byte(`"sig"`)},
			llm.Text("Hello"),
			{Kind: llm.ToolCallPart, Call: &llm.ToolCall{ID: "a", Name: "read_file", Args: `{"path":"x"}`}},
			{Kind: llm.ToolCallPart, Call: &llm.ToolCall{ID: "b", Name: "list_files", Args: "{}"}},
		}},
		Usage: llm.Usage{Input: 3, Output: 4}, Reason: llm.ToolCalls,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestCollectForgetsTheFirstTryOnReset(t *testing.T) {
	got, err := llm.Collect(stream(nil,
		llm.Event{Kind: llm.TextDelta, Text: "half"},
		llm.Event{Kind: llm.Reset, Text: "connection lost"},
		llm.Event{Kind: llm.TextDelta, Text: "whole"},
		llm.Event{Kind: llm.Finish, Reason: llm.Stop},
	))
	if err != nil || got.Message.Text() != "whole" {
		t.Errorf("got %q, %v", got.Message.Text(), err)
	}
}

func TestCollectKeepsWhatArrivedBeforeAnError(t *testing.T) {
	cut := &llm.Error{Kind: llm.ErrTransient, Provider: "p", Message: "cut", Cause: io.ErrUnexpectedEOF}
	got, err := llm.Collect(stream(cut, llm.Event{Kind: llm.TextDelta, Text: "half"}))
	if !errors.Is(err, io.ErrUnexpectedEOF) || got.Message.Text() != "half" {
		t.Errorf("got %q, %v", got.Message.Text(), err)
	}
}

func TestErrorSaysWhatToDo(t *testing.T) {
	err := &llm.Error{Kind: llm.ErrRateLimited, Provider: "openai", Message: "slow down",
		RetryAfter: 2 * time.Second, RequestID: "r1"}
	if want := "openai: rate_limited: slow down (retry after 2s) (request r1)"; err.Error() != want {
		t.Errorf("got %q, want %q", err.Error(), want)
	}
	if !err.Retryable() || (&llm.Error{Kind: llm.ErrAuth}).Retryable() {
		t.Error("only rate limits, overload and transient errors are worth another try")
	}
}

func TestEstimateTokens(t *testing.T) {
	for in, want := range map[string]int{
		"": 0, "abcd": 1, "abcde": 2, "发邮件": 2, "ひらがな": 3, "한국어": 2, "ab发": 2,
	} {
		if got := llm.EstimateTokens(in); got != want {
			t.Errorf("EstimateTokens(%q) = %d, want %d", in, got, want)
		}
	}
}

type echo struct{}

func (echo) Describe() llm.Info { return llm.Info{Provider: "example", Model: "echo"} }

func (echo) Stream(_ context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	last := req.Messages[len(req.Messages)-1]
	return stream(nil,
		llm.Event{Kind: llm.TextDelta, Text: last.Text()},
		llm.Event{Kind: llm.Finish, Reason: llm.Stop})
}

func ExampleCollect() {
	var model llm.Model = echo{}
	answer, err := llm.Collect(model.Stream(context.Background(), &llm.Request{
		Messages: []llm.Message{llm.UserText("hello")},
	}))
	fmt.Println(answer.Message.Text(), answer.Reason, err)
	// Output: hello stop <nil>
}
