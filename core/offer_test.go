package core

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentd-host/agentd/core/llm"
	"github.com/google/go-cmp/cmp"
)

// saying is a prompt of one text.
func saying(name, text string) Prompt {
	return Prompt{Name: name, Get: func(context.Context, map[string]string) ([]llm.Message, error) {
		return []llm.Message{llm.UserText(text)}, nil
	}}
}

// note is a resource of one text.
func note(uri, text string) Resource {
	return Resource{URI: uri, Name: "note", MIME: "text/plain",
		Read: func(context.Context, string, map[string]string) ([]llm.Part, error) {
			return []llm.Part{llm.Text(text)}, nil
		}}
}

func TestOffersGoWithTheirFiberAndAreToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		var prompts, resources atomic.Int32
		must(t, PromptsChanged.On(h.Root(), func(context.Context, struct{}) error { prompts.Add(1); return nil }),
			ResourcesChanged.On(h.Root(), func(context.Context, struct{}) error { resources.Add(1); return nil }))
		told := func(want int32) {
			t.Helper()
			time.Sleep(time.Second)
			if p, r := prompts.Load(), resources.Load(); p != want || r != want {
				t.Errorf("told %d times of prompts and %d times of resources, want %d", p, r, want)
			}
		}
		f := load(t, h.Root(), plain("p", func(c *Context) error {
			return errors.Join(
				c.Prompts().Define(saying("b", "B")), c.Prompts().Define(saying("a", "A")),
				c.Resources().Define(note("note://y", "Y")), c.Resources().Define(note("note://x", "X")))
		}))
		told(1)
		if got := h.Root().Prompts().List(); len(got) != 2 || got[0].Name != "a" || got[1].Name != "b" {
			t.Errorf("prompts = %v", got)
		}
		if got := h.Root().Resources().List(); len(got) != 2 || got[0].URI != "note://x" || got[1].URI != "note://y" {
			t.Errorf("resources = %v", got)
		}
		must(t, f.Dispose(t.Context()))
		told(2)
		if p, r := h.Root().Prompts().List(), h.Root().Resources().List(); len(p)+len(r) != 0 {
			t.Errorf("left: %v, %v", p, r)
		}
		_, err := h.Root().Prompts().Get(t.Context(), "a", nil)
		wantErr(t, err, ErrNoPrompt)
	})
}

func TestOfferNamesAreUniqueAndLegal(t *testing.T) {
	h := newHost(t)
	load(t, h.Root(), plain("first", func(c *Context) error {
		return errors.Join(c.Prompts().Define(saying("hello", "first")), c.Resources().Define(note("note://x", "first")))
	}))
	c := h.Root()
	var clash *OfferConflictError
	if err := c.Prompts().Define(saying("hello", "second")); !errors.As(err, &clash) || clash.First != "root/first" {
		t.Errorf("second prompt: %v", err)
	}
	if err := c.Resources().Define(note("note://x", "second")); !errors.As(err, &clash) || clash.First != "root/first" {
		t.Errorf("second resource: %v", err)
	}
	messages, err := c.Prompts().Get(t.Context(), "hello", nil)
	if err != nil || messages[0].Text() != "first" {
		t.Errorf("the first prompt says %v, %v", messages, err)
	}
	for _, tc := range []struct {
		what string
		err  error
		want string
	}{
		{"a server's prompt", c.Prompts().Define(saying("mcp__a__b", "")), "mcp__"},
		{"a space", c.Prompts().Define(saying("a b", "")), "characters"},
		{"no function", c.Prompts().Define(Prompt{Name: "x"}), "no function"},
		{"a server's resource", c.Resources().Define(note("agentd://a/b", "")), "agentd://"},
		{"no scheme", c.Resources().Define(note("x", "")), "scheme"},
		{"a bad variable", c.Resources().Define(note("note://{?x}", "")), "{name}"},
		{"no name", c.Resources().Define(Resource{URI: "note://n", Read: note("", "").Read}), "no name"},
		{"no reader", c.Resources().Define(Resource{URI: "note://n", Name: "n"}), "no function"},
	} {
		if tc.err == nil || !strings.Contains(tc.err.Error(), tc.want) {
			t.Errorf("%s: %v, want it to say %q", tc.what, tc.err, tc.want)
		}
	}
}

func TestPromptsWantTheirArguments(t *testing.T) {
	h := newHost(t)
	p := saying("p", "x")
	p.Arguments = []PromptArgument{{Name: "must", Required: true}, {Name: "may"}}
	must(t, h.Root().Prompts().Define(p))
	_, err := h.Root().Prompts().Get(t.Context(), "p", map[string]string{"may": "1"})
	wantErr(t, err, ErrPromptArguments)
	contains(t, err.Error(), `"p"`, "must")
	_, err = h.Root().Prompts().Get(t.Context(), "p", map[string]string{"must": ""})
	wantErr(t, err, nil)
}

func TestResourceTemplates(t *testing.T) {
	h := newHost(t)
	r := h.Root().Resources()
	seen := func(name string) func(context.Context, string, map[string]string) ([]llm.Part, error) {
		return func(_ context.Context, _ string, vars map[string]string) ([]llm.Part, error) {
			if vars["id"] == "none" {
				return nil, nil
			}
			return []llm.Part{llm.Text(name + " " + vars["id"] + vars["path"])}, nil
		}
	}
	must(t,
		r.Define(Resource{URI: "note://one", Name: "one", Read: seen("exact")}),
		r.Define(Resource{URI: "note://{id}", Name: "any", Read: seen("template")}),
		r.Define(Resource{URI: "note://{id}/data", Name: "data", Read: seen("data")}),
		r.Define(Resource{URI: "file:///{+path}", Name: "files", Read: seen("files")}))
	for uri, want := range map[string]string{
		"note://one":        "exact ",
		"note://two":        "template two",
		"note://a%2Fb":      "template a/b",
		"note://two/data":   "data two",
		"file:///a/b.txt":   "files a/b.txt",
		"note://two/other":  "",
		"note://none":       "",
		"note://{id}":       "template {id}",
		"xnote://two/data":  "",
		"note://two/dataxx": "",
	} {
		parts, err := r.Read(t.Context(), uri)
		if want == "" {
			wantErr(t, err, ErrNoResource)
			continue
		}
		if err != nil || parts[0].Text != want || parts[0].URI != uri {
			t.Errorf("%s: %v, %v, want %q", uri, parts, err, want)
		}
	}
}

func TestPartsOfAResourceAreCompleted(t *testing.T) {
	h := newHost(t)
	own := llm.Part{Kind: llm.ImagePart, URI: "note://pic", MIME: "image/png", Data: []byte{1}}
	res := note("note://x", "X")
	res.Read = func(context.Context, string, map[string]string) ([]llm.Part, error) {
		return []llm.Part{llm.Text("X"), own}, nil
	}
	must(t, h.Root().Resources().Define(res))
	got, err := h.Root().Resources().Read(t.Context(), "note://x")
	must(t, err)
	own.Kind = llm.ResourcePart
	want := []llm.Part{{Kind: llm.ResourcePart, URI: "note://x", MIME: "text/plain", Text: "X"}, own}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
}

func TestCompletionsAreThePluginsOwn(t *testing.T) {
	h := newHost(t)
	echo := func(_ context.Context, q Completion) ([]string, error) {
		return []string{q.Argument + "=" + q.Value + q.Others["o"]}, nil
	}
	p, r := saying("p", ""), note("note://{id}", "")
	p.Complete, r.Complete = echo, echo
	must(t, h.Root().Prompts().Define(p), h.Root().Resources().Define(r), h.Root().Prompts().Define(saying("mute", "")))
	q := Completion{Argument: "a", Value: "v", Others: map[string]string{"o": "!"}}
	for _, complete := range []func() ([]string, error){
		func() ([]string, error) { return h.Root().Prompts().Complete(t.Context(), "p", q) },
		func() ([]string, error) { return h.Root().Resources().Complete(t.Context(), "note://{id}", q) },
	} {
		if got, err := complete(); err != nil || len(got) != 1 || got[0] != "a=v!" {
			t.Errorf("got %q, %v", got, err)
		}
	}
	if got, err := h.Root().Prompts().Complete(t.Context(), "mute", q); err != nil || len(got) != 0 {
		t.Errorf("without a completer: %q, %v", got, err)
	}
	_, err := h.Root().Resources().Complete(t.Context(), "note://nobody", q)
	wantErr(t, err, ErrNoResource)
}

func TestRule38_APanicOfAPromptIsItsRequestsAlone(t *testing.T) {
	h := newHost(t)
	f := load(t, h.Root(), plain("p", func(c *Context) error {
		return errors.Join(c.Prompts().Define(saying("fine", "fine")), c.Prompts().Define(Prompt{Name: "bad",
			Get: func(context.Context, map[string]string) ([]llm.Message, error) { panic("oh") }}))
	}))
	_, err := h.Root().Prompts().Get(t.Context(), "bad", nil)
	var p *PanicError
	if !errors.As(err, &p) || p.Fiber != "root/p" || p.What != `prompt "bad"` {
		t.Errorf("error is %v", err)
	}
	_, err = h.Root().Prompts().Get(t.Context(), "fine", nil)
	wantErr(t, err, nil)
	wantState(t, f, Active)
}

// A function that does not look at its context holds up its own request a
// grace long, and the plugin's teardown, and nobody else.
func TestAHangingPromptHurtsItsRequestOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := New(&Options{Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), Grace: time.Second})
		let := make(chan struct{})
		load(t, h.Root(), plain("p", func(c *Context) error {
			return errors.Join(c.Prompts().Define(saying("fine", "fine")), c.Prompts().Define(Prompt{Name: "stuck",
				Get: func(context.Context, map[string]string) ([]llm.Message, error) { <-let; return nil, nil }}))
		}))
		gone := errors.New("the client left")
		ctx, cancel := context.WithCancelCause(t.Context())
		failed := make(chan error, 1)
		start := time.Now()
		go func() {
			_, err := h.Root().Prompts().Get(ctx, "stuck", nil)
			failed <- err
		}()
		synctest.Wait()
		_, err := h.Root().Prompts().Get(t.Context(), "fine", nil)
		wantErr(t, err, nil)
		cancel(gone)
		wantErr(t, <-failed, gone)
		if d := time.Since(start); d != time.Second {
			t.Errorf("answered after %v, want one grace", d)
		}
		close(let)
		must(t, h.Close(t.Context()))
	})
}

// The end of a plugin waits for what is being read, then tells it to end.
func TestRule26_AFiberThatGoesEndsItsReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := New(&Options{Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), Grace: time.Second})
		var j journal
		slow := note("note://slow", "")
		slow.Read = func(ctx context.Context, _ string, _ map[string]string) ([]llm.Part, error) {
			<-ctx.Done()
			j.add("read told to end")
			return nil, ctx.Err()
		}
		f := load(t, h.Root(), plain("p", func(c *Context) error {
			return errors.Join(c.OnUndo("x", j.on("undo")), c.Resources().Define(slow))
		}))
		failed := make(chan error, 1)
		go func() {
			_, err := h.Root().Resources().Read(t.Context(), "note://slow")
			failed <- err
		}()
		synctest.Wait()
		must(t, f.Dispose(t.Context()))
		j.want(t, "read told to end", "undo")
		contains(t, (<-failed).Error(), "note://slow", "root/p", "was unloaded")
		must(t, h.Close(t.Context()))
	})
}

func TestRule15_NothingIsOfferedAfterTheEnd(t *testing.T) {
	h := newHost(t)
	var kept *Context
	f := load(t, h.Root(), plain("p", func(c *Context) error { kept = c; return nil }))
	must(t, f.Dispose(t.Context()))
	wantErr(t, kept.Prompts().Define(saying("late", "")), ErrInactive)
	wantErr(t, kept.Resources().Define(note("note://late", "")), ErrInactive)
	if len(h.Root().Prompts().List())+len(h.Root().Resources().List()) != 0 {
		t.Error("it is offered all the same")
	}
}
