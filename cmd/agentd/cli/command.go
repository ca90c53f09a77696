package cli

import (
	"context"
	"io"
	"os"

	"github.com/spf13/cobra"
)

// reach is how a command finds the host that it works with: withTarget or
// withDaemon of the settings.
type reach func(ctx context.Context, f func(context.Context, target) error) error

// command completes c: it reads its arguments with in, asks the operation of
// the host, and shows the answer as a person reads it or, with --json, as JSON.
func (o operation[In, Out]) command(
	host reach, c *cobra.Command, in func(args []string) (In, error), human func(io.Writer, Out),
) *cobra.Command {
	asJSON := jsonFlag(c)
	c.RunE = o.runs(host, in, func(_ In, out Out) error { return show(os.Stdout, *asJSON, out, human) })
	return c
}

// order completes c, which has the host do something that has no answer; done
// says what was done.
func (o operation[In, Out]) order(
	host reach, c *cobra.Command, in func(args []string) (In, error), done func(io.Writer, In),
) *cobra.Command {
	c.RunE = o.runs(host, in, func(in In, _ Out) error { return show(os.Stdout, false, in, done) })
	return c
}

// said is command without --json, for an answer that is a sentence.
func (o operation[In, Out]) said(
	host reach, c *cobra.Command, in func(args []string) (In, error), human func(io.Writer, Out),
) *cobra.Command {
	c.RunE = o.runs(host, in, func(_ In, out Out) error { return show(os.Stdout, false, out, human) })
	return c
}

func (o operation[In, Out]) runs(
	host reach, read func(args []string) (In, error), answered func(In, Out) error,
) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		in, err := read(args)
		if err != nil {
			return err
		}
		return host(c.Context(), func(ctx context.Context, t target) error {
			out, err := o.do(ctx, t, in)
			if err != nil {
				return err
			}
			return answered(in, out)
		})
	}
}

// noInput is the input of an operation that wants none.
func noInput([]string) (struct{}, error) { return struct{}{}, nil }

// entryID names an entry of agent.yml, a session or a grant.
type entryID struct {
	ID string `json:"id"`
}

// theEntry is the one that the first argument names.
func theEntry(args []string) (entryID, error) { return entryID{args[0]}, nil }

func jsonFlag(c *cobra.Command) *bool { return c.Flags().Bool("json", false, "print JSON") }

// agentFlag says through whose eyes tools are seen.
func agentFlag(c *cobra.Command) *string {
	return c.Flags().String("agent", "", "as this agent sees them; default: the first agent of agent.yml")
}

// group makes c a command that is there for its subcommands alone.
func group(c *cobra.Command, subs ...*cobra.Command) *cobra.Command {
	c.Args = noArgs
	c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	c.AddCommand(subs...)
	return c
}

// listing adds the subcommands to c, which lists without one, and `list`, which
// does the same.
func listing(c *cobra.Command, short string, subs ...*cobra.Command) *cobra.Command {
	list := *c
	list.Use, list.Short, list.Example = "list", short, "  agentd "+c.Use+" list --json"
	c.AddCommand(&list)
	c.AddCommand(subs...)
	return c
}
