package loader

import (
	"sync"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/config"
)

// group is the inside of a group:id entry: a fiber that does nothing but hold
// the fibers of its entries and narrow what they see.
type group struct {
	mu     sync.Mutex    // guards the fields below
	ctx    *core.Context // of the present activation
	filter *core.Scope   // holds the filter in force; nil if there is none
}

func (g *group) plugin() core.AnyPlugin {
	return core.Plugin[config.GroupOptions]{
		Name: config.GroupName,
		Apply: func(c *core.Context, options config.GroupOptions) error {
			g.mu.Lock()
			g.ctx, g.filter = c, nil
			g.mu.Unlock()
			return g.narrow(c, options.Filter)
		},
		// Another filter takes effect in place: what is in the group goes on.
		Reconfigure: func(c *core.Context, _, options config.GroupOptions) (bool, error) {
			return true, g.narrow(c, options.Filter)
		},
	}
}

// narrow replaces the filter. For a moment both hold, so that nothing shows
// that neither would have shown.
func (g *group) narrow(c *core.Context, f config.Filter) error {
	g.mu.Lock()
	old := g.filter
	g.mu.Unlock()
	var scope *core.Scope
	if len(f.Include) > 0 || len(f.Exclude) > 0 {
		var err error
		if scope, err = c.Scope("filter"); err != nil {
			return err
		}
		if err := scope.Tools().Filter(core.Filter{Include: f.Include, Exclude: f.Exclude}); err != nil {
			return err
		}
	}
	g.mu.Lock()
	g.filter = scope
	g.mu.Unlock()
	if old == nil {
		return nil
	}
	return old.Dispose(c)
}

// context is where the group's entries are loaded; nil if it never started.
func (g *group) context() *core.Context {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.ctx
}
