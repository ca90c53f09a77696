package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/plugins/toolpolicy"
)

func newPolicy(s *settings) *cobra.Command {
	c := policyList.command(s.withTarget, &cobra.Command{
		Use:   "policy",
		Short: "Show and change which tools run, ask or are off",
		Example: "  agentd policy\n  agentd policy set run_command ask\n" +
			"  agentd policy explain run_command '{\"command\":\"git status\"}'",
		Args: noArgs,
	}, noInput, printRules)
	return listing(c, "List the rules in force", newPolicySet(s), newPolicyExplain(s), newPolicyGrants(s), newPolicyRevoke(s))
}

func newPolicySet(s *settings) *cobra.Command {
	return policySet.said(s.withFiles, &cobra.Command{
		Use:   "set PATTERN VALUE",
		Short: "Write a rule into agent.yml; a running host follows",
		Long: "set writes one rule into agent.yml and keeps the rest of the file as it is.\n" +
			"When it answers the rule holds, in the daemon too if one runs on the file; what\n" +
			"would not load is not written.\n\n" +
			"A pattern is a tool's name, a glob, effect:read|write|exec, server:NAME,\n" +
			"group:LABEL, or one with arguments: 'run_command(git *)'. Values: auto, ask,\n" +
			"ask! (never remembered), off.",
		Example: "  agentd policy set run_command ask\n  agentd policy set 'mcp__github__*' off",
		Args:    wantArgs(cobra.ExactArgs(2)),
	}, theRule, printEdited)
}

func newPolicyExplain(s *settings) *cobra.Command {
	c := &cobra.Command{
		Use:     "explain TOOL [JSON]",
		Short:   "Say what would be decided about a call, and by which rule",
		Example: "  agentd policy explain run_command '{\"command\":\"git status\"}'",
		Args:    wantArgs(cobra.RangeArgs(1, 2)),
	}
	agent := agentFlag(c)
	in := func(args []string) (explainPolicy, error) {
		in := explainPolicy{Agent: *agent, Tool: args[0]}
		if len(args) == 1 {
			return in, nil
		}
		var err error
		in.Args, err = argumentsOf(c.Context(), args[1:])
		return in, err
	}
	return policyExplain.command(s.withTarget, c, in, func(w io.Writer, e toolpolicy.Explanation) {
		fmt.Fprintln(w, strings.TrimSuffix(e.String(), "\n"))
	})
}

func newPolicyGrants(s *settings) *cobra.Command {
	return policyGrants.command(s.withTarget, &cobra.Command{
		Use:     "grants",
		Short:   "List what was answered for longer than once",
		Example: "  agentd policy grants",
		Args:    noArgs,
	}, noInput, printGrants)
}

func newPolicyRevoke(s *settings) *cobra.Command {
	return policyRevoke.order(s.withTarget, &cobra.Command{
		Use:     "revoke ID",
		Short:   "Take a grant back, with immediate effect",
		Example: "  agentd policy revoke 3f2a",
		Args:    wantArgs(cobra.ExactArgs(1)),
	}, theEntry, func(w io.Writer, in entryID) { fmt.Fprintln(w, "revoked "+in.ID) })
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

// asAdmin is the body of an operation that asks the plugin and nobody else.
func asAdmin[In, Out any](f func(*toolpolicy.Admin, In) (Out, error)) func(context.Context, *running, In) (Out, error) {
	return func(_ context.Context, h *running, in In) (Out, error) {
		admin, err := h.policyAdmin()
		if err != nil {
			var none Out
			return none, err
		}
		return f(admin, in)
	}
}

// The operations on policy.
var (
	policyList = operation[struct{}, []toolpolicy.RuleInfo]{"policy/list", asAdmin(
		func(admin *toolpolicy.Admin, _ struct{}) ([]toolpolicy.RuleInfo, error) { return admin.Rules(), nil })}
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
	policyGrants = operation[struct{}, []toolpolicy.Grant]{"policy/grants", asAdmin(
		func(admin *toolpolicy.Admin, _ struct{}) ([]toolpolicy.Grant, error) { return admin.Grants() })}
	policyRevoke = operation[entryID, struct{}]{"policy/revoke", asAdmin(
		func(admin *toolpolicy.Admin, in entryID) (struct{}, error) { return struct{}{}, admin.Revoke(in.ID) })}
)

func printRules(w io.Writer, rules []toolpolicy.RuleInfo) {
	rows := make([][]string, len(rules))
	for i, r := range rules {
		rows[i] = []string{r.Pattern, string(r.Value), r.Source, r.Position, ""}
		if r.Idle {
			rows[i][4] = "about no tool now"
		}
	}
	table(w, []string{"PATTERN", "VALUE", "SOURCE", "AT", "NOTE"}, rows)
}

func printGrants(w io.Writer, grants []toolpolicy.Grant) {
	if len(grants) == 0 {
		fmt.Fprintln(w, "no grants")
		return
	}
	rows := make([][]string, len(grants))
	for i, g := range grants {
		rows[i] = []string{g.ID, grantVerb(g), g.String(), grantScope(g), g.When.Local().Format("2006-01-02 15:04"), g.By}
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
