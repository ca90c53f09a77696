package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/schema"
)

// Config are the options of the plugin.
type Config struct {
	File   string        `json:"file,omitempty" jsonschema_description:"The file, relative to the state folder. Optional. Default is agentd.db."`
	Expire time.Duration `json:"expire,omitempty" jsonschema_description:"Sessions that were not used for this long are deleted. Optional. Default is never."`
}

// pruneEvery is how often expired sessions are looked for.
const pruneEvery = time.Hour

// Plugin provides core.Sessions from a file. The store also is a
// core.SessionPorter and a core.SessionKeeper.
var Plugin = core.Plugin[Config]{
	Name: "memory", Title: "Memory",
	Description: "Keeps sessions in an SQLite file.",
	Harmless:    true,
	Needs:       core.Needs(core.Environment),
	Provides:    core.Provides(core.Sessions),
	Validate: func(cfg Config) error {
		if cfg.Expire < 0 {
			return schema.At(fmt.Errorf("want a time above zero, got %s", cfg.Expire), "expire")
		}
		return nil
	},
	Apply: apply,
}

func apply(c *core.Context, cfg Config) error {
	env, ok := core.Environment.Get(c)
	if !ok {
		return fmt.Errorf("environment: %w", core.ErrUnavailable)
	}
	name := cmp.Or(cfg.File, "agentd.db")
	if !filepath.IsAbs(name) {
		name = filepath.Join(env.State, name)
	}
	s, err := open(c, name)
	if err != nil {
		return err
	}
	if err := c.OnDispose(s.close); err != nil {
		return errors.Join(err, s.close())
	}
	return errors.Join(expire(c, s, cfg.Expire), core.Sessions.Provide(c, s))
}

// expire deletes sessions that nobody used for long, now and every hour.
func expire(c *core.Context, s *store, after time.Duration) error {
	if after <= 0 {
		return nil
	}
	return c.Go("expire sessions", func(ctx context.Context) error {
		for {
			gone, err := s.Prune(ctx, time.Now().Add(-after), false)
			if err != nil && ctx.Err() == nil {
				c.Logger().Error("deleting expired sessions", "error", err)
			}
			if len(gone) > 0 {
				c.Logger().Info("deleted expired sessions", "count", len(gone))
			}
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(pruneEvery):
			}
		}
	})
}
