package toolsearch

import (
	"context"
	"errors"
	"math"
	"sync/atomic"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/plugins/toolsearch/index"
)

// Plugin shows the few tools that matter and offers tools to find the others.
var Plugin = core.Plugin[Config]{
	Name:        "toolsearch",
	Title:       "Tool search",
	Description: "Shows a model few tools of many, and lets it find, read and call the rest.",
	Aliases: []core.Alias{
		{Name: "@aalis/plugin-tool-search", Options: map[string]any{"preset": presetAalis}},
		{Name: "dsh-tool-search", Options: map[string]any{"preset": presetDSH}},
	},
	Provides:    core.Provides(Service),
	Harmless:    true,
	Apply:       apply,
	Reconfigure: reconfigure,
	Validate:    validate,
}

// Service gives the plugin's search to others.
var Service = core.NewService[*Search]("toolsearch")

// layer is one activation of the plugin.
type layer struct {
	c        *core.Context
	settings atomic.Pointer[settings]

	catalogues catalogues
	shelf      shelf
	sessions   *sessions
	notices    notices
	log        searchLog
}

func apply(c *core.Context, cfg Config) error {
	words, err := index.LoadWords()
	if err != nil {
		return err
	}
	s, err := resolve(cfg)
	if err != nil {
		return err
	}
	l := &layer{c: c, shelf: shelf{words: words}, sessions: newSessions()}
	l.settings.Store(s)
	return errors.Join(
		Service.Provide(c, &Search{l}),
		l.defineTools(),
		core.ToolSurface.Around(c, l.surface, core.Order(math.MinInt32)),
		core.ToolDone.On(c, l.toolDone),
		core.MemoryClear.Around(c, l.clear),
		core.AgentEvents.On(c, l.turnEnded),
		c.Tools().Use(core.DecisionOrder-100, l.directCalls),
	)
}

// reconfigure takes new options in place: they count from the next step on,
// and no session loses what it found.
func reconfigure(c *core.Context, _, cfg Config) (bool, error) {
	search, ok := Service.Get(c)
	if !ok {
		return false, nil
	}
	s, err := resolve(cfg)
	if err != nil {
		return false, err
	}
	search.l.settings.Store(s)
	return true, nil
}

// prepare has the index of a catalogue made before it is asked for.
func (l *layer) prepare(sp *split) {
	if sp.indexing.Swap(true) {
		return
	}
	// Refused only while the plugin unloads; a search then makes it itself.
	_ = l.c.Go("index", func(context.Context) error { sp.index(); return nil })
}

// saved reports that a session could not be written.
func (l *layer) saved(err error) {
	if err != nil {
		l.c.Logger().Warn("found tools are not kept", "err", err)
	}
}
