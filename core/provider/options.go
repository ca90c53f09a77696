package provider

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/llm"
	"github.com/agentd-host/agentd/core/llm/wrap"
	"github.com/agentd-host/agentd/core/schema"
)

// Options are what every provider can be told. A plugin embeds them in its
// config.
type Options struct {
	Name      string            `json:"name,omitempty" jsonschema_description:"Name of the provider. Optional. Default is what follows the colon in the entry's id, else the id."`
	Headers   map[string]string `json:"headers,omitempty" jsonschema_extras:"writeOnly=true" jsonschema_description:"Further headers of each request."`
	Retries   int               `json:"retries,omitempty" jsonschema:"default=3,minimum=0,maximum=10" jsonschema_description:"How often a request is tried again that may work later; 0 is never."`
	PerMinute int               `json:"perMinute,omitempty" jsonschema:"minimum=0" jsonschema_description:"Requests that may begin in a minute. Optional. Default is no limit."`
}

// NameIn gives the name under which the provider of this fiber is known.
func (o Options) NameIn(c *core.Context) string {
	id := c.Fiber().Name()
	if _, after, found := strings.Cut(id, ":"); found {
		id = after
	}
	return cmp.Or(o.Name, id)
}

// Wrapper makes what goes around each model of one provider: the limits, which
// all of them share, and what keeps the key and the headers out of whatever a
// model tells beside its answer.
func (o Options) Wrapper(key string) func(llm.Model) llm.Model {
	limit := wrap.NewLimit(o.PerMinute)
	secrets := append(slices.Collect(maps.Values(o.Headers)), key)
	return func(m llm.Model) llm.Model {
		m = wrap.RateLimit(m, limit)
		if o.Retries > 0 {
			m = wrap.Retry(m, &wrap.RetryOptions{Attempts: 1 + o.Retries})
		}
		return wrap.Redact(m, secrets...)
	}
}

// CheckAddress refuses what is no HTTP address; "" is none, and fine. like is
// an example for the error.
func CheckAddress(baseURL, like string) error {
	if baseURL == "" {
		return nil
	}
	u, err := url.Parse(baseURL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return schema.At(errors.New("want an address such as "+like), "baseURL")
	}
	return nil
}

// Register adds p to the models while c's fiber is active, and then closes the
// idle connections of its client.
func Register(c *core.Context, name string, client *http.Client, p core.ModelProvider) error {
	models, ok := core.Models.Get(c)
	if !ok {
		return fmt.Errorf("models: %w", core.ErrUnavailable)
	}
	return errors.Join(
		c.OnDispose(func() error { client.CloseIdleConnections(); return nil }),
		models.Add(c, name, p))
}
