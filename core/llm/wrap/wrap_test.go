package wrap_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/agentd-host/agentd/core/llm"
	"github.com/agentd-host/agentd/core/llm/wrap"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// script plays one list of events for each request; an entry that is an error
// ends its stream.
type script struct{ streams [][]any }

func (s *script) Describe() llm.Info { return llm.Info{Provider: "p", Model: "m"} }

func (s *script) Stream(context.Context, *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		now := s.streams[0]
		s.streams = s.streams[1:]
		for _, x := range now {
			if err, ok := x.(error); ok {
				yield(llm.Event{}, err)
				return
			}
			if !yield(x.(llm.Event), nil) {
				return
			}
		}
	}
}

var finish = llm.Event{Kind: llm.Finish, Reason: llm.Stop}

func text(s string) llm.Event { return llm.Event{Kind: llm.TextDelta, Text: s} }

func fault(kind llm.ErrorKind, after time.Duration) error {
	return &llm.Error{Kind: kind, Provider: "p", Message: "no", RetryAfter: after, ToolIndex: -1}
}

// play shows a stream as words, and how long it took.
func play(ctx context.Context, m llm.Model) (words string, took time.Duration) {
	begin := time.Now()
	var list []string
	for ev, err := range m.Stream(ctx, &llm.Request{}) {
		switch {
		case err != nil:
			list = append(list, "error:"+err.Error())
		case ev.Kind == llm.TextDelta:
			list = append(list, ev.Text)
		default:
			list = append(list, string(ev.Kind))
		}
	}
	return strings.Join(list, " "), time.Since(begin)
}

func TestRetry(t *testing.T) {
	for _, tt := range []struct {
		name     string
		streams  [][]any
		want     string
		min, max time.Duration
	}{
		{"no error", [][]any{{text("a"), finish}}, "a finish", 0, 0},
		{"before output it is announced", [][]any{{fault(llm.ErrOverloaded, 0)}, {text("a"), finish}}, "warning a finish", 500 * time.Millisecond, time.Second},
		{"after output it resets", [][]any{{text("a"), fault(llm.ErrTransient, 0)}, {text("b"), finish}}, "a reset b finish", 500 * time.Millisecond, time.Second},
		{"the provider's wish is heard", [][]any{{fault(llm.ErrRateLimited, 3*time.Second)}, {text("a"), finish}}, "warning a finish", 3 * time.Second, 3 * time.Second},
		{"a long wish is shown, not slept through", [][]any{{fault(llm.ErrRateLimited, time.Hour)}}, "error:p: rate_limited: no (retry after 1h0m0s)", 0, 0},
		{"what will not work later is not tried", [][]any{{fault(llm.ErrAuth, 0)}}, "error:p: auth: no", 0, 0},
		{"it ends", [][]any{{fault(llm.ErrTransient, 0)}, {fault(llm.ErrTransient, 0)}, {fault(llm.ErrTransient, 0)}, {fault(llm.ErrTransient, 0)}},
			"warning warning warning error:p: transient: no", 3500 * time.Millisecond, 6 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got, took := play(t.Context(), wrap.Retry(&script{tt.streams}, nil))
				if got != tt.want || took < tt.min || took > tt.max {
					t.Errorf("got %q in %s, want %q in %s to %s", got, took, tt.want, tt.min, tt.max)
				}
			})
		})
	}
}

func TestRetryEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		got, took := play(ctx, wrap.Retry(&script{[][]any{{fault(llm.ErrRateLimited, 10*time.Second)}}}, nil))
		if took != time.Second || !strings.Contains(got, "warning error:p: cancelled") {
			t.Errorf("got %q in %s", got, took)
		}
	})
}

func TestRateLimitSpreadsRequestsEvenly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := wrap.RateLimit(&script{[][]any{{finish}, {finish}, {finish}}}, wrap.NewLimit(20))
		var got []string
		for range 3 {
			words, took := play(t.Context(), m)
			got = append(got, fmt.Sprintf("%s in %s", words, took))
		}
		want := []string{"finish in 0s", "warning finish in 3s", "warning finish in 3s"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestRecordAndReplay(t *testing.T) {
	var tape bytes.Buffer
	m := wrap.Record(&script{[][]any{{text("a"), finish}, {text("b"), fault(llm.ErrAuth, 0)}}}, &tape)
	first, _ := play(t.Context(), m)
	second, _ := play(t.Context(), m)
	again, err := wrap.Replay(bytes.NewReader(tape.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if again.Describe() != m.Describe() {
		t.Errorf("got %+v", again.Describe())
	}
	for _, want := range []string{first, second, "error:p: bad_request: replay, request 3: the recording is over"} {
		if got, _ := play(t.Context(), again); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	other, err := wrap.Replay(&tape)
	if err != nil {
		t.Fatal(err)
	}
	_, err = llm.Collect(other.Stream(t.Context(), &llm.Request{Messages: []llm.Message{llm.UserText("x")}}))
	if err == nil || !strings.Contains(err.Error(), "another request was recorded") {
		t.Errorf("got %v", err)
	}
	for _, bad := range []string{"", "{}\n", "{\n"} {
		if _, err := wrap.Replay(strings.NewReader(bad)); err == nil {
			t.Errorf("%q was taken for a recording", bad)
		}
	}
}

func TestE26_RedactKeepsSecretsOutOfErrorsAndWarnings(t *testing.T) {
	const canary = "sk-canary-0123456789"
	inner := &llm.Error{Kind: llm.ErrAuth, Provider: "p", Message: "wrong key " + canary, Cause: errors.New("dump: Bearer " + canary)}
	m := wrap.Redact(&script{[][]any{{llm.Event{Kind: llm.Warning, Text: "with " + canary}, inner}, {fmt.Errorf("plain %s", canary)}}}, canary, "short")
	for range 2 {
		for ev, err := range m.Stream(t.Context(), &llm.Request{}) {
			if dump := fmt.Sprintf("%+v %#v %v", ev, err, errors.Unwrap(err)); strings.Contains(dump, canary) {
				t.Errorf("the secret is in %s", dump)
			}
		}
	}
}

func TestModelsShareALimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit := wrap.NewLimit(20)
		for i, want := range []time.Duration{0, 3 * time.Second, 3 * time.Second} {
			m := wrap.RateLimit(&script{[][]any{{finish}}}, limit)
			if _, took := play(t.Context(), m); took != want {
				t.Errorf("request %d took %s, want %s", i, took, want)
			}
		}
	})
}

func TestARequestThatGivesUpTakesNoPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit := wrap.NewLimit(1)
		m := func() llm.Model { return wrap.RateLimit(&script{[][]any{{finish}}}, limit) }
		play(t.Context(), m())
		for range 3 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if words, _ := play(ctx, m()); !strings.Contains(words, "cancelled") {
				t.Errorf("got %q", words)
			}
			cancel()
		}
		if _, took := play(t.Context(), m()); took != 57*time.Second {
			t.Errorf("the next one waited %s", took)
		}
	})
}

func TestE26_ASecretThatBeginsAnotherLeavesNoRest(t *testing.T) {
	m := wrap.Redact(&script{[][]any{{&llm.Error{Kind: llm.ErrAuth, Message: "wrong: sk-canary-0123456789", ToolIndex: -1}}}}, "sk-canary", "sk-canary-0123456789")
	if words, _ := play(t.Context(), m); strings.Contains(words, "0123456789") {
		t.Errorf("got %q", words)
	}
}
