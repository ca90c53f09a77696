package workspace

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/plugins/workspace/internal/command"
)

// Config is the plugin's entry in agent.yml. Zero values stand for the
// defaults.
type Config struct {
	Root              string        `json:"root,omitempty" jsonschema:"default=." jsonschema_description:"The folder that the tools work in, relative to the folder of agent.yml."`
	MaxOutput         int           `json:"maxOutput,omitempty" jsonschema:"default=49152,minimum=1000" jsonschema_description:"Most bytes of text in one answer of a tool."`
	MaxLines          int           `json:"maxLines,omitempty" jsonschema:"default=2000,minimum=1" jsonschema_description:"Most lines that read_file shows at once."`
	MaxResults        int           `json:"maxResults,omitempty" jsonschema:"default=500,minimum=1" jsonschema_description:"Most entries of a listing and matches of a search."`
	MaxFileSize       int64         `json:"maxFileSize,omitempty" jsonschema:"default=10485760,minimum=1" jsonschema_description:"Largest file, in bytes, that is searched, edited or written. read_file reads larger ones by pages."`
	CommandTimeout    time.Duration `json:"commandTimeout,omitempty" jsonschema:"default=2m" jsonschema_description:"When a command is ended that names no time-out of its own."`
	MaxCommandTimeout time.Duration `json:"maxCommandTimeout,omitempty" jsonschema:"default=30m" jsonschema_description:"Longest time-out that a command may name."`
	Env               []string      `json:"env,omitempty" jsonschema_description:"Environment variables that commands see beside the usual ones (PATH, HOME, LANG and the like): names, or patterns such as NPM_*. A pattern never lets through what looks like a key or a token; a whole name does."`
	Ignore            []string      `json:"ignore,omitempty" jsonschema_description:"What listings and searches leave out, in the words of .gitignore; .git always is."`
	IgnoreFiles       []string      `json:"ignoreFiles,omitempty" jsonschema:"default=.gitignore" jsonschema_description:"Names of files that hold such rules for their folder; [] respects none."`
}

func (cfg Config) validate() error {
	errs := []error{command.CheckEnv(cfg.Env)}
	positive := func(name string, n int64) {
		if n < 0 {
			errs = append(errs, fmt.Errorf("%s: must be positive", name))
		}
	}
	positive("maxOutput", int64(cfg.MaxOutput))
	positive("maxLines", int64(cfg.MaxLines))
	positive("maxResults", int64(cfg.MaxResults))
	positive("maxFileSize", cfg.MaxFileSize)
	positive("commandTimeout", int64(cfg.CommandTimeout))
	positive("maxCommandTimeout", int64(cfg.MaxCommandTimeout))
	if c := cfg.commands(); c.timeout > c.longest {
		errs = append(errs, fmt.Errorf("commandTimeout: %s is longer than maxCommandTimeout, %s",
			c.timeout, c.longest))
	}
	for _, line := range cfg.Ignore {
		if _, ok := parseIgnoreLine(line); !ok {
			errs = append(errs, fmt.Errorf("ignore: %q matches nothing; write it as a line of .gitignore", line))
		}
	}
	for _, name := range cfg.IgnoreFiles {
		if name == "" || name != filepath.Base(name) || !filepath.IsLocal(name) {
			errs = append(errs, fmt.Errorf("ignoreFiles: %q is not the name of a file", name))
		}
	}
	return errors.Join(errs...)
}

func (cfg Config) limits() limits {
	from := cfg.IgnoreFiles
	if from == nil {
		from = []string{".gitignore"}
	}
	return limits{
		output: cfg.MaxOutput, lines: cfg.MaxLines, results: cfg.MaxResults, fileSize: cfg.MaxFileSize,
		ignore: append([]string{".git/"}, cfg.Ignore...), ignoreFrom: from,
	}.filled()
}

func (cfg Config) commands() commandLimits {
	l := commandLimits{
		timeout: cfg.CommandTimeout, longest: cfg.MaxCommandTimeout, output: cfg.limits().output,
		env: cfg.Env,
	}
	if l.longest == 0 {
		l.longest = max(30*time.Minute, l.timeout)
	}
	if l.timeout == 0 {
		l.timeout = min(2*time.Minute, l.longest)
	}
	return l
}

// rootPath is the configured root as a path of the system.
func (cfg Config) rootPath(c *core.Context) string {
	root := filepath.FromSlash(cfg.Root)
	if paths, ok := core.Environment.Get(c); ok && !filepath.IsAbs(root) {
		return filepath.Join(paths.Dir, root)
	}
	if root == "" {
		return "."
	}
	return root
}
