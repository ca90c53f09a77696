package loader

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/config"
)

// Options are the settings of a loader.
type Options struct {
	// Schema checks the configuration. It must know exactly Plugins; see
	// [Describe]. Required.
	Schema *config.Schema

	// Plugins are those that entries may name.
	Plugins []core.AnyPlugin

	// Sources says where the configuration is.
	Sources config.Sources

	// Publish is called with a document that is about to be applied, before
	// any plugin is touched: its policy holds first. It must not wait for a
	// plugin. Optional.
	Publish func(ctx context.Context, doc *config.Document)

	// Accept is called before Enable, Disable and SetPolicy write a file; see
	// [Editor]. Optional.
	Accept func(before, after *config.File) error

	// Patience bounds how long a reload waits for one entry to start or to
	// stop. What takes longer goes on by itself and is reported. Optional.
	// Default is 60 s.
	Patience time.Duration

	// Watcher is a template for the watcher that Run uses: durations and
	// PollOnly. Optional.
	Watcher config.Watcher

	// Log says what was loaded and what failed. Optional. Default is
	// slog.Default().
	Log *slog.Logger
}

// Loader applies documents to a host. It is made with [New].
type Loader struct {
	opts    Options
	root    *core.Context
	plugins map[string]core.AnyPlugin

	turn chan struct{} // holds one token: who has it may apply

	mu    sync.Mutex // guards the fields below, for Status; written with the turn only
	doc   *config.Document
	slots map[string]*slot // by id
	order []string         // ids in the order of loading
	last  outcome
}

// outcome is how the last reload went.
type outcome struct {
	good    time.Time // of the last document that was accepted
	err     error     // of the last reload; nil if all of it was applied
	errTime time.Time
}

// New makes a loader whose entries will be loaded on c. It does nothing yet.
func New(c *core.Context, opts Options) (*Loader, error) {
	if opts.Schema == nil {
		return nil, errors.New("loader: Options.Schema is missing")
	}
	if opts.Patience <= 0 {
		opts.Patience = time.Minute
	}
	if opts.Log == nil {
		opts.Log = slog.Default()
	}
	l := &Loader{opts: opts, root: c, plugins: map[string]core.AnyPlugin{},
		turn: make(chan struct{}, 1), slots: map[string]*slot{}}
	for _, p := range opts.Plugins {
		name := p.Info().Name
		if l.plugins[name] != nil {
			return nil, fmt.Errorf("loader: two plugins are named %q", name)
		}
		l.plugins[name] = p
	}
	return l, nil
}

// Describe is what the configuration needs to know of a plugin.
func Describe(p core.AnyPlugin) config.Plugin {
	info := p.Info()
	d := config.Plugin{Name: info.Name, Title: info.Title, Config: info.Config, Renamed: info.Renamed,
		Harmless: info.Harmless, Folders: info.Folders, Check: checkOf(p)}
	for _, a := range info.Aliases {
		d.Aliases = append(d.Aliases, config.Alias{Name: a.Name, Options: a.Options})
	}
	return d
}

// NewSchema compiles the schema of a set of plugins.
func NewSchema(plugins ...core.AnyPlugin) (*config.Schema, error) {
	described := make([]config.Plugin, len(plugins))
	for i, p := range plugins {
		described[i] = Describe(p)
	}
	return config.NewSchema(described...)
}

// checkOf is what the plugin itself says about options, with the places of the
// issues where it knows them.
func checkOf(p core.AnyPlugin) func(json.RawMessage) error {
	return func(options json.RawMessage) error {
		err := core.CheckConfig(p, options)
		var invalid *core.ConfigError
		if errors.As(err, &invalid) && len(invalid.Issues) > 0 {
			return invalid.Issues
		}
		return err
	}
}

// lock takes the turn, or gives up when ctx ends.
func (l *Loader) lock(ctx context.Context) error {
	select {
	case l.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (l *Loader) unlock() { <-l.turn }

// Reload reads the configuration and moves the host to it. If anything is
// wrong with it the error says so and nothing changes. Otherwise it is
// applied; the error then joins what went wrong with single entries, each
// under its name. Entries that failed before are tried again.
func (l *Loader) Reload(ctx context.Context) error {
	if err := l.lock(ctx); err != nil {
		return err
	}
	defer l.unlock()
	return l.reload(ctx, nil)
}

// reload is Reload with the turn taken. read replaces reading files.
func (l *Loader) reload(ctx context.Context, read func(string) (*config.File, error)) error {
	doc, err := l.read(read)
	if err != nil {
		return err
	}
	return l.move(ctx, doc)
}

// read reads the configuration, and notes what is wrong with it.
func (l *Loader) read(read func(string) (*config.File, error)) (*config.Document, error) {
	src := l.opts.Sources
	src.Read = read
	doc, err := l.opts.Schema.Load(src)
	if err == nil {
		err = l.known(doc)
	}
	if err != nil {
		l.refused(err)
		return nil, err
	}
	return doc, nil
}

// move moves the host to a document. The error is about single entries.
func (l *Loader) move(ctx context.Context, doc *config.Document) error {
	for _, w := range doc.Warnings {
		l.opts.Log.Warn(w.String())
	}
	if l.opts.Publish != nil {
		l.opts.Publish(ctx, doc)
	}
	err := l.apply(ctx, doc)
	l.accepted(doc, err)
	return err
}

// known refuses documents whose plugins the loader lacks.
func (l *Loader) known(doc *config.Document) error {
	var errs []error
	doc.Walk(func(e *config.Entry) {
		if e.Group == nil && l.plugins[e.Plugin] == nil {
			errs = append(errs, fmt.Errorf("%s: %s: the plugin %q is not compiled in", e.Pos, e.Name(), e.Plugin))
		}
	})
	return errors.Join(errs...)
}

func (l *Loader) refused(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last.err, l.last.errTime = err, time.Now()
	if l.doc == nil {
		return // whoever loads for the first time gets the error
	}
	l.opts.Log.Error("the configuration was not taken, the last good one goes on", "err", err)
}

func (l *Loader) accepted(doc *config.Document, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.doc = doc
	l.last.good, l.last.err = time.Now(), err
	l.opts.Log.Info("configuration applied", "file", doc.File)
	if err != nil {
		l.last.errTime = l.last.good
	}
}

// Document returns what was last accepted, or nil before the first time.
func (l *Loader) Document() *config.Document {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.doc
}

// Close disposes all entries, last loaded first, and waits for them. The host
// would do the same when c ends.
func (l *Loader) Close(ctx context.Context) error {
	if err := l.lock(ctx); err != nil {
		return err
	}
	defer l.unlock()
	return l.apply(ctx, &config.Document{})
}
