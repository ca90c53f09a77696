package cli

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/agentd-host/agentd/internal/trust"
)

//go:embed templates/agent.yml
var firstConfig []byte

func newInit(s *settings) *cobra.Command {
	return &cobra.Command{
		Use:   "init [DIR]",
		Short: "Write a commented agent.yml to begin with",
		Long: "init writes an agent.yml into this folder, or into DIR, with every plugin of\n" +
			"the standard set and what it does. It never overwrites one.",
		Example: "  agentd init && agentd chat \"list_files\"",
		Args:    wantArgs(cobra.MaximumNArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			dir := "."
			if len(args) == 1 {
				dir = args[0]
			}
			path, err := s.writeFirstConfig(dir)
			if err != nil {
				return err
			}
			fmt.Println(path)
			return nil
		},
	}
}

// writeFirstConfig writes agent.yml and trusts it: a person asked for it.
func (s *settings) writeFirstConfig(dir string) (string, error) {
	env, err := findEnvironment(s.config)
	if err != nil {
		return "", err
	}
	for _, name := range configNames {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return "", fmt.Errorf("%s is there already; it was not changed", filepath.Join(dir, name))
		}
	}
	path := filepath.Join(dir, configNames[0])
	err = writeNew(path, firstConfig)
	if errors.Is(err, fs.ErrNotExist) {
		return "", usageError(fmt.Errorf("%s is no folder", dir))
	}
	if err != nil {
		return "", err
	}
	file, err := trust.FileOf(path, firstConfig)
	if err != nil {
		return "", err
	}
	return path, newTrustStore(env).Accept(userName(), file)
}
