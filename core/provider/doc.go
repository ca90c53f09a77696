// Package provider is for plugins that reach models over HTTP: the options that
// all of them have ([Options]), and the way of one request ([Stream]), of which
// an adapter writes only what its API does in its own manner ([API]).
//
//	type Config struct {
//		APIKey string `json:"apiKey,omitempty"`
//		provider.Options
//	}
//
//	var Plugin = core.Plugin[Config]{
//		Name: "acme", Needs: core.Needs(core.Models),
//		Apply: func(c *core.Context, cfg Config) error {
//			s := newServer(cfg.NameIn(c), cfg)
//			return provider.Register(c, s.name, s.client, s)
//		},
//	}
//
//	func (m *model) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
//		return provider.Stream(ctx, m.s.name, m, req)
//	}
//
// Names, schemas and pieces of calls are the matter of package wire; retries,
// limits and redaction that of package wrap.
package provider
