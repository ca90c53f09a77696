package wrap

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"

	"github.com/agentd-host/agentd/core/llm"
)

// shortest is the length from which on a secret is looked for: a shorter one
// would be found in every other word.
const shortest = 6

// Redact takes secrets (keys, tokens) out of everything that a model tells
// beside its answer: errors, warnings, reasons to begin again. The chain of
// causes behind an error is cut, since a provider's library may hold a whole
// request in it.
func Redact(m llm.Model, secrets ...string) llm.Model {
	// The longest first: one secret may be how another begins.
	secrets = slices.SortedFunc(slices.Values(secrets), func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, s := range secrets {
		if len(s) >= shortest {
			pairs = append(pairs, s, "[redacted]")
		}
	}
	return &redacted{m, strings.NewReplacer(pairs...)}
}

type redacted struct {
	llm.Model
	secrets *strings.Replacer
}

// Stream passes the inner stream on without the secrets.
func (r *redacted) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		for ev, err := range r.Model.Stream(ctx, req) {
			if err != nil {
				yield(ev, r.clean(err))
				return
			}
			if ev.Kind == llm.Warning || ev.Kind == llm.Reset {
				ev.Text = r.secrets.Replace(ev.Text)
			}
			if !yield(ev, nil) {
				return
			}
		}
	}
}

// clean keeps what an error says and, of its cause, only whether the context
// ended.
func (r *redacted) clean(err error) error {
	var e *llm.Error
	if !errors.As(err, &e) {
		return &llm.Error{
			Kind: llm.ErrTransient, Provider: r.Describe().Provider, ToolIndex: -1,
			Message: r.secrets.Replace(err.Error()),
		}
	}
	own := *e
	own.Message = r.secrets.Replace(own.Message)
	own.Cause = nil
	for _, known := range []error{context.Canceled, context.DeadlineExceeded} {
		if errors.Is(e.Cause, known) {
			own.Cause = known
		}
	}
	return &own
}
