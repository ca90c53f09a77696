package core

import "context"

// A Completer proposes values for an argument of a prompt, or for a variable
// of a resource's template, best first. It may be called from many goroutines
// at once.
type Completer func(ctx context.Context, q Completion) ([]string, error)

// Completion says what is to be completed.
type Completion struct {
	Argument string
	Value    string            // what was typed so far
	Others   map[string]string // arguments that are settled
}

// completed asks a completer; without one there is nothing to propose.
func (f Completer) completed(ctx context.Context, q Completion) ([]string, error) {
	if f == nil {
		return nil, nil
	}
	return f(ctx, q)
}
