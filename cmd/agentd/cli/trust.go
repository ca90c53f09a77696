package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentd-host/agentd/core/config"
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
	files, err := folderFiles(dir)
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return fmt.Errorf("%s: no agent.yml and nothing under .agentd to trust", dir)
	}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintln(os.Stderr, path)
		for _, line := range s.wants(env, path) {
			fmt.Fprintln(os.Stderr, "  "+visible(line))
		}
	}
	if !yes {
		ok, err := confirm(ctx, "trust these files as they are?")
		if err != nil || !ok {
			return errors.Join(err, notTrusted(err))
		}
	}
	if err := newTrustStore(env).accept(files); err != nil {
		return err
	}
	fmt.Printf("trusted %d files of %s\n", len(files), realPath(dir))
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

// folderFiles reads the files of a folder that need trust, by path.
func folderFiles(dir string) (map[string][]byte, error) {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, usageError(fmt.Errorf("%s is no folder", dir))
	}
	files := map[string][]byte{}
	for _, name := range configNames {
		if err := addFile(files, filepath.Join(dir, name)); err != nil {
			return nil, err
		}
	}
	for _, below := range []string{".agentd", ".dsh"} {
		err := filepath.WalkDir(filepath.Join(dir, below), func(path string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil || d.IsDir() {
				return err
			}
			return addFile(files, path)
		})
		if err != nil {
			return nil, err
		}
	}
	return files, nil
}

func addFile(files map[string][]byte, path string) error {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		files[path] = text
	}
	return err
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
