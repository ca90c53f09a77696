package skills

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"time"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/schema"
)

// Config is the plugin's entry in agent.yml.
type Config struct {
	Folders []string `json:"folders,omitempty" jsonschema_description:"More folders of skills, relative to the folder of agent.yml. They count after the workspace's and before the user's, and are trusted, since they are named here."`
}

// Plugin provides [core.Skills] and, while there is a skill, the tool skill.
var Plugin = core.Plugin[Config]{
	Name:        "skills",
	Title:       "Skills",
	Description: "Texts that teach agents how to do something: from the workspace, the user's home and plugins.",
	Needs: core.Needs(
		core.Workspace.Optional().Restarts(), core.Environment.Optional(), core.Trust.Optional(),
	),
	Provides: core.Provides(core.Skills),
	Apply:    apply,
	Harmless: true,
}

// every is how often the folders are looked through.
const every = 2 * time.Second

func apply(c *core.Context, cfg Config) error {
	s := newSet(c, foldersOf(c, cfg))
	return errors.Join(
		s.update(),
		core.Skills.Provide(c, core.SkillSet(s)),
		c.Go("watch", s.watch),
	)
}

// foldersOf lists the folders of skills, the most particular first.
func foldersOf(c *core.Context, cfg Config) []folder {
	var list []folder
	paths, _ := core.Environment.Get(c)
	root, ok := core.Workspace.Get(c)
	if ok && !sameFolder(filepath.Join(root.Path(), ".agentd"), paths.Home) {
		list = append(list, folder{base: root.Path(), sub: ".agentd/skills", confined: true, trusted: truster(c)})
	}
	for _, name := range cfg.Folders {
		if !filepath.IsAbs(name) {
			name = filepath.Join(paths.Dir, name)
		}
		list = append(list, folder{base: name, sub: "."})
	}
	if paths.Home != "" {
		list = append(list, folder{base: paths.Home, sub: "skills"})
	}
	return list
}

// sameFolder tells whether the workspace is the user's home, whose skills
// are his own and need nobody's trust.
func sameFolder(a, b string) bool {
	x, errA := os.Stat(a)
	y, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(x, y)
}

// truster asks whoever knows what people accepted, each time anew.
func truster(c *core.Context) func(string, []byte) bool {
	return func(path string, content []byte) bool {
		t, ok := core.Trust.Get(c)
		return ok && t.Trusted(path, content)
	}
}

// watch keeps the tool up to date.
func (s *set) watch(ctx context.Context) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case <-s.stale:
		}
		if err := s.update(); err != nil && ctx.Err() == nil {
			return err
		}
	}
}

// input is what the tool takes.
type input struct {
	Name string `json:"name,omitempty" jsonschema_description:"Name of the skill. Without it the skills are listed."`
}

// publish lets the tool describe a catalogue; s.mu is held. What is described
// already is left alone: a call that was just decided about would have to be
// made again.
func (s *set) publish(now *catalogue) error {
	if now.equal(s.shown) {
		return nil
	}
	if err := s.define(now); err != nil {
		return err
	}
	s.shown = now
	return nil
}

// define puts the tool for a catalogue in place of the present one. Without
// skills there is none.
func (s *set) define(now *catalogue) error {
	if len(now.all()) == 0 {
		return s.c.Tools().Remove("skill")
	}
	raw, err := schema.For(reflect.TypeFor[input]())
	if err != nil {
		return err
	}
	return s.c.Tools().Replace(core.Tool{
		Name: "skill", Title: "Read a skill", Subsystem: "Skills",
		Description: now.describe(), Parameters: raw,
		Traits:     core.Traits{Effect: core.Read, Parallel: true, AlwaysLoad: true},
		RenderCall: renderCall, Run: s.run,
	})
}

func (s *set) run(_ context.Context, call *core.Invocation) (core.Result, error) {
	var in input
	if err := schema.Decode(call.Args, &in); err != nil {
		return core.Result{}, err
	}
	now := s.latest()
	if in.Name == "" {
		return core.TextResult(now.list()), nil
	}
	skill, err := now.get(in.Name)
	return core.TextResult(skill.Text), err
}
