package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/agentd-host/agentd/core/config"
	"github.com/agentd-host/agentd/core/loader"
	"github.com/agentd-host/agentd/internal/trust"
)

// followTrust reloads when trust in the file that was found is given or taken
// back, until ctx ends. A file that was named is trusted for that.
func followTrust(ctx context.Context, env environment, l *loader.Loader, store *trust.Store) {
	if env.Config == "" || env.named {
		return
	}
	w := config.Watcher{Files: []config.Watched{{Path: trustFile(env), Optional: true}}}
	w.Changed = func(ctx context.Context, _ map[string]*config.File, _ error) error {
		if doc := l.Document(); doc != nil && slices.ContainsFunc(doc.Files, func(f config.FileInfo) bool {
			return f.Path == doc.File && f.Trusted != store.TrustedSum(f.Path, f.SHA256)
		}) {
			l.Reload(ctx) //nolint:errcheck // the loader logs and keeps it
		}
		return nil
	}
	w.Run(ctx)
}

// configReload has a daemon read its configuration again.
var configReload = operation[struct{}, struct{}]{"config/reload",
	func(ctx context.Context, h *running, _ struct{}) (struct{}, error) {
		return struct{}{}, h.loader.Reload(ctx)
	}}

// reloadDaemons has the daemons on the configuration of a folder read it again,
// so that what was trusted or forgotten holds for them.
func (s *settings) reloadDaemons(ctx context.Context, dir string) error {
	var errs []error
	for _, path := range s.configsOf(dir) {
		env, err := findEnvironment(path)
		if err != nil {
			return err
		}
		socket, err := env.socketPath()
		if err != nil {
			return err
		}
		daemon := dialDaemon(socket)
		if daemon == nil {
			continue
		}
		if _, err := configReload.do(ctx, target{remote: daemon}, struct{}{}); err != nil {
			errs = append(errs, fmt.Errorf("the daemon of %s: %w", path, err))
		}
	}
	return errors.Join(errs...)
}

// configsOf are the names under which a daemon may know the configuration of a
// folder.
func (s *settings) configsOf(dir string) []string {
	var paths []string
	add := func(path string) {
		if !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	}
	abs, errAbs := filepath.Abs(dir)
	real, errReal := filepath.EvalSymlinks(abs)
	for _, name := range configNames {
		if errAbs == nil {
			add(filepath.Join(abs, name))
		}
		if errReal == nil {
			add(filepath.Join(real, name))
		}
	}
	if env, err := findEnvironment(s.config); err == nil && env.Config != "" && sameFile(env.Dir, dir) {
		add(env.Config)
	}
	return paths
}
