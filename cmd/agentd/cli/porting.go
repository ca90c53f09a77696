package cli

import (
	"context"
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/agentd-host/agentd/core"
)

func newSessionsExport(s *settings) *cobra.Command {
	return &cobra.Command{
		Use:     "export ID [FILE]",
		Short:   "Write a conversation as JSON lines, to stdout or a new file",
		Example: "  agentd sessions export last talk.jsonl",
		Args:    wantArgs(cobra.RangeArgs(1, 2)),
		RunE: func(c *cobra.Command, args []string) error {
			return s.withHost(c.Context(), func(ctx context.Context, h *running) error {
				porter, err := storeAs[core.SessionPorter](h)
				if err != nil {
					return err
				}
				if len(args) == 1 {
					return porter.Export(ctx, args[0], os.Stdout)
				}
				return exportTo(ctx, porter, args[0], args[1])
			})
		},
	}
}

// exportTo writes a session to a file that must not exist; what could not be
// written whole is not left behind.
func exportTo(ctx context.Context, porter core.SessionPorter, id, file string) error {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	err = errors.Join(porter.Export(ctx, id, f), f.Close())
	if err != nil {
		return errors.Join(err, os.Remove(file))
	}
	return nil
}

func newSessionsImport(s *settings) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:     "import FILE",
		Short:   "Read a conversation that export wrote (- is stdin)",
		Example: "  agentd sessions import talk.jsonl",
		Args:    wantArgs(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			in, err := openInput(c.Context(), args[0])
			if err != nil {
				return err
			}
			defer in.Close()
			return s.withHost(c.Context(), func(ctx context.Context, h *running) error {
				porter, err := storeAs[core.SessionPorter](h)
				if err != nil {
					return err
				}
				info, err := porter.Import(ctx, in)
				if err != nil {
					return err
				}
				return show(os.Stdout, asJSON, info, printSessionID)
			})
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}
