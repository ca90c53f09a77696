package offline

import (
	"fmt"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/llm"
)

// Plugin registers the interpreter with the models, under the name offline.
var Plugin = core.Plugin[struct{}]{
	Name: Name, Title: "Offline model",
	Description: "A command interpreter in place of a model: no key, no network.",
	Harmless:    true,
	Needs:       core.Needs(core.Models),
	Apply: func(c *core.Context, _ struct{}) error {
		models, ok := core.Models.Get(c)
		if !ok {
			return fmt.Errorf("models: %w", core.ErrUnavailable)
		}
		return models.Add(c, Name, provider{})
	},
}

// provider knows the one model that there is.
type provider struct{}

// Model gives the interpreter.
func (provider) Model(name string) (llm.Model, error) {
	if name != "" && name != Name {
		return nil, fmt.Errorf("offline knows no model %q, only %s", name, Name)
	}
	return Model{}, nil
}

// Ready is always true.
func (provider) Ready() (bool, string) { return true, "" }

var _ core.ModelProvider = provider{}
