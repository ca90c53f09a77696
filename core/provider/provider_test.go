package provider_test

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"testing"

	"github.com/agentd-host/agentd/core/coretest"
	"github.com/agentd-host/agentd/core/llm"
	"github.com/agentd-host/agentd/core/llm/wire"
	"github.com/agentd-host/agentd/core/provider"
)

func TestMain(m *testing.M) { coretest.Main(m) }

func TestAnAddressIsHTTP(t *testing.T) {
	for _, bad := range []string{"localhost:1", "ftp://x/v1", "://", "http://"} {
		if err := provider.CheckAddress(bad, "http://x"); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
	for _, good := range []string{"", "http://localhost:1/v1", "https://x"} {
		if err := provider.CheckAddress(good, "http://x"); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
}

// echo is an API whose chunks are texts.
type echo struct {
	broken error // of the body
	texts  []string
	failed error // in place of the end
	cut    bool
	closed int
}

func (e *echo) Body(*llm.Request, *wire.Names) ([]byte, []string, error) {
	return nil, []string{"a warning"}, e.broken
}

func (e *echo) Open(context.Context, *llm.Request, []byte, *wire.Names) (provider.Chunks[string], provider.Reader[string]) {
	return &tape{api: e, at: -1}, e
}

func (e *echo) Explain(err error, _ *llm.Request, f *llm.Error) bool {
	if err.Error() != "known" {
		return false
	}
	f.Kind, f.Message = llm.ErrAuth, "the API says no"
	return true
}

func (e *echo) Read(text string) []llm.Event { return []llm.Event{{Kind: llm.TextDelta, Text: text}} }

func (e *echo) End() ([]llm.Event, bool) {
	return []llm.Event{{Kind: llm.Finish, Reason: llm.Stop}}, !e.cut
}

// tape plays the texts.
type tape struct {
	api *echo
	at  int
}

func (p *tape) Next() bool      { p.at++; return p.at < len(p.api.texts) }
func (p *tape) Current() string { return p.api.texts[p.at] }
func (p *tape) Err() error      { return p.api.failed }
func (p *tape) Close() error    { p.api.closed++; return nil }

func TestAStreamEndsInItsReasonOrInOneError(t *testing.T) {
	for _, tt := range []struct {
		name, want string // text of the error, "" for none
		api        echo
	}{
		{"whole", "", echo{}},
		{"cut off", "echo: transient: the stream ended before the answer did", echo{cut: true}},
		{"an error of the API", "echo: auth: the API says no", echo{failed: errors.New("known")}},
		{"an error on the way, without the address", "echo: transient: no route",
			echo{failed: &url.Error{Op: "Post", URL: "http://user:secret@x", Err: errors.New("no route")}}},
		{"a body that cannot be written", "echo: transient: no body", echo{broken: errors.New("no body")}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			api := &tt.api
			api.texts = []string{"a", "b"}
			a, err := llm.Collect(provider.Stream(t.Context(), "echo", api, &llm.Request{}))
			if got := text(err); got != tt.want {
				t.Errorf("got the error %q, want %q", got, tt.want)
			}
			sent := api.broken == nil
			if opened := api.closed == 1; opened != sent {
				t.Errorf("closed %d times", api.closed)
			}
			if sent && (a.Message.Text() != "ab" || !slices.Equal(a.Warnings, []string{"a warning"})) {
				t.Errorf("got %+v", a)
			}
		})
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestACancelledStreamSaysSo(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := llm.Collect(provider.Stream(ctx, "echo", &echo{failed: errors.New("known")}, &llm.Request{}))
	if text(err) != "echo: cancelled: cancelled" || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestLeavingTheLoopClosesTheAnswer(t *testing.T) {
	for _, leave := range []llm.EventKind{llm.TextDelta, llm.Finish} {
		api := &echo{texts: []string{"a", "b"}}
		for ev := range provider.Stream(t.Context(), "echo", api, &llm.Request{}) {
			if ev.Kind == leave {
				break
			}
		}
		if api.closed != 1 {
			t.Errorf("left at %s: closed %d times", leave, api.closed)
		}
	}
}
