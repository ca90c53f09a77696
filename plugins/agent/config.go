package agent

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"time"

	"github.com/agentd-host/agentd/core"
)

// Config is one agent.
type Config struct {
	Name       string           `json:"name,omitempty" jsonschema_description:"Name of the agent. Optional. Default is what follows the colon in the entry's id, else the id."`
	Model      string           `json:"model,omitempty" jsonschema:"default=auto" jsonschema_description:"provider/model, a provider, or auto: the first provider that has what it needs, offline last."`
	System     string           `json:"system,omitempty" jsonschema_description:"The system prompt. Optional. Default is a short one."`
	SystemFile string           `json:"systemFile,omitempty" jsonschema_description:"File with the system prompt, relative to the folder of agent.yml. It is read anew for each turn."`
	Groups     []string         `json:"groups,omitempty" jsonschema_description:"Groups of tools that this agent may see, beside those for everybody."`
	Filter     *Filter          `json:"filter,omitempty" jsonschema_description:"Narrows the tools of this agent by name."`
	Budgets    Budgets          `json:"budgets,omitzero" jsonschema_description:"What a turn may use. The budget that ends a turn is named, and the session stays usable."`
	Background *bool            `json:"background,omitempty" jsonschema_description:"Whether a call that takes long goes on in the background. Optional. Default is true."`
	Require    []string         `json:"require,omitempty" jsonschema_description:"Tools without which no turn begins."`
	Prices     map[string]Price `json:"prices,omitempty" jsonschema_description:"Prices by model (provider/model, globs allowed), per million tokens."`
	Offer      *Offer           `json:"offer,omitempty" jsonschema_description:"Offers this agent to other agents as a tool."`
	Compact    Compact          `json:"compact,omitzero" jsonschema_description:"What is done when a conversation gets too long for the model."`
	MaxTokens  int              `json:"maxTokens,omitempty" jsonschema:"minimum=0" jsonschema_description:"Tokens that one answer may have. Optional. Default is the provider's."`
	Effort     string           `json:"effort,omitempty" jsonschema:"enum=minimal,enum=low,enum=medium,enum=high" jsonschema_description:"How hard a reasoning model thinks. Optional. Default is the provider's."`
}

// Filter narrows tools by globs over their names.
type Filter struct {
	Include []string `json:"include,omitempty" jsonschema_description:"Globs; only tools that match one stay. Optional. Default is all."`
	Exclude []string `json:"exclude,omitempty" jsonschema_description:"Globs; tools that match one go."`
}

// Budgets bound a turn. In Go zero means the default; agent.yml has to say what
// it means.
type Budgets struct {
	Steps      int           `json:"steps,omitempty" jsonschema:"default=30,minimum=1" jsonschema_description:"Calls of the model in one turn."`
	Wall       time.Duration `json:"wall,omitempty" jsonschema_description:"Time of one turn. Optional. Default is no limit."`
	Tokens     int           `json:"tokens,omitempty" jsonschema:"minimum=0" jsonschema_description:"Tokens in and out in one turn. Optional. Default is no limit."`
	ToolOutput int           `json:"toolOutput,omitempty" jsonschema:"default=50000,minimum=1" jsonschema_description:"Bytes of one tool's result that reach the model."`
	Parallel   int           `json:"parallel,omitempty" jsonschema:"default=8,minimum=1" jsonschema_description:"Calls of one answer that run at the same time."`
	Repeats    int           `json:"repeats,omitempty" jsonschema:"default=5,minimum=2" jsonschema_description:"How often the same call may come while nothing new is called."`
	Depth      int           `json:"depth,omitempty" jsonschema:"default=3,minimum=1" jsonschema_description:"How deep agents may call agents."`
}

// Price is what a model costs per million tokens. CacheRead and CacheWrite
// are for the parts of the input that the provider kept; zero means Input.
type Price struct {
	Input      float64 `json:"input" jsonschema_description:"Per million tokens of input."`
	Output     float64 `json:"output" jsonschema_description:"Per million tokens of output."`
	CacheRead  float64 `json:"cacheRead,omitempty" jsonschema_description:"Per million tokens read from the provider's cache. Optional. Default is the price of input."`
	CacheWrite float64 `json:"cacheWrite,omitempty" jsonschema_description:"Per million tokens written to the provider's cache. Optional. Default is the price of input."`
}

// Offer makes an agent a tool of the others.
type Offer struct {
	Tool        string `json:"tool,omitempty" jsonschema_description:"Name of the tool. Optional. Default is agent_ and the agent's name."`
	Description string `json:"description" jsonschema_description:"What the agent is good for, as other agents read it."`
}

// Compact says when and how a long conversation is made shorter.
type Compact struct {
	At     int `json:"at,omitempty" jsonschema:"default=80,minimum=1,maximum=100" jsonschema_description:"Percent of the model's context window from which on the conversation is made shorter."`
	Keep   int `json:"keep,omitempty" jsonschema:"default=20,minimum=1,maximum=90" jsonschema_description:"Percent of the context window that the latest messages keep unchanged."`
	Result int `json:"result,omitempty" jsonschema:"default=1000,minimum=1" jsonschema_description:"Bytes that an old tool result is shortened to."`
	Window int `json:"window,omitempty" jsonschema:"minimum=0" jsonschema_description:"Context window in tokens. Optional. Default is the model's own, else 128000."`
}

// withDefaults fills in what the config leaves open.
func (cfg Config) withDefaults() Config {
	b := &cfg.Budgets
	cfg.Model = cmp.Or(cfg.Model, "auto")
	b.Steps = cmp.Or(b.Steps, 30)
	b.ToolOutput = cmp.Or(b.ToolOutput, 50000)
	b.Parallel = cmp.Or(b.Parallel, 8)
	b.Repeats = cmp.Or(b.Repeats, 5)
	b.Depth = cmp.Or(b.Depth, 3)
	cfg.Compact.At = cmp.Or(cfg.Compact.At, 80)
	cfg.Compact.Keep = cmp.Or(cfg.Compact.Keep, 20)
	cfg.Compact.Result = cmp.Or(cfg.Compact.Result, 1000)
	return cfg
}

// validate checks what the schema cannot say.
func (cfg Config) validate() error {
	var errs []error
	if cfg.System != "" && cfg.SystemFile != "" {
		errs = append(errs, errors.New("system and systemFile: give one of them"))
	}
	if cfg.Budgets.Repeats == 1 {
		errs = append(errs, errors.New("budgets.repeats: want at least 2, or 0 for the default"))
	}
	if cfg.Budgets.Wall < 0 {
		errs = append(errs, fmt.Errorf("budgets.wall: want a time above zero, got %s", cfg.Budgets.Wall))
	}
	for pattern := range cfg.Prices {
		if _, err := path.Match(pattern, ""); err != nil {
			errs = append(errs, fmt.Errorf("prices: %q is no valid pattern", pattern))
		}
	}
	return errors.Join(errs...)
}

// background tells whether calls of this agent may outlive their time-out.
func (cfg Config) background() bool { return cfg.Background == nil || *cfg.Background }

// filter is the config's filter for the tool registry.
func (cfg Config) filter() core.Filter {
	if cfg.Filter == nil {
		return core.Filter{}
	}
	return core.Filter{Include: cfg.Filter.Include, Exclude: cfg.Filter.Exclude}
}
