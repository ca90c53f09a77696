package core

import (
	"context"

	"github.com/agentd-host/agentd/core/llm"
)

// ModelProvider makes models by name. Adapters register one each.
type ModelProvider interface {
	// Model gives the named model; "" = the provider's default. It does no
	// I/O; an unknown name is an error only if the provider can tell.
	Model(name string) (llm.Model, error)
	// Ready tells whether the provider has what it needs (credentials); the
	// reason says what is missing.
	Ready() (bool, string)
}

// ModelRegistry knows the providers. Names are "provider/model", "provider",
// or "auto": the first ready provider in order of registration, offline last.
type ModelRegistry interface {
	// Add registers a provider as an effect of c's fiber.
	Add(c *Context, name string, p ModelProvider) error
	// Resolve finds a model and says under which full name.
	Resolve(name string) (llm.Model, string, error)
	// Providers lists the names in order, with what each lacks ("" = ready).
	Providers() []ModelStatus
}

// ModelStatus is one provider in a list.
type ModelStatus struct {
	Name  string `json:"name"`
	Ready bool   `json:"ready"`
	Lacks string `json:"lacks,omitempty"`
}

// Models is the service of the ModelRegistry.
var Models = NewService[ModelRegistry]("models")

// Job is a call that outlives its time-out.
type Job struct {
	Call   Call
	Tool   Tool
	Cancel context.CancelFunc
	Done   <-chan Result // receives once
}

// Adopter takes over calls that pass their synchronous time-out.
type Adopter interface {
	// Adopt takes the job and returns its handle. An error: not adopted, the
	// call is cancelled.
	Adopt(ctx context.Context, j Job) (handle string, err error)
}

// Background is the service of the Adopter.
var Background = NewService[Adopter]("background")
