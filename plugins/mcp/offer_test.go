package mcp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/coretest"
	"github.com/agentd-host/agentd/core/llm"
	"github.com/agentd-host/agentd/plugins/mcp/internal/fixture"
	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// load loads a plugin that does f.
func (r *rig) load(name string, f func(c *core.Context) error) *core.Fiber {
	r.t.Helper()
	fiber, err := core.Load(r.Host.Root(), core.Plugin[struct{}]{Name: name, Apply: func(c *core.Context, _ struct{}) error { return f(c) }}, struct{}{})
	if err == nil {
		err = fiber.Ready(r.t.Context())
	}
	if err != nil {
		r.t.Fatal(err)
	}
	return fiber
}

// says makes a prompt's function of a text.
func says(text string) func(context.Context, map[string]string) ([]llm.Message, error) {
	return func(context.Context, map[string]string) ([]llm.Message, error) {
		return []llm.Message{llm.UserText(text)}, nil
	}
}

// reads makes a resource's function of a text.
func reads(text string) func(context.Context, string, map[string]string) ([]llm.Part, error) {
	return func(context.Context, string, map[string]string) ([]llm.Part, error) {
		return []llm.Part{llm.Text(text)}, nil
	}
}

func wantRPC(t *testing.T, err error, code int64, words string) {
	t.Helper()
	var rpc *jsonrpc.Error
	if !errors.As(err, &rpc) || rpc.Code != code || !strings.Contains(rpc.Message, words) {
		t.Errorf("error is %v, want code %d and %q", err, code, words)
	}
}

func TestRule15_PluginsOfferWhatServersDo(t *testing.T) {
	r := start(t, map[string]ServerConfig{"a": fakeServer()}, coretest.With(fixture.Plugin, struct{}{}))
	r.ready("a")
	url := r.serve(ServeOptions{})
	for _, era := range []string{eraLegacy, eraModern} {
		t.Run(era, func(t *testing.T) {
			cs := dial(t, url, era, nil)
			caps := cs.InitializeResult().Capabilities
			if caps.Prompts == nil || caps.Resources == nil || !caps.Resources.Subscribe || caps.Completions == nil {
				t.Errorf("capabilities = %+v", caps)
			}
			prompts, err := cs.ListPrompts(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, p := range prompts.Prompts {
				names = append(names, p.Name)
			}
			if diff := cmp.Diff([]string{
				"test_input_required_result_prompt", "test_prompt_with_arguments", "test_prompt_with_embedded_resource",
				"test_prompt_with_image", "test_simple_prompt", "mcp__a__greet",
			}, names); diff != "" {
				t.Errorf("prompts (-want +got):\n%s", diff)
			}
			if a := prompts.Prompts[1].Arguments; len(a) != 2 || a[0].Name != "arg1" || !a[0].Required || prompts.Prompts[1].Title == "" {
				t.Errorf("prompt = %+v", prompts.Prompts[1])
			}
			p, err := cs.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "test_prompt_with_embedded_resource", Arguments: map[string]string{"resourceUri": "test://x"}})
			if err != nil || len(p.Messages) != 2 {
				t.Fatalf("prompt = %+v, %v", p, err)
			}
			if e, ok := p.Messages[0].Content.(*mcp.EmbeddedResource); !ok || e.Resource.URI != "test://x" || p.Messages[0].Role != "user" {
				t.Errorf("first message = %+v", p.Messages[0])
			}
			if p, err := cs.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "mcp__a__greet"}); err != nil || len(p.Messages) != 1 {
				t.Errorf("the server's prompt = %+v, %v", p, err)
			}
			list, err := cs.ListResources(t.Context(), nil)
			if err != nil || len(list.Resources) != 4 || list.Resources[0].URI != "test://static-binary" || list.Resources[3].URI != "agentd://a/fake://readme" {
				t.Errorf("resources = %+v, %v", list, err)
			}
			templates, err := cs.ListResourceTemplates(t.Context(), nil)
			if err != nil || len(templates.ResourceTemplates) != 1 || templates.ResourceTemplates[0].URITemplate != "test://template/{id}/data" {
				t.Errorf("templates = %+v, %v", templates, err)
			}
			c, err := cs.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "test://template/7/data"})
			if err != nil || !strings.Contains(c.Contents[0].Text, `"7"`) || c.Contents[0].MIMEType != "application/json" || c.Contents[0].URI != "test://template/7/data" {
				t.Errorf("template's content = %+v, %v", c, err)
			}
			if c, err := cs.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "test://static-binary"}); err != nil || len(c.Contents[0].Blob) == 0 {
				t.Errorf("binary = %+v, %v", c, err)
			}
			for _, ref := range []*mcp.CompleteReference{
				{Type: "ref/prompt", Name: "test_prompt_with_arguments"}, {Type: "ref/resource", URI: "test://template/{id}/data"},
			} {
				got, err := cs.Complete(t.Context(), &mcp.CompleteParams{Ref: ref, Argument: mcp.CompleteParamsArgument{Name: "x", Value: "12"}})
				if err != nil || got.Completion.HasMore || len(got.Completion.Values) != map[string]int{"ref/resource": 2}[ref.Type] {
					t.Errorf("%s: completion = %+v, %v", ref.Type, got, err)
				}
			}

			_, err = cs.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "nope"})
			wantRPC(t, err, jsonrpc.CodeInvalidParams, "no such prompt")
			_, err = cs.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "test_prompt_with_arguments", Arguments: map[string]string{"arg1": "x"}})
			wantRPC(t, err, jsonrpc.CodeInvalidParams, "arg2")
			_, err = cs.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "test://nope"})
			wantRPC(t, err, mcp.CodeResourceNotFound, "not found")
			if era == eraLegacy { // the SDK's client of the other does not wait for an answer
				wantRPC(t, cs.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "test://nope"}), jsonrpc.CodeInvalidParams, "no such resource")
			}

			single := dial(t, url+"/servers/a", era, nil)
			if l, err := single.ListPrompts(t.Context(), nil); err != nil || len(l.Prompts) != 1 || l.Prompts[0].Name != "greet" {
				t.Errorf("the transparent mount lists %+v, %v", l, err)
			}
			if c, err := single.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "test://static-text"}); err != nil || c.Contents[0].Text != "read me" {
				t.Errorf("the transparent mount reads %+v, %v", c, err) // the server's own answer to any URI
			}
		})
	}
}

// A view without servers, even without the plugin that knows them, has what
// plugins offer.
func TestRule15_PluginsOfferWithoutAnyServer(t *testing.T) {
	fx := coretest.Start(t, fixture.Plugin, struct{}{})
	r := &rig{Fixture: fx, t: t}
	cs := dial(t, r.serve(ServeOptions{}), eraLegacy, nil)
	p, err := cs.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "test_simple_prompt"})
	if err != nil || len(p.Messages) != 1 {
		t.Errorf("prompt = %+v, %v", p, err)
	}
}

func TestRule17_OneNotificationForOffersThatComeAndGo(t *testing.T) {
	r := start(t, nil)
	url := r.serve(ServeOptions{})
	for _, era := range []string{eraLegacy, eraModern} {
		prompts, resources := make(chan struct{}, 100), make(chan struct{}, 100)
		cs := dial(t, url, era, &mcp.ClientOptions{
			PromptListChangedHandler:   func(context.Context, *mcp.PromptListChangedRequest) { prompts <- struct{}{} },
			ResourceListChangedHandler: func(context.Context, *mcp.ResourceListChangedRequest) { resources <- struct{}{} },
		})
		count := func(want int) {
			t.Helper()
			<-prompts
			<-resources
			p, err := cs.ListPrompts(t.Context(), nil)
			if err != nil || len(p.Prompts) != want {
				t.Errorf("%s: prompts = %+v, %v, want %d", era, p, err, want)
			}
			l, err := cs.ListResources(t.Context(), nil)
			if err != nil || len(l.Resources) != want {
				t.Errorf("%s: resources = %+v, %v, want %d", era, l, err, want)
			}
		}
		f := r.load("offers", func(c *core.Context) error {
			var errs []error
			for _, name := range []string{"a", "b", "c"} {
				errs = append(errs, c.Prompts().Define(core.Prompt{Name: name, Get: says(name)}),
					c.Resources().Define(core.Resource{URI: "note://" + name, Name: name, Read: reads(name)}))
			}
			return errors.Join(errs...)
		})
		count(3)
		if err := f.Dispose(t.Context()); err != nil {
			t.Fatal(err)
		}
		count(0)
		if len(prompts)+len(resources) != 0 {
			t.Errorf("%s: %d and %d notifications more", era, len(prompts), len(resources))
		}
	}
}

func TestRule15_SubscribersAreToldOfUpdates(t *testing.T) {
	r := start(t, nil)
	var c *core.Context
	r.load("notes", func(own *core.Context) error {
		c = own
		return c.Resources().Define(core.Resource{URI: "note://{name}", Name: "notes", Read: reads("x")})
	})
	url := r.serve(ServeOptions{})
	for _, era := range []string{eraLegacy, eraModern} {
		updates := make(chan string, 10)
		told := &mcp.ClientOptions{ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { updates <- r.Params.URI }}
		cs := dial(t, url, era, told)
		dial(t, url, era, &mcp.ClientOptions{ResourceUpdatedHandler: func(context.Context, *mcp.ResourceUpdatedNotificationRequest) {
			t.Errorf("%s: told without a subscription", era)
		}})
		if err := cs.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "note://b"}); err != nil {
			t.Fatal(err)
		}
		for _, uri := range []string{"note://a", "note://b"} {
			if err := core.ResourceUpdated.Emit(c, uri); err != nil {
				t.Fatal(err)
			}
		}
		if got := <-updates; got != "note://b" {
			t.Errorf("%s: told of %s", era, got)
		}
		if err := cs.Unsubscribe(t.Context(), &mcp.UnsubscribeParams{URI: "note://b"}); err != nil {
			t.Error(err)
		}
	}
}

// What a plugin does wrong ends the request, and nothing else.
func TestRule15_ABadPromptHurtsItsRequestOnly(t *testing.T) {
	r := start(t, nil)
	entered := make(chan struct{}, 2)
	r.load("bad", func(c *core.Context) error {
		return errors.Join(
			c.Prompts().Define(core.Prompt{Name: "fine", Get: says("fine")}),
			c.Prompts().Define(core.Prompt{Name: "panics", Get: func(context.Context, map[string]string) ([]llm.Message, error) { panic("oh") }}),
			c.Prompts().Define(core.Prompt{Name: "hangs", Get: func(ctx context.Context, _ map[string]string) ([]llm.Message, error) {
				entered <- struct{}{}
				<-ctx.Done()
				return nil, ctx.Err()
			}}))
	})
	url := r.serve(ServeOptions{})
	for _, era := range []string{eraLegacy, eraModern} {
		cs := dial(t, url, era, nil)
		get := func(ctx context.Context, name string) error {
			_, err := cs.GetPrompt(ctx, &mcp.GetPromptParams{Name: name})
			return err
		}
		wantRPC(t, get(t.Context(), "panics"), jsonrpc.CodeInternalError, "oh")
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error, 1)
		go func() { failed <- get(ctx, "hangs") }()
		<-entered
		if err := get(t.Context(), "fine"); err != nil {
			t.Errorf("%s: beside one that hangs: %v", era, err)
		}
		cancel()
		if err := <-failed; !errors.Is(err, context.Canceled) {
			t.Errorf("%s: cancelled: %v", era, err)
		}
	}
}

// A result of ours reaches a client with all that it holds.
func TestM34_ResultsOfPluginsPassWhole(t *testing.T) {
	r := start(t, nil)
	r.load("kinds", func(c *core.Context) error {
		return c.Tools().Define(core.Tool{Name: "kinds", Description: "All kinds.", Traits: core.Traits{Effect: core.Read},
			Run: func(context.Context, *core.Invocation) (core.Result, error) {
				return core.Result{
					Structured: []byte(`{"n":1}`),
					Parts: []llm.Part{
						llm.Text("text"),
						{Kind: llm.ImagePart, Data: []byte{1}, MIME: "image/png"},
						{Kind: llm.AudioPart, Data: []byte{2}, MIME: "audio/wav"},
						{Kind: llm.ResourcePart, URI: "note://t", MIME: "text/plain", Text: "t"},
						{Kind: llm.ResourcePart, URI: "note://b", Data: []byte{3}},
						{Kind: llm.RawPart, Raw: []byte(`{"type":"resource_link","uri":"note://l","name":"l","annotations":{"priority":1}}`)},
					},
				}, nil
			}})
	})
	url := r.serve(ServeOptions{})
	want := `{"content":[{"text":"text","type":"text"},{"data":"AQ==","mimeType":"image/png","type":"image"},` +
		`{"data":"Ag==","mimeType":"audio/wav","type":"audio"},` +
		`{"resource":{"mimeType":"text/plain","text":"t","uri":"note://t"},"type":"resource"},` +
		`{"resource":{"blob":"Aw==","uri":"note://b"},"type":"resource"},` +
		`{"type":"resource_link","uri":"note://l","name":"l","annotations":{"priority":1}}],"structuredContent":{"n":1}`
	status, body := post(t, url, "tools/call", `{"name":"kinds","arguments":{},`+modernMeta+`}`,
		http.Header{"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Name": {"kinds"}})
	if status != http.StatusOK || !strings.Contains(body, want) {
		t.Errorf("modern: %d %s", status, body)
	}
	res := invoke(t, dial(t, url, eraLegacy, nil), "kinds", nil)
	var kinds []string
	for _, c := range res.Content {
		kinds = append(kinds, fmt.Sprintf("%T", c))
	}
	if diff := cmp.Diff([]string{"*mcp.TextContent", "*mcp.ImageContent", "*mcp.AudioContent", "*mcp.EmbeddedResource", "*mcp.EmbeddedResource", "*mcp.ResourceLink"}, kinds); diff != "" {
		t.Error(diff)
	}
	if m, ok := res.StructuredContent.(map[string]any); !ok || m["n"] != 1.0 {
		t.Errorf("structured = %v", res.StructuredContent)
	}
}

// gathered is what a client was told.
type gathered struct {
	mu    sync.Mutex
	lines []string
}

func (g *gathered) add(format string, args ...any) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.lines = append(g.lines, fmt.Sprintf(format, args...))
}

func (g *gathered) all() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]string(nil), g.lines...)
}
