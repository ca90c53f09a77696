package anthropic

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/llm"
	"github.com/agentd-host/agentd/core/llm/wrap"
)

const (
	official     = "https://api.anthropic.com"
	defaultModel = "claude-sonnet-4-5"
	// deferralBeta is the feature that defers tools.
	deferralBeta = "advanced-tool-use-2025-11-20"
)

// Config is one provider.
type Config struct {
	Name          string            `json:"name,omitempty" jsonschema_description:"Name of the provider. Optional. Default is what follows the colon in the entry's id, else the id."`
	APIKey        string            `json:"apiKey,omitempty" jsonschema:"writeOnly=true" jsonschema_description:"The key. Without one the provider is not ready."`
	BaseURL       string            `json:"baseURL,omitempty" jsonschema_description:"Address of another server that speaks the Messages API, without /v1. Optional. Default is Anthropic."`
	Model         string            `json:"model,omitempty" jsonschema_description:"The model that is meant where only the provider is named. Optional. Default is claude-sonnet-4-5."`
	ContextWindow int               `json:"contextWindow,omitempty" jsonschema:"default=200000,minimum=1" jsonschema_description:"Context window of the models in tokens."`
	MaxTokens     int               `json:"maxTokens,omitempty" jsonschema:"default=8192,minimum=1" jsonschema_description:"Tokens of an answer where the agent sets no limit."`
	NativeDefer   bool              `json:"nativeDeferral,omitempty" jsonschema_description:"Lets the API hold deferred tools back, which needs a model that can do so. Optional. Default is false: found tools are added to the list."`
	Headers       map[string]string `json:"headers,omitempty" jsonschema_extras:"writeOnly=true" jsonschema_description:"Further headers of each request."`
	Retries       int               `json:"retries,omitempty" jsonschema:"default=3,minimum=0,maximum=10" jsonschema_description:"How often a request is tried again that may work later; 0 is never."`
	PerMinute     int               `json:"perMinute,omitempty" jsonschema:"minimum=0" jsonschema_description:"Requests that may begin in a minute. Optional. Default is no limit."`
}

// Plugin is one provider.
var Plugin = core.Plugin[Config]{
	Name: "anthropic", Title: "Anthropic",
	Description: "Models behind Anthropic's Messages API.",
	Harmless:    true, // without a key nothing is sent
	Needs:       core.Needs(core.Models),
	Validate:    Config.validate,
	Apply: func(c *core.Context, cfg Config) error {
		models, ok := core.Models.Get(c)
		if !ok {
			return fmt.Errorf("models: %w", core.ErrUnavailable)
		}
		p := newProvider(providerName(c, cfg), cfg)
		return errors.Join(
			c.OnDispose(func() error { p.client.CloseIdleConnections(); return nil }),
			models.Add(c, p.name, p))
	},
}

func (cfg Config) validate() error {
	if cfg.BaseURL == "" {
		return nil
	}
	u, err := url.Parse(cfg.BaseURL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return errors.New("baseURL: want an address such as https://host")
	}
	return nil
}

func providerName(c *core.Context, cfg Config) string {
	id := c.Fiber().Name()
	if _, after, found := strings.Cut(id, ":"); found {
		id = after
	}
	return cmp.Or(cfg.Name, id)
}

// provider makes models that share a client.
type provider struct {
	name     string
	cfg      Config
	client   *http.Client
	messages anthropic.MessageService
}

func newProvider(name string, cfg Config) *provider {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	p := &provider{name: name, cfg: cfg, client: &http.Client{Transport: transport}}
	base := strings.TrimSuffix(strings.TrimSuffix(cmp.Or(cfg.BaseURL, official), "/"), "/v1")
	opts := []option.RequestOption{
		option.WithoutEnvironmentDefaults(),
		option.WithHTTPClient(p.client),
		option.WithBaseURL(base + "/"),
		option.WithMaxRetries(0),                   // ours announce themselves
		option.WithHeader("X-Api-Key", cfg.APIKey), // the documented way; the library would send a bearer token
		option.WithHeader("anthropic-version", "2023-06-01"),
	}
	for name, value := range cfg.Headers {
		opts = append(opts, option.WithHeader(name, value))
	}
	p.messages = anthropic.NewMessageService(opts...)
	return p
}

// Ready tells whether there is a key.
func (p *provider) Ready() (bool, string) {
	if p.cfg.APIKey == "" {
		return false, "apiKey is not set"
	}
	return true, ""
}

// Model gives a model by the API's name for it.
func (p *provider) Model(name string) (llm.Model, error) {
	var m llm.Model = &model{p, cmp.Or(name, p.cfg.Model, defaultModel)}
	m = wrap.RateLimit(m, p.cfg.PerMinute)
	if p.cfg.Retries > 0 {
		m = wrap.Retry(m, &wrap.RetryOptions{Attempts: 1 + p.cfg.Retries})
	}
	secrets := []string{p.cfg.APIKey}
	for _, v := range p.cfg.Headers {
		secrets = append(secrets, v)
	}
	return wrap.Redact(m, secrets...), nil
}

var _ core.ModelProvider = (*provider)(nil)
