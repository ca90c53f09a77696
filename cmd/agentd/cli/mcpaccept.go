package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentd-host/agentd/plugins/mcp"
	"github.com/agentd-host/agentd/plugins/toolpolicy"
)

func newMCPAccept(s *settings) *cobra.Command {
	var yes, asJSON, diff bool
	c := &cobra.Command{
		Use:   "accept SERVER [TOOL...]",
		Short: "Accept tools that an MCP server changed or added",
		Long: "accept shows how the tools of a server differ from what was accepted before,\n" +
			"asks, and takes them as they are now: changed ones come back, new ones are no\n" +
			"longer asked about for being new. Without TOOL it is about all of them.",
		Example: "  agentd mcp accept --diff files\n  agentd mcp accept files read_file\n  agentd mcp accept --yes --json files",
		Args:    wantArgs(cobra.MinimumNArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			if diff && yes {
				return usageError(errors.New("--diff only shows: leave --yes out"))
			}
			return s.withTarget(c.Context(), func(ctx context.Context, t target) error {
				changes, err := changesOf(ctx, t, args[0], args[1:])
				switch {
				case err != nil:
					return err
				case diff || len(changes) == 0 && !asJSON:
					return show(os.Stdout, asJSON, changes, printChanges)
				}
				return acceptChanges(ctx, t, args[0], changes, yes, asJSON)
			})
		},
	}
	f := c.Flags()
	f.BoolVar(&diff, "diff", false, "show the differences and accept nothing")
	f.BoolVarP(&yes, "yes", "y", false, "accept without a question")
	f.BoolVar(&asJSON, "json", false, "print JSON: what was accepted, or with --diff the differences")
	return c
}

// changesOf are the changed and new tools of a server, all or those that are
// named.
func changesOf(ctx context.Context, t target, server string, names []string) ([]mcp.ToolChange, error) {
	all, err := mcpReview.do(ctx, t, serverName{server})
	if err != nil || len(names) == 0 {
		return all, err
	}
	changes := []mcp.ToolChange{}
	for _, name := range names {
		c, ok := find(all, name, func(c mcp.ToolChange) string { return c.Tool })
		if !ok {
			var there []string
			for _, c := range all {
				there = append(there, visible(c.Tool))
			}
			return nil, fmt.Errorf("%s has no changed or new tool %q; those are: %s", server, name, listOr(there, "none"))
		}
		changes = append(changes, c)
	}
	return changes, nil
}

func acceptChanges(ctx context.Context, t target, server string, changes []mcp.ToolChange, yes, asJSON bool) error {
	if len(changes) > 0 {
		printChanges(os.Stderr, changes)
	}
	if len(changes) > 0 && !yes {
		ok, err := confirm(ctx, "accept them as they are now?")
		if err != nil {
			return err
		}
		if !ok {
			return errors.New("nothing was accepted")
		}
	}
	done, err := mcpAccept.do(ctx, t, acceptTools{server, changes})
	if err != nil {
		return err
	}
	err = show(os.Stdout, asJSON, done, func(w io.Writer, d acceptedTools) {
		fmt.Fprintf(w, "%s: accepted %s\n", visible(server), visible(listOr(d.Accepted, "nothing")))
	})
	if err == nil && len(done.Accepted) < len(changes) {
		err = errors.New("some changed again meanwhile: look at them again")
	}
	return err
}

// printChanges shows each tool with what differs, a line a path.
func printChanges(w io.Writer, changes []mcp.ToolChange) {
	if len(changes) == 0 {
		fmt.Fprintln(w, "nothing to accept: the tools are as they were accepted")
	}
	for _, c := range changes {
		what := "changed"
		switch {
		case c.New:
			what = "new, asked about at each call"
		case c.Held:
			what = "changed, held back"
		}
		fmt.Fprintf(w, "%s: %s\n", visible(c.Tool), what)
		for line := range strings.SplitSeq(c.Diff, "\n") {
			fmt.Fprint(w, wrap("  "+gutter+" "+toolpolicy.VisibleLine(line)+"\n", windowWidth(w)))
		}
	}
}

// The operations on tools that were changed.
type (
	serverName struct {
		Server string `json:"server"`
	}
	acceptTools struct {
		Server string           `json:"server"`
		Tools  []mcp.ToolChange `json:"tools"` // as they were shown
	}
	acceptedTools struct {
		Accepted []string `json:"accepted"`
	}
)

var (
	mcpReview = operation[serverName, []mcp.ToolChange]{"mcp/review",
		func(_ context.Context, h *running, in serverName) ([]mcp.ToolChange, error) {
			admin, ok := mcp.Admins.Get(h.Context)
			if !ok {
				return nil, errNoMCP
			}
			return admin.Review(in.Server)
		}}
	mcpAccept = operation[acceptTools, acceptedTools]{"mcp/accept",
		func(_ context.Context, h *running, in acceptTools) (acceptedTools, error) {
			admin, ok := mcp.Admins.Get(h.Context)
			if !ok {
				return acceptedTools{}, errNoMCP
			}
			names, err := admin.Accept(in.Server, in.Tools)
			return acceptedTools{names}, err
		}}
)
