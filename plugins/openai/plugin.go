package openai

import (
	"cmp"
	"net/http"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/llm"
	"github.com/agentd-host/agentd/core/provider"
)

// official is OpenAI's own address.
const official = "https://api.openai.com/v1"

// Config is one provider.
type Config struct {
	APIKey        string `json:"apiKey,omitempty" jsonschema:"writeOnly=true" jsonschema_description:"The key. Without one, and without baseURL, the provider is not ready."`
	BaseURL       string `json:"baseURL,omitempty" jsonschema_description:"Address of another server that speaks Chat Completions, up to and with /v1. Optional. Default is OpenAI."`
	Model         string `json:"model,omitempty" jsonschema_description:"The model that is meant where only the provider is named. Optional at OpenAI. Default is gpt-5-mini."`
	ContextWindow int    `json:"contextWindow,omitempty" jsonschema:"minimum=0" jsonschema_description:"Context window of the models in tokens. Optional. Default is what is known of the model."`
	MaxTools      int    `json:"maxTools,omitempty" jsonschema:"default=128,minimum=1" jsonschema_description:"How many tools a request may have."`
	provider.Options
}

// Plugin is one provider.
var Plugin = core.Plugin[Config]{
	Name: "openai", Title: "OpenAI",
	Description: "Models behind OpenAI's Chat Completions, or a server that speaks the same.",
	Harmless:    true, // without a key and an address nothing is sent
	Needs:       core.Needs(core.Models),
	Validate:    func(cfg Config) error { return provider.CheckAddress(cfg.BaseURL, "http://localhost:11434/v1") },
	Apply: func(c *core.Context, cfg Config) error {
		s := newServer(cfg.NameIn(c), cfg)
		return provider.Register(c, s.name, s.client, s)
	},
}

// server makes models that share a client and its limits.
type server struct {
	name   string
	cfg    Config
	client *http.Client
	wrap   func(llm.Model) llm.Model
	chat   openai.ChatCompletionService
}

func newServer(name string, cfg Config) *server {
	s := &server{name: name, cfg: cfg, client: provider.NewClient(), wrap: cfg.Wrapper(cfg.APIKey)}
	opts := []option.RequestOption{
		option.WithHTTPClient(s.client),
		option.WithBaseURL(strings.TrimSuffix(cmp.Or(cfg.BaseURL, official), "/") + "/"),
		option.WithMaxRetries(0), // ours announce themselves
		option.WithAPIKey(cmp.Or(cfg.APIKey, "none")),
	}
	for name, value := range cfg.Headers {
		opts = append(opts, option.WithHeader(name, value))
	}
	s.chat = openai.NewChatCompletionService(opts...)
	return s
}

// Ready tells whether there is a key, or an address that may need none.
func (s *server) Ready() (bool, string) {
	switch {
	case s.cfg.APIKey == "" && s.cfg.BaseURL == "":
		return false, "apiKey is not set"
	case s.cfg.BaseURL != "" && s.cfg.Model == "":
		return false, "model is not set: baseURL leads to a server whose models are not known"
	}
	return true, ""
}

// Model gives a model by the server's name for it.
func (s *server) Model(name string) (llm.Model, error) {
	m := &model{s, cmp.Or(name, s.cfg.Model, "gpt-5-mini")}
	return s.wrap(m), nil
}

// official tells whether this is OpenAI itself, which knows options that
// others refuse.
func (s *server) official() bool {
	return s.cfg.BaseURL == "" || strings.HasPrefix(s.cfg.BaseURL, "https://api.openai.com/")
}

var _ core.ModelProvider = (*server)(nil)
