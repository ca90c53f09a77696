package agent

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/llm"
	"github.com/agentd-host/agentd/core/schema"
)

// lastResort is the provider that auto takes when no other one is ready.
const lastResort = "offline"

// providers are the adapters that are loaded.
var providers = newRoll[*provider]("agent:provider")

// provider is a registered core.ModelProvider.
type provider struct {
	name string
	impl core.ModelProvider
}

// registry is the core.ModelRegistry.
type registry struct {
	hub *core.Context
	mu  sync.Mutex // makes looking for a name and taking it one step
}

// Add registers a provider as an effect of c's fiber.
func (r *registry) Add(c *core.Context, name string, impl core.ModelProvider) error {
	if name == "" || name == "auto" || strings.Contains(name, "/") {
		return fmt.Errorf("%q is no name for a model provider: want a word without slash, not auto", name)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.find(name) != nil {
		return fmt.Errorf("the model provider %q is there already: give one of the two entries another name", name)
	}
	return providers.add(c, &provider{name, impl})
}

func (r *registry) find(name string) *member[*provider] {
	for _, m := range providers.members(r.hub) {
		if m.value.name == name {
			return m
		}
	}
	return nil
}

// Providers lists the providers with what each lacks.
func (r *registry) Providers() []core.ModelStatus {
	list := providers.members(r.hub)
	status := make([]core.ModelStatus, len(list))
	for i, m := range list {
		ready, lacks := m.value.ready()
		status[i] = core.ModelStatus{Name: m.value.name, Ready: ready, Lacks: lacks}
	}
	return status
}

// Resolve finds a model. The answer's streams end when the provider unloads.
func (r *registry) Resolve(name string) (llm.Model, string, error) {
	if name == "" || name == "auto" {
		return r.auto()
	}
	prefix, rest, _ := strings.Cut(name, "/")
	m := r.find(prefix)
	if m == nil {
		return nil, "", r.unknown(name, prefix)
	}
	if ready, lacks := m.value.ready(); !ready {
		return nil, "", fmt.Errorf("model %q: %s is not ready: %s", name, prefix, lacks)
	}
	return model(m, rest)
}

func (r *registry) auto() (llm.Model, string, error) {
	var lacking []string
	list := providers.members(r.hub)
	slices.SortStableFunc(list, func(a, b *member[*provider]) int { return a.value.resort() - b.value.resort() })
	for _, m := range list {
		ready, lacks := m.value.ready()
		if ready {
			return model(m, "")
		}
		lacking = append(lacking, m.value.name+": "+lacks)
	}
	if len(lacking) == 0 {
		return nil, "", errors.New("no model provider is loaded: add one to the plugins of agent.yml, such as offline: {}")
	}
	return nil, "", fmt.Errorf("no model provider is ready (%s)", strings.Join(lacking, "; "))
}

func (r *registry) unknown(name, prefix string) error {
	names := make([]string, 0, 4)
	for _, m := range providers.members(r.hub) {
		names = append(names, m.value.name)
	}
	hint := "there is none: add one to the plugins of agent.yml, such as offline: {}"
	if near := schema.Nearest(prefix, names); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	} else if len(names) > 0 {
		slices.Sort(names)
		hint = "there are " + strings.Join(names, ", ")
	}
	return fmt.Errorf("model %q: no provider %q; %s", name, prefix, hint)
}

func (p *provider) resort() int {
	if p.name == lastResort {
		return 1
	}
	return 0
}

// ready asks the provider, whose panic is its own fault.
func (p *provider) ready() (ok bool, lacks string) {
	defer func() {
		if v := recover(); v != nil {
			ok, lacks = false, fmt.Sprintf("panicked: %v", v)
		}
	}()
	return p.impl.Ready()
}

// model makes the model and gives its full name.
func model(m *member[*provider], name string) (_ llm.Model, full string, err error) {
	p := m.value
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("model provider %s panicked: %v", p.name, v)
		}
	}()
	inner, err := p.impl.Model(name)
	if err != nil {
		return nil, "", fmt.Errorf("model %q: %w", p.name+"/"+name, err)
	}
	info := inner.Describe()
	return &leased{m, inner, info}, p.name + "/" + info.Model, nil
}

// leased is a model whose streams hold a lease on the provider and whose
// panics are errors.
type leased struct {
	from  *member[*provider]
	inner llm.Model
	info  llm.Info
}

// Describe says what the model said when it was resolved.
func (m *leased) Describe() llm.Info { return m.info }

// Stream passes the inner model's stream on.
func (m *leased) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		err := m.from.use(ctx, func(ctx context.Context) error {
			return m.stream(ctx, req, yield)
		})
		if err != nil {
			yield(llm.Event{}, m.fault(err))
		}
	}
}

// stream returns an error only if none was yielded and the consumer still
// listens.
func (m *leased) stream(ctx context.Context, req *llm.Request, yield func(llm.Event, error) bool) (err error) {
	var yielding bool
	defer func() {
		if v := recover(); v != nil {
			if yielding { // the consumer's panic, not the model's
				panic(v)
			}
			err = fmt.Errorf("panicked: %v", v)
		}
	}()
	for ev, fault := range m.inner.Stream(ctx, req) {
		if fault != nil {
			fault = m.fault(fault)
		}
		yielding = true
		more := yield(ev, fault)
		yielding = false
		if !more || fault != nil {
			return nil
		}
	}
	return nil
}

// fault makes an *llm.Error of any error.
func (m *leased) fault(err error) error {
	var e *llm.Error
	switch {
	case errors.As(err, &e):
		return e
	case errors.Is(err, core.ErrUnavailable):
		return &llm.Error{
			Kind: llm.ErrTransient, Provider: m.from.value.name, ToolIndex: -1,
			Message: "the provider was unloaded", Cause: err,
		}
	}
	return &llm.Error{Kind: llm.ErrTransient, Provider: m.from.value.name, Message: err.Error(), ToolIndex: -1, Cause: err}
}

var (
	_ core.ModelRegistry = (*registry)(nil)
	_ llm.Model          = (*leased)(nil)
)
