package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentd-host/agentd/core/config"
	"github.com/agentd-host/agentd/internal/trust"
)

func newTrust(s *settings) *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use:   "trust [DIR]",
		Short: "Accept what a folder's own files ask for",
		Long: "trust shows what agent.yml and the files under .agentd in a folder hold that\n" +
			"needs a person's consent, and accepts exactly their present content. A change\n" +
			"of a file needs consent again.",
		Example: "  agentd trust\n  agentd trust --yes ~/src/project",
		Args:    wantArgs(cobra.MaximumNArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			dir := "."
			if len(args) == 1 {
				dir = args[0]
			}
			return s.trustFolder(c.Context(), dir, yes)
		},
	}
	c.Flags().BoolVarP(&yes, "yes", "y", false, "accept without a question")
	return c
}

// trustFolder shows the files of a folder and accepts them.
func (s *settings) trustFolder(ctx context.Context, dir string, yes bool) error {
	env, err := findEnvironment(s.config)
	if err != nil {
		return err
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return usageError(fmt.Errorf("%s is no folder", dir))
	}
	files, err := trust.Scan(dir)
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return fmt.Errorf("%s: no agent.yml and nothing under .agentd to trust", dir)
	}
	for _, f := range files {
		fmt.Fprintln(os.Stderr, visible(f.Path))
		for _, line := range s.wants(env, f.Path) {
			fmt.Fprintln(os.Stderr, "  "+visible(line))
		}
	}
	if !yes {
		ok, err := confirm(ctx, "trust these files as they are?")
		if err != nil || !ok {
			return errors.Join(err, notTrusted(err))
		}
	}
	if err := newTrustStore(env).Accept(userName(), files...); err != nil {
		return err
	}
	fmt.Printf("trusted %d files of %s\n", len(files), dir)
	return nil
}

func notTrusted(err error) error {
	if err != nil {
		return nil
	}
	return &codedError{exitError, errors.New("nothing was trusted")}
}

// wants lists what an agent.yml asks for beyond what an untrusted one may.
func (s *settings) wants(env environment, path string) []string {
	if !slices.Contains(configNames, filepath.Base(path)) {
		return nil
	}
	schema, err := s.schema()
	if err != nil {
		return []string{err.Error()}
	}
	doc, err := schema.Load(config.Sources{File: path})
	if err != nil {
		return errorLines(err)
	}
	var lines []string
	for _, l := range doc.LeftOut {
		lines = append(lines, l.String())
	}
	return lines
}

// confirm asks a yes-or-no question at the terminal; anything but yes is no.
func confirm(ctx context.Context, question string) (bool, error) {
	if !isTerminal(os.Stdin) {
		return false, usageError(errors.New("no terminal to ask at: say --yes"))
	}
	lines := &plainLines{in: os.Stdin, out: os.Stderr}
	line, err := lines.readLine(ctx, question+" [y/N] ")
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	line = strings.ToLower(strings.TrimSpace(line))
	return line == "y" || line == "yes", nil
}
