package anthropic

import (
	"cmp"
	"net/http"
	"strings"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/llm"
	"github.com/agentd-host/agentd/core/provider"
)

const (
	official     = "https://api.anthropic.com"
	defaultModel = "claude-sonnet-4-5"
	// deferralBeta is the feature that defers tools.
	deferralBeta = "advanced-tool-use-2025-11-20"
)

// Config is one provider.
type Config struct {
	APIKey        string `json:"apiKey,omitempty" jsonschema:"writeOnly=true" jsonschema_description:"The key. Without one the provider is not ready."`
	BaseURL       string `json:"baseURL,omitempty" jsonschema_description:"Address of another server that speaks the Messages API, without /v1. Optional. Default is Anthropic."`
	Model         string `json:"model,omitempty" jsonschema_description:"The model that is meant where only the provider is named. Optional. Default is claude-sonnet-4-5."`
	ContextWindow int    `json:"contextWindow,omitempty" jsonschema:"default=200000,minimum=1" jsonschema_description:"Context window of the models in tokens."`
	MaxTokens     int    `json:"maxTokens,omitempty" jsonschema:"default=8192,minimum=1" jsonschema_description:"Tokens of an answer where the agent sets no limit."`
	NativeDefer   bool   `json:"nativeDeferral,omitempty" jsonschema_description:"Lets the API hold deferred tools back, which needs a model that can do so. Optional. Default is false: found tools are added to the list."`
	provider.Options
}

// Plugin is one provider.
var Plugin = core.Plugin[Config]{
	Name: "anthropic", Title: "Anthropic",
	Description: "Models behind Anthropic's Messages API.",
	Harmless:    true, // without a key nothing is sent
	Needs:       core.Needs(core.Models),
	Validate:    func(cfg Config) error { return provider.CheckAddress(cfg.BaseURL, "https://host") },
	Apply: func(c *core.Context, cfg Config) error {
		s := newServer(cfg.NameIn(c), cfg)
		return provider.Register(c, s.name, s.client, s)
	},
}

// server makes models that share a client and its limits.
type server struct {
	name     string
	cfg      Config
	client   *http.Client
	wrap     func(llm.Model) llm.Model
	messages anthropic.MessageService
}

func newServer(name string, cfg Config) *server {
	s := &server{name: name, cfg: cfg, client: provider.NewClient(), wrap: cfg.Wrapper(cfg.APIKey)}
	base := strings.TrimSuffix(strings.TrimSuffix(cmp.Or(cfg.BaseURL, official), "/"), "/v1")
	opts := []option.RequestOption{
		option.WithoutEnvironmentDefaults(),
		option.WithHTTPClient(s.client),
		option.WithBaseURL(base + "/"),
		option.WithMaxRetries(0),                   // ours announce themselves
		option.WithHeader("X-Api-Key", cfg.APIKey), // the documented way; the library would send a bearer token
		option.WithHeader("anthropic-version", "2023-06-01"),
	}
	for name, value := range cfg.Headers {
		opts = append(opts, option.WithHeader(name, value))
	}
	s.messages = anthropic.NewMessageService(opts...)
	return s
}

// Ready tells whether there is a key.
func (s *server) Ready() (bool, string) {
	if s.cfg.APIKey == "" {
		return false, "apiKey is not set"
	}
	return true, ""
}

// Model gives a model by the API's name for it.
func (s *server) Model(name string) (llm.Model, error) {
	m := &model{s, cmp.Or(name, s.cfg.Model, defaultModel)}
	return s.wrap(m), nil
}

var _ core.ModelProvider = (*server)(nil)
