package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentd-host/agentd/core"
)

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

// errNoMCP says what to do where the plugin does not run.
var errNoMCP = errors.New("the plugin mcp does not run: add `mcp: {servers: {...}}` under plugins")

var mcpStatus = operation[struct{}, []core.MCPStatus]{"mcp/status",
	func(ctx context.Context, h *running, _ struct{}) ([]core.MCPStatus, error) {
		servers, ok := core.MCP.Get(h.Context)
		if !ok {
			return nil, errNoMCP
		}
		return servers.Status(ctx), nil
	}}

// How long a command with a host of its own waits for servers that connect,
// and how often it looks.
const (
	serversWithin = 15 * time.Second
	serversEvery  = 20 * time.Millisecond
)

// awaitServers waits until no server is connecting any more, so that a command
// that runs once finds their tools. Those that take too long are named.
func (h *running) awaitServers(ctx context.Context) {
	rest(ctx, h.Fiber().Parent()) // servers are fibers of their own, known once they are active
	tick := time.NewTicker(serversEvery)
	defer tick.Stop()
	late := time.After(serversWithin)
	for {
		slow := h.connecting(ctx)
		if len(slow) == 0 {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		case <-late:
			h.log.Warn("not waiting any longer for MCP servers", "servers", strings.Join(slow, ", "))
			return
		}
	}
}

// rest waits until nothing is in flight for the fibers below f. What failed
// shows elsewhere.
func rest(ctx context.Context, f *core.Fiber) {
	for _, child := range f.Children() {
		child.Wait(ctx) //nolint:errcheck // as above
		rest(ctx, child)
	}
}

// connecting names the servers that are on their way.
func (h *running) connecting(ctx context.Context) (names []string) {
	servers, ok := core.MCP.Get(h.Context)
	if !ok {
		return nil
	}
	for _, s := range servers.Status(ctx) {
		if s.State == core.SourceConnecting {
			names = append(names, s.Name)
		}
	}
	return names
}

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
