package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/agentd-host/agentd/core"
)

func newMCP(s *settings) *cobra.Command {
	c := &cobra.Command{
		Use:     "mcp",
		Short:   "Look at MCP servers",
		Example: "  agentd mcp status --json",
		Args:    noArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newMCPStatus(s))
	return c
}

func newMCPStatus(s *settings) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:     "status",
		Short:   "Show the MCP servers of agent.yml and how they are",
		Example: "  agentd mcp status",
		Args:    noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return s.withTarget(c.Context(), func(ctx context.Context, t target) error {
				status, err := mcpStatus.do(ctx, t, struct{}{})
				if err != nil {
					return err
				}
				return show(os.Stdout, asJSON, status, printMCPStatus)
			})
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

var mcpStatus = operation[struct{}, []core.MCPStatus]{"mcp/status",
	func(ctx context.Context, h *running, _ struct{}) ([]core.MCPStatus, error) {
		servers, ok := core.MCP.Get(h.Context)
		if !ok {
			return nil, errors.New("the plugin mcp does not run: add `mcp: {servers: {...}}` under plugins")
		}
		return servers.Status(ctx), nil
	}}

func printMCPStatus(w io.Writer, all []core.MCPStatus) {
	if len(all) == 0 {
		fmt.Fprintln(w, "no servers")
		return
	}
	rows := make([][]string, len(all))
	for i, s := range all {
		rows[i] = []string{s.Name, string(s.State), fmt.Sprint(s.Tools), s.Era, pid(s.PID), s.Error + s.Detail}
	}
	table(w, []string{"SERVER", "STATE", "TOOLS", "PROTOCOL", "PID", ""}, rows)
}

func pid(n int) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprint(n)
}
