package cli

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
)

// secrets are the values that the configuration took from variables and files,
// those of former configurations too: what still runs may speak of them. The
// zero value knows none. Readers never wait.
type secrets struct{ known atomic.Pointer[secretValues] }

type secretValues struct {
	values   []string // longest first
	replacer *strings.Replacer
}

// redactedText stands for a secret.
const redactedText = "[redacted]"

// add notes values. It is not called concurrently.
func (s *secrets) add(values []string) {
	all := slices.Concat(s.all(), values)
	// The longest first, so that no part of a secret stays.
	slices.SortFunc(all, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	all = slices.Compact(all)
	var pairs []string
	for _, v := range all {
		if isPath(v) {
			continue
		}
		pairs = append(pairs, v, redactedText)
		if quoted := strconv.Quote(v); quoted != `"`+v+`"` {
			pairs = append(pairs, quoted[1:len(quoted)-1], redactedText)
		}
	}
	next := &secretValues{values: all}
	if len(pairs) > 0 {
		next.replacer = strings.NewReplacer(pairs...)
	}
	s.known.Store(next)
}

// isPath tells where something is from a secret that only looks like that:
// without paths neither the log nor a status can be read.
func isPath(value string) bool {
	if !filepath.IsAbs(value) {
		return false
	}
	_, err := os.Lstat(value)
	return err == nil
}

func (s *secrets) all() []string {
	if known := s.known.Load(); known != nil {
		return known.values
	}
	return nil
}

// redact takes the secrets out of a text.
func (s *secrets) redact(text string) string {
	known := s.known.Load()
	if known == nil || known.replacer == nil {
		return text
	}
	return known.replacer.Replace(text)
}

// err takes the secrets out of what an error says. It stays the same error
// for errors.Is and errors.As.
func (s *secrets) err(err error) error {
	if err == nil {
		return nil
	}
	if text := err.Error(); s.redact(text) != text {
		return &redactedError{s.redact(text), err}
	}
	return err
}

type redactedError struct {
	text string
	err  error
}

func (e *redactedError) Error() string { return e.text }
func (e *redactedError) Unwrap() error { return e.err }

// redactingLog takes the secrets out of records before they are written.
type redactingLog struct {
	slog.Handler
	secrets *secrets
}

// Handle writes the record without secrets.
func (l redactingLog) Handle(ctx context.Context, r slog.Record) error {
	if known := l.secrets.known.Load(); known == nil || known.replacer == nil {
		return l.Handler.Handle(ctx, r)
	}
	clean := slog.NewRecord(r.Time, r.Level, l.secrets.redact(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		clean.AddAttrs(l.clean(a))
		return true
	})
	return l.Handler.Handle(ctx, clean)
}

// clean takes the secrets out of an attribute, of whatever kind.
func (l redactingLog) clean(a slog.Attr) slog.Attr {
	a.Value = a.Value.Resolve()
	switch a.Value.Kind() {
	case slog.KindString:
		a.Value = slog.StringValue(l.secrets.redact(a.Value.String()))
	case slog.KindGroup:
		a.Value = slog.GroupValue(l.cleanAll(a.Value.Group())...)
	case slog.KindAny:
		text := fmt.Sprintf("%+v", a.Value.Any())
		if clean := l.secrets.redact(text); clean != text {
			a.Value = slog.StringValue(clean)
		}
	}
	return a
}

func (l redactingLog) cleanAll(attrs []slog.Attr) []slog.Attr {
	out := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		out[i] = l.clean(a)
	}
	return out
}

// WithAttrs keeps the attributes without the secrets that are known by then.
func (l redactingLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	return redactingLog{l.Handler.WithAttrs(l.cleanAll(attrs)), l.secrets}
}

// WithGroup is that of the handler below.
func (l redactingLog) WithGroup(name string) slog.Handler {
	return redactingLog{l.Handler.WithGroup(name), l.secrets}
}
