package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/agentd-host/agentd/core/config"
	"github.com/agentd-host/agentd/core/schema"
	"github.com/agentd-host/agentd/internal/trust"
	"github.com/agentd-host/agentd/plugins/mcp"
)

// askConsent is for the first interactive start in a folder: it shows what the
// folder's own files want and asks whether to trust them. It asks once for
// each content; without trust the conversation goes on with what an untrusted
// file may do.
func (s *settings) askConsent(ctx context.Context) error {
	if !isTerminal(os.Stdin) || !isTerminal(os.Stderr) {
		return nil
	}
	env, err := findEnvironment(s.config)
	if err != nil {
		return err
	}
	store := newTrustStore(env)
	files, err := s.wanting(env, store)
	if err != nil || len(files) == 0 {
		return err
	}
	declined := declinedMark(env, files)
	if _, err := os.Stat(declined); err == nil {
		return nil
	}
	fmt.Fprintf(os.Stderr, "%s brings files along that nobody trusted yet:\n", env.Dir)
	if err := s.showWants(os.Stderr, files); err != nil {
		return err
	}
	yes, err := confirm(ctx, "trust them as they are? Without it they are left out.")
	switch {
	case err != nil:
		return err
	case yes:
		return errors.Join(s.accept(env, store, files), s.reloadDaemons(ctx, env.Dir))
	}
	fmt.Fprintln(os.Stderr, "left out; agentd trust accepts them later")
	return markDeclined(declined)
}

// accept records that the person at this terminal trusts files that were shown
// to him, and with that consents to the command lines in them: first to those,
// since hosts follow trust.
func (s *settings) accept(env environment, store *trust.Store, files []trust.File) error {
	for _, f := range files {
		if !isConfig(f.Path) {
			continue
		}
		servers, secrets := s.serversOf(env, f)
		env.Config = f.Path
		if err := mcp.Consent(env.Paths, userName()+" by trust in the file", servers, secrets); err != nil {
			return err
		}
	}
	return store.Accept(userName(), files...)
}

// serversOf are the MCP servers of a configuration file as it would be loaded.
// One that can't be loaded, or that is not what was shown any more, starts
// nothing, so there is nothing to consent to.
func (s *settings) serversOf(env environment, f trust.File) (servers map[string]mcp.ServerConfig, secrets []string) {
	schema, err := s.schema()
	if err != nil {
		return nil, nil
	}
	env.Config, env.named = f.Path, true
	src := s.sources(env, nil)
	src.Home = "" // was not shown
	doc, err := schema.Load(src)
	if err != nil || !slices.ContainsFunc(doc.Files, func(r config.FileInfo) bool { return r.Path == f.Path && r.SHA256 == f.SHA256 }) {
		return nil, nil
	}
	return mcpServers(doc), doc.Secrets
}

// mcpServers are the servers of all entries of the plugin, by name.
func mcpServers(doc *config.Document) map[string]mcp.ServerConfig {
	all := map[string]mcp.ServerConfig{}
	doc.Walk(func(e *config.Entry) {
		var options mcp.Config
		if e.Plugin != mcp.Plugin.Name || schema.Decode(e.Config, &options) != nil {
			return
		}
		maps.Copy(all, options.Servers)
		maps.Copy(all, options.MCPServers)
	})
	return all
}

// wanting lists the files of the config's folder that want more than an
// untrusted file may, and are not trusted. A config file that was named is.
func (s *settings) wanting(env environment, store *trust.Store) ([]trust.File, error) {
	all, err := trust.Scan(env.Dir)
	if err != nil {
		return nil, err
	}
	var files []trust.File
	for _, f := range all {
		if store.TrustedSum(f.Path, f.SHA256) || env.named && sameFile(f.Path, env.Config) {
			continue
		}
		if isConfig(f.Path) {
			lines, err := s.wants(f)
			if err != nil {
				return nil, err
			}
			if len(lines) == 0 {
				continue
			}
		}
		files = append(files, f)
	}
	return files, nil
}

func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// declinedMark is a file whose being there says that a person declined these
// contents.
func declinedMark(env environment, files []trust.File) string {
	sum := sha256.New()
	for _, f := range files {
		fmt.Fprintf(sum, "%s %s\n", f.SHA256, f.Path)
	}
	return filepath.Join(env.State, "declined", hex.EncodeToString(sum.Sum(nil)[:16]))
}

func markDeclined(path string) error {
	if err := privateFolder(filepath.Dir(path)); err != nil {
		return err
	}
	return os.WriteFile(path, nil, 0o600)
}
