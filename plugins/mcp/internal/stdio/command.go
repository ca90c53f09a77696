package stdio

import (
	"log/slog"
	"time"

	"github.com/agentd-host/agentd/internal/procguard"
)

// Command says which program to run. It is executed directly, never through
// a shell.
type Command struct {
	// Name is a path, or a name that is looked up in PATH.
	Name string
	// Args are the arguments after the name.
	Args []string
	// Env is added to the small environment that every server gets (see
	// [Environ]); it wins over it.
	Env map[string]string
	// Dir is the working directory. Empty means ours.
	Dir string
}

// Options tunes a connection. Nil, and each zero field, means the default.
type Options struct {
	// MaxLine is the longest line in bytes that is taken from the server.
	// The default is 64 MiB. A longer answer fails its own call only.
	MaxLine int
	// Grace is how long the server has to leave after its stdin was closed,
	// and again after the termination signal. The default is 2 s.
	Grace time.Duration
	// Stderr is how many bytes of the server's stderr are remembered. The
	// default is 8 KiB.
	Stderr int
	// Guard, if set, ends the server when this process dies without being
	// able to.
	Guard *procguard.Guard
	// Redact takes secrets out of what the server prints before anyone sees
	// it. The default leaves it as it is.
	Redact func(string) string
	// Logger receives the server's stderr, line by line, at debug level.
	Logger *slog.Logger
}

func (o *Options) withDefaults() Options {
	var out Options
	if o != nil {
		out = *o
	}
	if out.MaxLine <= 0 {
		out.MaxLine = 64 << 20
	}
	if out.Grace <= 0 {
		out.Grace = 2 * time.Second
	}
	if out.Stderr <= 0 {
		out.Stderr = 8 << 10
	}
	if out.Redact == nil {
		out.Redact = func(text string) string { return text }
	}
	if out.Logger == nil {
		out.Logger = slog.New(slog.DiscardHandler)
	}
	return out
}
