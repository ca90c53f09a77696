package workspace

import (
	"errors"
	"path/filepath"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/internal/procguard"
)

// Plugin is the workspace. It provides [core.Workspace] and the tools
// read_file, list_files, search_files, write_file, edit_file, run_command,
// todo_write and ask_user.
var Plugin = core.Plugin[Config]{
	Name:        "workspace",
	Title:       "Workspace",
	Description: "Files and commands in one folder, a list of things to do, and questions to the user.",
	Needs:       core.Needs(core.Environment.Optional(), core.Approvals.Optional()),
	Provides:    core.Provides(core.Workspace),
	Validate:    Config.validate,
	Apply:       apply,
	Harmless:    true,
	Folders:     []string{"root"},
}

func apply(c *core.Context, cfg Config) error {
	f, err := openFolder(cfg.rootPath(c), cfg.limits())
	if err != nil {
		return err
	}
	if paths, ok := core.Environment.Get(c); ok {
		f.guard(paths.Config, paths.Home, paths.State)
	}
	t := &tools{c: c, folder: f, commands: cfg.commands()}
	t.commands.guard = new(procguard.Guard)
	return errors.Join(
		c.OnDispose(f.Close),
		c.OnDispose(t.commands.guard.Close),
		core.Workspace.Provide(c, root(f.path)),
		t.register(),
	)
}

// root is the path of the workspace, as a service.
type root string

func (r root) Path() string { return string(r) }

// guard adds files and folders of agentd itself to those that a write needs
// a permission of its own for, if they lie below the root.
func (f *folder) guard(paths ...string) {
	for _, p := range paths {
		if p == "" {
			continue
		}
		if real, err := filepath.EvalSymlinks(p); err == nil {
			p = real
		}
		if rel, err := filepath.Rel(f.path, p); err == nil && filepath.IsLocal(rel) && rel != "." {
			f.guarded = append(f.guarded, foldPath(filepath.ToSlash(rel)))
		}
	}
}

var _ core.Root = root("")
