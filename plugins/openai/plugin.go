package openai

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/llm"
	"github.com/agentd-host/agentd/core/llm/wrap"
)

// official is OpenAI's own address.
const official = "https://api.openai.com/v1"

// Config is one provider.
type Config struct {
	Name          string            `json:"name,omitempty" jsonschema_description:"Name of the provider. Optional. Default is what follows the colon in the entry's id, else the id."`
	APIKey        string            `json:"apiKey,omitempty" jsonschema:"writeOnly=true" jsonschema_description:"The key. Without one, and without baseURL, the provider is not ready."`
	BaseURL       string            `json:"baseURL,omitempty" jsonschema_description:"Address of another server that speaks Chat Completions, up to and with /v1. Optional. Default is OpenAI."`
	Model         string            `json:"model,omitempty" jsonschema_description:"The model that is meant where only the provider is named. Optional at OpenAI. Default is gpt-5-mini."`
	ContextWindow int               `json:"contextWindow,omitempty" jsonschema:"minimum=0" jsonschema_description:"Context window of the models in tokens. Optional. Default is what is known of the model."`
	MaxTools      int               `json:"maxTools,omitempty" jsonschema:"default=128,minimum=1" jsonschema_description:"How many tools a request may have."`
	Headers       map[string]string `json:"headers,omitempty" jsonschema_extras:"writeOnly=true" jsonschema_description:"Further headers of each request."`
	Retries       int               `json:"retries,omitempty" jsonschema:"default=3,minimum=0,maximum=10" jsonschema_description:"How often a request is tried again that may work later; 0 is never."`
	PerMinute     int               `json:"perMinute,omitempty" jsonschema:"minimum=0" jsonschema_description:"Requests that may begin in a minute. Optional. Default is no limit."`
}

// Plugin is one provider.
var Plugin = core.Plugin[Config]{
	Name: "openai", Title: "OpenAI",
	Description: "Models behind OpenAI's Chat Completions, or a server that speaks the same.",
	Harmless:    true, // without a key and an address nothing is sent
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
		return errors.New("baseURL: want an address such as http://localhost:11434/v1")
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
	name   string
	cfg    Config
	client *http.Client
	chat   openai.ChatCompletionService
}

func newProvider(name string, cfg Config) *provider {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	p := &provider{name: name, cfg: cfg, client: &http.Client{Transport: transport}}
	opts := []option.RequestOption{
		option.WithHTTPClient(p.client),
		option.WithBaseURL(strings.TrimSuffix(cmp.Or(cfg.BaseURL, official), "/") + "/"),
		option.WithMaxRetries(0), // ours announce themselves
		option.WithAPIKey(cmp.Or(cfg.APIKey, "none")),
	}
	for name, value := range cfg.Headers {
		opts = append(opts, option.WithHeader(name, value))
	}
	p.chat = openai.NewChatCompletionService(opts...)
	return p
}

// Ready tells whether there is a key, or an address that may need none.
func (p *provider) Ready() (bool, string) {
	switch {
	case p.cfg.APIKey == "" && p.cfg.BaseURL == "":
		return false, "apiKey is not set"
	case p.cfg.BaseURL != "" && p.cfg.Model == "":
		return false, "model is not set: baseURL leads to a server whose models are not known"
	}
	return true, ""
}

// Model gives a model by the server's name for it.
func (p *provider) Model(name string) (llm.Model, error) {
	name = cmp.Or(name, p.cfg.Model, "gpt-5-mini")
	var m llm.Model = &model{p, name}
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

// official tells whether this is OpenAI itself, which knows options that
// others refuse.
func (p *provider) official() bool {
	return p.cfg.BaseURL == "" || strings.HasPrefix(p.cfg.BaseURL, "https://api.openai.com/")
}

var _ core.ModelProvider = (*provider)(nil)
