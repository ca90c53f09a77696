package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/plugins/toolpolicy"
)

func newPolicy(s *settings) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "policy",
		Short: "Show and change which tools run, ask or are off",
		Example: "  agentd policy\n  agentd policy set run_command ask\n" +
			"  agentd policy explain run_command '{\"command\":\"git status\"}'",
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return s.withTarget(c.Context(), func(ctx context.Context, t target) error {
				rules, err := policyList.do(ctx, t, struct{}{})
				if err != nil {
					return err
				}
				return show(os.Stdout, asJSON, rules, printRules)
			})
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	list := *c
	list.Use, list.Short, list.Example = "list", "List the rules in force", "  agentd policy list --json"
	c.AddCommand(&list, newPolicySet(s), newPolicyExplain(s), newPolicyGrants(s), newPolicyRevoke(s))
	return c
}

func newPolicySet(s *settings) *cobra.Command {
	return &cobra.Command{
		Use:   "set PATTERN VALUE",
		Short: "Write a rule into agent.yml; a running host follows",
		Long: "set writes one rule into agent.yml and keeps the rest of the file as it is.\n" +
			"A pattern is a tool's name, a glob, effect:read|write|exec, server:NAME,\n" +
			"group:LABEL, or one with arguments: 'run_command(git *)'. Values: auto, ask,\n" +
			"ask! (never remembered), off.",
		Example: "  agentd policy set run_command ask\n  agentd policy set 'mcp__github__*' off",
		Args:    wantArgs(cobra.ExactArgs(2)),
		RunE: func(_ *cobra.Command, args []string) error {
			env, err := findEnvironment(s.config)
			if err != nil {
				return err
			}
			said, err := s.setPolicy(env, args[0], args[1])
			if err != nil {
				return err
			}
			fmt.Println(said)
			return nil
		},
	}
}

func newPolicyExplain(s *settings) *cobra.Command {
	var view viewFlags
	c := &cobra.Command{
		Use:     "explain TOOL [JSON]",
		Short:   "Say what would be decided about a call, and by which rule",
		Example: "  agentd policy explain run_command '{\"command\":\"git status\"}'",
		Args:    wantArgs(cobra.RangeArgs(1, 2)),
		RunE: func(c *cobra.Command, args []string) error {
			in := explainPolicy{Agent: view.agent, Tool: args[0]}
			if len(args) == 2 {
				var err error
				if in.Args, err = argumentsOf(args[1:]); err != nil {
					return usageError(err)
				}
			}
			return s.withTarget(c.Context(), func(ctx context.Context, t target) error {
				out, err := policyExplain.do(ctx, t, in)
				if err != nil {
					return err
				}
				return show(os.Stdout, view.json, out, func(w io.Writer, e toolpolicy.Explanation) {
					fmt.Fprintln(w, strings.TrimSuffix(e.String(), "\n"))
				})
			})
		},
	}
	view.register(c)
	return c
}

func newPolicyGrants(s *settings) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:     "grants",
		Short:   "List what was answered for longer than once",
		Example: "  agentd policy grants",
		Args:    noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return s.withTarget(c.Context(), func(ctx context.Context, t target) error {
				grants, err := policyGrants.do(ctx, t, struct{}{})
				if err != nil {
					return err
				}
				return show(os.Stdout, asJSON, grants, printGrants)
			})
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func newPolicyRevoke(s *settings) *cobra.Command {
	return &cobra.Command{
		Use:     "revoke ID",
		Short:   "Take a grant back, with immediate effect",
		Example: "  agentd policy revoke 3f2a",
		Args:    wantArgs(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			return s.withTarget(c.Context(), func(ctx context.Context, t target) error {
				if _, err := policyRevoke.do(ctx, t, entryID{args[0]}); err != nil {
					return err
				}
				fmt.Println("revoked " + args[0])
				return nil
			})
		},
	}
}

// explainPolicy asks about one call.
type explainPolicy struct {
	Agent string          `json:"agent,omitempty"`
	Tool  string          `json:"tool"`
	Args  json.RawMessage `json:"args,omitempty"`
}

// errNoPolicy says what holds without the plugin.
var errNoPolicy = errors.New("the plugin toolpolicy does not run: tools that read run, all others are refused; add `toolpolicy: {}` under plugins")

func (h *running) policyAdmin() (*toolpolicy.Admin, error) {
	admin, ok := toolpolicy.Admins.Get(h.Context)
	if !ok {
		return nil, errNoPolicy
	}
	return admin, nil
}

// The operations on policy.
var (
	policyList = operation[struct{}, []toolpolicy.RuleInfo]{"policy/list",
		func(_ context.Context, h *running, _ struct{}) ([]toolpolicy.RuleInfo, error) {
			admin, err := h.policyAdmin()
			if err != nil {
				return nil, err
			}
			return admin.Rules(), nil
		}}
	policyExplain = operation[explainPolicy, toolpolicy.Explanation]{"policy/explain",
		func(_ context.Context, h *running, in explainPolicy) (toolpolicy.Explanation, error) {
			admin, err := h.policyAdmin()
			if err != nil {
				return toolpolicy.Explanation{}, err
			}
			v, err := h.viewer(in.Agent)
			if err != nil {
				return toolpolicy.Explanation{}, err
			}
			tool, ok := h.anyTool(v, in.Tool)
			if !ok {
				return toolpolicy.Explanation{}, h.unknownTool(v, in.Tool)
			}
			return admin.Explain(v, &tool, in.Args), nil
		}}
	policyGrants = operation[struct{}, []toolpolicy.Grant]{"policy/grants",
		func(_ context.Context, h *running, _ struct{}) ([]toolpolicy.Grant, error) {
			admin, err := h.policyAdmin()
			if err != nil {
				return nil, err
			}
			return admin.Grants()
		}}
	policyRevoke = operation[entryID, struct{}]{"policy/revoke",
		func(_ context.Context, h *running, in entryID) (struct{}, error) {
			admin, err := h.policyAdmin()
			if err != nil {
				return struct{}{}, err
			}
			return struct{}{}, admin.Revoke(in.ID)
		}}
)

func printRules(w io.Writer, rules []toolpolicy.RuleInfo) {
	rows := make([][]string, len(rules))
	for i, r := range rules {
		rows[i] = []string{r.Pattern, string(r.Value), r.Source, r.Position}
	}
	table(w, []string{"PATTERN", "VALUE", "SOURCE", "AT"}, rows)
}

func printGrants(w io.Writer, grants []toolpolicy.Grant) {
	if len(grants) == 0 {
		fmt.Fprintln(w, "no grants")
		return
	}
	rows := make([][]string, len(grants))
	for i, g := range grants {
		rows[i] = []string{g.ID, grantVerb(g), g.Pattern, grantScope(g), g.When.Local().Format("2006-01-02 15:04"), g.By}
	}
	table(w, []string{"ID", "ANSWER", "FOR", "SCOPE", "WHEN", "BY"}, rows)
}

func grantVerb(g toolpolicy.Grant) string {
	verb := "never"
	if g.Allow {
		verb = "allow"
	}
	if g.Shadowed {
		verb += " (shadowed by a newer rule)"
	}
	return verb
}

func grantScope(g toolpolicy.Grant) string {
	switch {
	case g.Turn != "":
		return "turn"
	case g.Session != "":
		return "session " + g.Session
	}
	return "always"
}

// anyTool finds a tool that exists for the viewer or is merely off for it:
// the owner of the host may ask about both.
func (h *running) anyTool(v core.Viewer, name string) (core.Tool, bool) {
	standing := h.Tools().Why(v, name)
	return standing.Tool, standing.Tool.Name != ""
}
