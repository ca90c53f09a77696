package core

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/agentd-host/agentd/core/llm"
)

// A Prompt is a piece of conversation that a person picks by its name and
// fills in, as MCP clients offer them. It belongs to the fiber that defined
// it.
type Prompt struct {
	// Name is 1 to 64 of a-z, A-Z, 0-9, _ and -, unique in the host. Names
	// that begin with [MCPPrefix] are those of MCP servers.
	Name        string
	Title       string // for display; empty means Name
	Description string
	Arguments   []PromptArgument
	// Complete proposes values of the arguments. Optional.
	Complete Completer
	// Get makes the messages. It is called with every required argument, from
	// many goroutines at once, and must return soon after ctx is cancelled.
	// [CallerOf] gives it who asks.
	Get func(ctx context.Context, args map[string]string) ([]llm.Message, error)
}

// PromptArgument is what a prompt wants to be told.
type PromptArgument struct {
	Name, Title, Description string
	Required                 bool
}

// The errors of [Prompts].
var (
	ErrNoPrompt        = errors.New("there is no such prompt")
	ErrPromptArguments = errors.New("an argument is missing")
)

// PromptsChanged is emitted a little after prompts came or went, once for a
// burst.
var PromptsChanged = NewEvent[struct{}]("prompts:changed")

// Prompts is the host's one registry of prompts, seen from a context. It is
// cheap and may be used from any goroutine.
type Prompts struct{ c *Context }

// Prompts returns the registry seen from c.
func (c *Context) Prompts() Prompts { return Prompts{c} }

// Define offers a prompt until the scope of the context ends. A name that is
// taken, by whomever, is an [*OfferConflictError] and the first stays.
func (p Prompts) Define(prompt Prompt) error {
	switch {
	case !ValidToolName(prompt.Name):
		return fmt.Errorf("prompt %q: a name has 1 to 64 of the characters a-z, A-Z, 0-9, _ and -", prompt.Name)
	case strings.HasPrefix(prompt.Name, MCPPrefix):
		return fmt.Errorf("prompt %q: names that begin with %s are those of MCP servers: choose another", prompt.Name, MCPPrefix)
	case prompt.Get == nil:
		return fmt.Errorf("prompt %q: it has no function to get it", prompt.Name)
	}
	return p.shelf().put(p.c, prompt.Name, prompt)
}

// List gives the prompts, sorted by name, without their functions.
func (p Prompts) List() []Prompt {
	var list []Prompt
	for _, o := range p.shelf().all() {
		prompt := o.value
		prompt.Get, prompt.Complete = nil, nil
		list = append(list, prompt)
	}
	return list
}

// Get makes the messages of a prompt: [ErrNoPrompt] if there is none of that
// name, [ErrPromptArguments] if a required argument is missing.
func (p Prompts) Get(ctx context.Context, name string, args map[string]string) ([]llm.Message, error) {
	o := p.shelf().find(name)
	if o == nil {
		return nil, fmt.Errorf("prompt %q: %w", name, ErrNoPrompt)
	}
	for _, a := range o.value.Arguments {
		if _, given := args[a.Name]; a.Required && !given {
			return nil, fmt.Errorf("prompt %q: %w: %s", name, ErrPromptArguments, a.Name)
		}
	}
	return useOffer(ctx, o, func(ctx context.Context, prompt Prompt) ([]llm.Message, error) {
		return prompt.Get(ctx, args)
	})
}

// Complete proposes values for an argument of a prompt.
func (p Prompts) Complete(ctx context.Context, name string, q Completion) ([]string, error) {
	o := p.shelf().find(name)
	if o == nil {
		return nil, fmt.Errorf("prompt %q: %w", name, ErrNoPrompt)
	}
	return useOffer(ctx, o, func(ctx context.Context, prompt Prompt) ([]string, error) {
		return prompt.Complete.completed(ctx, q)
	})
}

func (p Prompts) shelf() *shelf[Prompt] { return &p.c.host.prompts }
