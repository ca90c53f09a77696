package core

import "context"

// A Scope is a context whose registrations can be disposed before those of
// the rest of its fiber.
type Scope struct {
	*Context
}

// Scope opens a scope. It ends with the fiber's activation, or with the scope
// that c belongs to, if not before.
func (c *Context) Scope(label string) (*Scope, error) {
	n := &node{kind: KindScope, label: label, state: nodeLive}
	if err := c.register(n); err != nil {
		return nil, err
	}
	return &Scope{c.at(n)}, nil
}

// Dispose undoes what was registered through the scope, last first, and only
// that. It does not wait for calls of its listeners that are in progress, but
// for its child plugins and goroutines. Every caller waits for the same end
// and gets the same error. When ctx ends first it returns a [*StuckError] and
// the disposal goes on.
func (s *Scope) Dispose(ctx context.Context) error {
	return s.host.stop(ctx, s.node)
}
