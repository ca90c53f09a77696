package toolsearch

import (
	"context"
	"errors"
	"math"
	"net/http"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/plugins/toolsearch/index"
)

// pluginName also names what the plugin keeps in a session.
const pluginName = "toolsearch"

// Plugin shows the few tools that matter and offers tools to find the others.
var Plugin = core.Plugin[Config]{
	Name:        pluginName,
	Title:       "Tool search",
	Description: "Shows a model few tools of many, and lets it find, read and call the rest.",
	Aliases: []core.Alias{
		{Name: "@aalis/plugin-tool-search", Options: map[string]any{"preset": presetAalis}},
		{Name: "dsh-tool-search", Options: map[string]any{"preset": presetDSH}},
	},
	Needs: core.Needs(
		core.Environment.Optional(), core.Workspace.Optional(), core.Trust.Optional(), core.Secrets.Optional(),
	),
	Provides:    core.Provides(Service),
	Harmless:    true,
	Apply:       apply,
	Reconfigure: reconfigure,
	Validate:    validate,
}

// Service gives the plugin's search to others.
var Service = core.NewService[*Search](pluginName)

// layer is one activation of the plugin.
type layer struct {
	c       *core.Context
	runtime runtime
	setup   *core.Fiber // the skill that tells how to configure

	catalogues catalogues
	shelf      shelf
	sessions   *sessions
	notices    notices
	log        searchLog
	vectors    vectorStore
	sentences  sentences
	client     *http.Client
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
	l := &layer{c: c, runtime: runtime{c: c, base: s}, shelf: shelf{words: words}, sessions: newSessions(),
		vectors: vectorStore{c: c}, log: searchLog{c: c, path: searchPath(c)}, client: newClient(),
	}
	if l.setup, err = core.Load(c, setupSkill, skillOf(s)); err != nil {
		return err
	}
	return errors.Join(
		c.OnDispose(func() error { l.client.CloseIdleConnections(); return nil }),
		c.OnDispose(l.log.close),
		Service.Provide(c, &Search{l}),
		l.defineTools(),
		l.defineConfigTools(c, nil, s),
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
	l := search.l
	old := l.runtime.reset(s)
	if err := l.defineConfigTools(c, old, s); err != nil {
		l.runtime.reset(old)
		return false, err
	}
	if skillOf(old) == skillOf(s) {
		return true, nil
	}
	return true, core.Update(c, l.setup, skillOf(s))
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
