package cli

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/plugins/mcp"
)

func newMCP(s *settings) *cobra.Command {
	var o mcp.ServeOptions
	c := &cobra.Command{
		Use:   "mcp",
		Short: "Serve this agent's tools over MCP, or look at MCP servers",
		Long: "mcp is one MCP server in front of all tools of agent.yml, under the policy that\n" +
			"holds for an agent: on stdin and stdout for one client that starts it, or with\n" +
			"--http for many. --server serves one server of agent.yml as it is.\n\n" +
			"Over HTTP, clients of other machines and pages of this one present the token\n" +
			"that is kept in mcp/token of the state folder.",
		Example: "  agentd mcp\n  agentd mcp --http 127.0.0.1:7333\n  agentd mcp --server files",
		Args:    noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := checkServe(o); err != nil {
				return usageError(err)
			}
			o.Ready = func(url string) { fmt.Fprintln(os.Stderr, "agentd: serving MCP at "+url) }
			return s.withHost(c.Context(), func(ctx context.Context, h *running) error {
				return h.serveMCP(ctx, o)
			})
		},
	}
	f := c.Flags()
	f.StringVar(&o.HTTP, "http", "", "listen on this address instead of stdin and stdout, as in 127.0.0.1:7333")
	f.StringVar(&o.Server, "server", "", "serve only this server of agent.yml, transparently")
	f.StringArrayVar(&o.Hosts, "host", nil, "a further name under which clients address us (with --http)")
	f.StringArrayVar(&o.Origins, "origin", nil, "a web origin that may call (with --http)")
	f.StringVar(&o.CertFile, "cert", "", "certificate for TLS, needed for other than loopback addresses (with --http)")
	f.StringVar(&o.KeyFile, "key", "", "its key")
	c.AddCommand(newMCPStatus(s), newMCPImport(s), newMCPAllow(s), newMCPAccept(s))
	return c
}

func checkServe(o mcp.ServeOptions) error {
	switch {
	case o.HTTP != "" && o.Server != "":
		return errors.New("--http serves every server beside the merged view, at /mcp/servers/NAME: leave --server out")
	case o.HTTP == "" && (len(o.Hosts)+len(o.Origins) > 0 || o.CertFile != "" || o.KeyFile != ""):
		return errors.New("--host, --origin, --cert and --key go with --http")
	case (o.CertFile == "") != (o.KeyFile == ""):
		return errors.New("--cert and --key go together")
	case o.HTTP != "":
		return o.CheckListen()
	}
	return nil
}

// serveMCP serves until the client leaves or ctx ends, which is a good end for
// a server.
func (h *running) serveMCP(ctx context.Context, o mcp.ServeOptions) error {
	if o.Server != "" {
		servers, ok := core.MCP.Get(h.Context)
		if !ok {
			return errNoMCP
		}
		if _, ok := find(servers.Servers(), o.Server, func(name string) string { return name }); !ok {
			return usageError(fmt.Errorf("no server %q in agent.yml; there are: %s", o.Server, listOr(servers.Servers(), "none")))
		}
	}
	err := mcp.Serve(ctx, h.Context, o)
	if ctx.Err() != nil {
		return nil
	}
	return err
}
