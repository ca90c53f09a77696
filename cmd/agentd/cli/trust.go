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
	"github.com/agentd-host/agentd/plugins/toolpolicy"
)

func newTrust(s *settings) *cobra.Command {
	var yes, forget bool
	c := &cobra.Command{
		Use:   "trust [DIR]",
		Short: "Accept what a folder's own files ask for",
		Long: "trust shows what agent.yml and the files under .agentd in a folder hold that\n" +
			"needs a person's consent, and accepts exactly their present content. A change\n" +
			"of a file needs consent again. --forget takes back what was accepted.",
		Example: "  agentd trust\n  agentd trust --yes ~/src/project\n  agentd trust --forget ~/src/project",
		Args:    wantArgs(cobra.MaximumNArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			dir := "."
			if len(args) == 1 {
				dir = args[0]
			}
			if forget {
				return s.forgetFolder(c.Context(), dir)
			}
			return s.trustFolder(c.Context(), dir, yes)
		},
	}
	c.Flags().BoolVarP(&yes, "yes", "y", false, "accept without a question")
	c.Flags().BoolVar(&forget, "forget", false, "take back what was accepted of the folder")
	c.MarkFlagsMutuallyExclusive("yes", "forget")
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
	if err := s.showWants(os.Stderr, files); err != nil {
		return err
	}
	if !yes {
		ok, err := confirm(ctx, "trust these files as they are?")
		if err != nil || !ok {
			return errors.Join(err, notTrusted(err))
		}
	}
	if err := s.accept(env, newTrustStore(env), files); err != nil {
		return err
	}
	fmt.Printf("trusted %d files of %s\n", len(files), dir)
	return s.reloadDaemons(ctx, dir)
}

// forgetFolder takes back what was accepted of a folder.
func (s *settings) forgetFolder(ctx context.Context, dir string) error {
	env, err := findEnvironment(s.config)
	if err != nil {
		return err
	}
	n, err := newTrustStore(env).Forget(dir)
	if err != nil {
		return err
	}
	if n == 0 {
		return fmt.Errorf("%s: nothing of it was trusted", dir)
	}
	fmt.Printf("forgot %d files of %s\n", n, dir)
	return s.reloadDaemons(ctx, dir)
}

func notTrusted(err error) error {
	if err != nil {
		return nil
	}
	return &codedError{exitError, errors.New("nothing was trusted")}
}

// showWants prints what files ask for, so that a person can decide.
func (s *settings) showWants(w io.Writer, files []trust.File) error {
	for _, f := range files {
		fmt.Fprintf(w, "%s (%d bytes)\n", visible(f.Path), f.Size)
		lines, err := s.wants(f)
		if err != nil {
			return err
		}
		for _, line := range lines {
			fmt.Fprint(w, wrap("  "+gutter+" "+toolpolicy.VisibleLine(line)+"\n", windowWidth(w)))
		}
	}
	return nil
}

// wants lists what an agent.yml asks for beyond what an untrusted one may, and
// what is wrong with it. It fails if that is not the content that was scanned:
// what is shown is what is accepted.
func (s *settings) wants(f trust.File) ([]string, error) {
	if !isConfig(f.Path) {
		return nil, nil
	}
	schema, err := s.schema()
	if err != nil {
		return nil, err
	}
	read, err := config.ReadFile(f.Path)
	if err != nil {
		return nil, err
	}
	if read.SHA256 != f.SHA256 {
		return nil, fmt.Errorf("%s changed while it was read: try again", f.Path)
	}
	left, wrong := schema.Wants(read)
	lines := errorLines(wrong)
	for _, l := range left {
		lines = append(lines, l.Full())
	}
	return lines, nil
}

// isConfig tells a folder's configuration from its other files.
func isConfig(path string) bool {
	return slices.Contains(configNames, filepath.Base(path)) && filepath.Base(filepath.Dir(path)) != ".agentd"
}

// confirm asks a yes-or-no question at the terminal; anything but yes is no.
func confirm(ctx context.Context, question string) (bool, error) {
	if !isTerminal(os.Stdin) {
		return false, usageError(errors.New("no terminal to ask at: say --yes"))
	}
	lines := &plainLines{in: os.Stdin, out: os.Stderr}
	defer lines.hold()()
	line, err := lines.readLine(ctx, question+" [y/N] ")
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	line = strings.ToLower(strings.TrimSpace(line))
	return line == "y" || line == "yes", nil
}
