package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/plugins/mcp"
	"github.com/agentd-host/agentd/plugins/toolpolicy"
)

func newMCPAllow(s *settings) *cobra.Command {
	var yes, asJSON bool
	c := &cobra.Command{
		Use:   "allow SERVER",
		Short: "Consent to what a changed MCP server runs, and start it",
		Long: "allow shows the command line and the program of a server that is held because\n" +
			"they are other ones than before, asks, and starts it. The consent holds until\n" +
			"they change again. A running daemon starts the server at once.",
		Example: "  agentd mcp allow files\n  agentd mcp allow --yes --json files",
		Args:    wantArgs(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			return s.withTarget(c.Context(), func(ctx context.Context, t target) error {
				return allowServer(ctx, t, args[0], yes, asJSON)
			})
		},
	}
	c.Flags().BoolVarP(&yes, "yes", "y", false, "consent without a question")
	c.Flags().BoolVar(&asJSON, "json", false, "print the server's status as JSON")
	return c
}

func allowServer(ctx context.Context, t target, name string, yes, asJSON bool) error {
	was, err := statusOfServer(ctx, t, name)
	if err != nil {
		return err
	}
	if was.Consent == nil {
		return show(os.Stdout, asJSON, was, func(w io.Writer, s core.MCPStatus) {
			fmt.Fprintf(w, "%s needs no consent, it is %s\n", visible(s.Name), s.State)
		})
	}
	printConsent(os.Stderr, was)
	if !yes {
		ok, err := confirm(ctx, "start it from now on?")
		if err != nil {
			return err
		}
		if !ok {
			return errors.New("nothing was allowed")
		}
	}
	in := allowAnswer{Server: name, Digest: was.Consent.Digest, By: userName() + " by agentd mcp allow"}
	if _, err := mcpAllow.do(ctx, t, in); err != nil {
		return err
	}
	now, err := statusOfServer(ctx, t, name)
	if err != nil {
		return err
	}
	return show(os.Stdout, asJSON, now, func(w io.Writer, s core.MCPStatus) {
		fmt.Fprintf(w, "%s is allowed and %s: %d tools\n", visible(s.Name), s.State, s.Tools)
	})
}

// statusOfServer is the status of one server, by name.
func statusOfServer(ctx context.Context, t target, name string) (core.MCPStatus, error) {
	all, err := mcpStatus.do(ctx, t, struct{}{})
	if err != nil {
		return core.MCPStatus{}, err
	}
	nameOf := func(s core.MCPStatus) string { return s.Name }
	if s, ok := find(all, name, nameOf); ok {
		return s, nil
	}
	var names []string
	for _, s := range all {
		names = append(names, s.Name)
	}
	return core.MCPStatus{}, fmt.Errorf("no MCP server %q; there are: %s", name, listOr(names, "none"))
}

// printConsent shows what a held server would start, and what it was.
func printConsent(w io.Writer, s core.MCPStatus) {
	fmt.Fprintf(w, "%s would start something else than before:\n", visible(s.Name))
	for _, l := range []struct{ what, text string }{
		{"runs", s.Consent.Runs}, {"ran", s.Consent.Was}, {"program", s.Consent.Program}, {"was", s.Consent.WasProgram},
	} {
		if l.text != "" {
			fmt.Fprint(w, wrap(fmt.Sprintf("  %-7s %s %s\n", l.what, gutter, toolpolicy.VisibleLine(l.text)), windowWidth(w)))
		}
	}
}

// heldServers says which servers need consent, and to what.
func (h *running) heldServers(ctx context.Context) (held []string) {
	servers, ok := core.MCP.Get(h.Context)
	if !ok {
		return nil
	}
	for _, s := range servers.Status(ctx) {
		if s.Consent != nil {
			held = append(held, fmt.Sprintf("MCP server %s: %s (agentd mcp allow %s)", s.Name, s.Consent.Runs, s.Name))
		}
	}
	return held
}

// allowAnswer is a person's consent to what he was shown.
type allowAnswer struct {
	Server string `json:"server"`
	Digest string `json:"digest"`
	By     string `json:"by"`
}

var mcpAllow = operation[allowAnswer, struct{}]{"mcp/allow",
	func(ctx context.Context, h *running, in allowAnswer) (none struct{}, err error) {
		admin, ok := mcp.Admins.Get(h.Context)
		if !ok {
			return none, errNoMCP
		}
		err = admin.Allow(ctx, in.Server, in.Digest, in.By)
		if errors.Is(err, mcp.ErrConsentChanged) || errors.Is(err, mcp.ErrNotHeld) {
			err = fmt.Errorf("%s: %w", in.Server, err)
		}
		return none, err
	}}
