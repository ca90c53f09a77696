package cli

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/config"
	"github.com/agentd-host/agentd/core/loader"
)

// settings are the flags that every command knows, and the plugins that are
// compiled in.
type settings struct {
	plugins []core.AnyPlugin
	console *console
	secrets secrets // of all configurations that were in force

	config    string
	set       []string
	verbose   bool
	logLevel  string
	logFormat string
	logFile   string

	allow, deny []string
	readOnly    bool
}

func (s *settings) register(f *pflag.FlagSet) {
	f.StringVarP(&s.config, "config", "c", "", "the config file; default: AGENTD_CONFIG, else agent.yml here or above")
	f.StringArrayVar(&s.set, "set", nil, "set a value over the files: --set plugins.agent.model=offline")
	f.BoolVarP(&s.verbose, "verbose", "v", false, "say more (log level debug)")
	f.StringVar(&s.logLevel, "log-level", "", "debug, info, warn or error; default: warn, and info for the daemon")
	f.StringVar(&s.logFormat, "log-format", "text", "text or json")
	f.StringVar(&s.logFile, "log-file", "", "write the log there instead of to stderr")
}

// registerPolicy adds the flags that change policy for one run.
func (s *settings) registerPolicy(f *pflag.FlagSet) {
	f.StringArrayVar(&s.allow, "allow", nil, "run these tools without asking (a name or glob), for this run")
	f.StringArrayVar(&s.deny, "deny", nil, "refuse these tools, for this run")
	f.BoolVar(&s.readOnly, "read-only", false, "refuse everything that is not read only, for this run")
}

// check refuses flags whose values have no such form, before any command does
// anything.
func (s *settings) check() error {
	if _, err := s.level(slog.LevelInfo); err != nil {
		return usageError(fmt.Errorf("--log-level %q: want debug, info, warn or error", s.logLevel))
	}
	if s.logFormat != "text" && s.logFormat != "json" {
		return usageError(fmt.Errorf("--log-format %q: want text or json", s.logFormat))
	}
	for _, r := range s.overrides() {
		if err := config.CheckPattern(r.Pattern); err != nil {
			return usageError(fmt.Errorf("%s %q: %w", r.Position, r.Pattern, err))
		}
	}
	return nil
}

// overrides are the policy flags as rules.
func (s *settings) overrides() []core.PolicyRule {
	var rules []core.PolicyRule
	for _, p := range s.allow {
		rules = append(rules, core.PolicyRule{Pattern: p, Value: core.Auto, Position: "--allow"})
	}
	for _, p := range s.deny {
		rules = append(rules, core.PolicyRule{Pattern: p, Value: core.Off, Position: "--deny"})
	}
	return rules
}

// schema is that of agent.yml with these plugins.
func (s *settings) schema() (*config.Schema, error) { return loader.NewSchema(s.plugins...) }

// sources are the layers of configuration of this process.
func (s *settings) sources(e environment, trusted func(path, sha256 string) bool) config.Sources {
	src := config.Sources{
		File: e.Config, Named: e.named, Trusted: trusted,
		Environ: os.Environ(), Set: s.set,
	}
	if home := filepath.Join(e.Home, configNames[0]); home != e.Config {
		src.Home = home
	}
	return src
}

// level is that of the log; usual is the one without a flag.
func (s *settings) level(usual slog.Level) (level slog.Level, err error) {
	switch {
	case s.logLevel != "":
		err = level.UnmarshalText([]byte(s.logLevel))
		return level, err
	case s.verbose:
		return slog.LevelDebug, nil
	}
	return usual, nil
}

// logger makes the log of this process; usual is the level without a flag.
func (s *settings) logger(usual slog.Level) (*slog.Logger, io.Closer, error) {
	level, err := s.level(usual)
	if err != nil {
		return nil, nil, err
	}
	var out io.Writer = s.console
	var closer io.Closer = io.NopCloser(nil)
	if s.logFile != "" {
		f, err := os.OpenFile(s.logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, nil, fmt.Errorf("--log-file: %w", err)
		}
		out, closer = f, f
	}
	opts := &slog.HandlerOptions{Level: level}
	var handler slog.Handler = slog.NewTextHandler(out, opts)
	if s.logFormat == "json" {
		handler = slog.NewJSONHandler(out, opts)
	}
	return slog.New(redactingLog{handler, &s.secrets}), closer, nil
}

// errorLines are the lines of an error that may hold several.
func errorLines(err error) []string {
	if err == nil {
		return nil
	}
	var many config.Errors
	if !errors.As(err, &many) {
		return strings.Split(err.Error(), "\n")
	}
	lines := make([]string, len(many))
	for i, issue := range many {
		lines[i] = issue.String()
	}
	return lines
}
