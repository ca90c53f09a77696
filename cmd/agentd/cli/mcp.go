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
	"github.com/agentd-host/agentd/plugins/toolpolicy"
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
// A person at this terminal may take his time for an answer; one who is asked
// by other ways is not waited for.
func (h *running) awaitServers(ctx context.Context, personHere bool) {
	rest(ctx, h.Fiber().Parent()) // servers are fibers of their own, known once they are active
	tick := time.NewTicker(serversEvery)
	defer tick.Stop()
	late := time.NewTimer(serversWithin)
	defer late.Stop()
	for {
		slow, asking := h.connecting(ctx)
		if asking && personHere {
			late.Reset(serversWithin)
		} else if len(slow) == 0 {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		case <-late.C:
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

// connecting names the servers that are on their way, and tells whether a
// person is being asked about one.
func (h *running) connecting(ctx context.Context) (names []string, asking bool) {
	servers, ok := core.MCP.Get(h.Context)
	if !ok {
		return nil, false
	}
	for _, s := range servers.Status(ctx) {
		if s.State == core.SourceConnecting {
			names = append(names, s.Name)
		}
		asking = asking || s.Consent != nil && s.Consent.Asking
	}
	return names, asking
}

func printMCPStatus(w io.Writer, all []core.MCPStatus) {
	if len(all) == 0 {
		fmt.Fprintln(w, "no servers")
		return
	}
	rows := make([][]string, len(all))
	for i, s := range all {
		rows[i] = []string{s.Name, string(s.State), fmt.Sprint(s.Tools), dash(s.Era), dash(pid(s.PID))}
	}
	table(w, []string{"SERVER", "STATE", "TOOLS", "PROTOCOL", "PID"}, rows)
	for _, s := range all {
		printNotes(w, s)
	}
}

// printNotes prints what there is to say about a server, below the table.
func printNotes(w io.Writer, s core.MCPStatus) {
	text := strings.TrimSpace(s.Error + "\n" + s.Detail)
	if text == "" {
		return
	}
	fmt.Fprintf(w, "\n%s\n", visible(s.Name))
	for line := range strings.SplitSeq(text, "\n") {
		fmt.Fprint(w, wrap("  "+gutter+" "+toolpolicy.VisibleLine(line)+"\n", windowWidth(w)))
	}
}

func pid(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// dash stands for what is empty.
func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
